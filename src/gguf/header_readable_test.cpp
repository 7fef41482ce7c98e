// What Accept::readable takes beyond what engines load, with the sentence that it keeps for each,
// and what it refuses all the same. Every row is refused in Accept::loadable with that sentence.
#include "gguf/gguf_builder.h"
#include "gguf/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace picchio::gguf {
namespace {

Result<Header> read(const std::string& file, Accept accept = Accept::readable) {
  return read_header(as_bytes(file), static_cast<std::int64_t>(file.size()), accept);
}

std::string with_room(const GgufFile& spec) { return spec.header() + std::string(4096, '\0'); }

struct Objected {
  const char* what;
  std::string file;
  std::vector<std::string> sentences;
};

void expect_objections(const std::vector<Objected>& cases) {
  for (const Objected& c : cases) {
    const auto header = read(c.file);
    ASSERT_TRUE(header) << c.what << ": " << header.error().message;
    std::vector<std::string> all = header->objections;
    std::ranges::copy(header->audit.faults, std::back_inserter(all));
    EXPECT_EQ(all, c.sentences) << c.what;

    const auto strict = read(c.file, Accept::loadable);
    ASSERT_FALSE(strict) << c.what;
    // The sentence of a kind says in brackets how many more there are.
    EXPECT_TRUE(std::ranges::any_of(
        c.sentences,
        [&](const std::string& sentence) { return sentence.starts_with(strict.error().message); }))
        << c.what << ": " << strict.error().message;
  }
}

/// The same content in the form that `spec` gives but for its pairs and tensors.
GgufFile model_as(GgufFile spec) {
  const Wire wire = spec.wire();
  spec.pairs = {wire.pair_text("general.architecture", "llama"),
                wire.pair_u32("llama.block_count", 2),
                wire.pair_texts("tokenizer.ggml.tokens", 3, "word"),
                wire.pair("a", 9, wire.array(3, 2, wire.raw<std::int16_t>(-5) + wire.raw(7))),
                wire.pair("split.no", 2, wire.raw<std::uint16_t>(3)),
                wire.pair("llama.context_length", 10, wire.raw<std::uint64_t>(1U << 20U)),
                wire.pair("llama.attention.causal", 7, "\x01")};
  spec.tensors = {{"token_embd.weight", 12, {256, 3}}, {"blk.0.x", 0, {5}}};
  // An i16 array of two takes 4 bytes.
  spec.pairs[3] =
      wire.pair("a", 9, wire.array(3, 2, wire.raw<std::int16_t>(-5) + wire.raw<std::int16_t>(7)));
  return spec;
}

const std::string kVersion1 = "GGUF version 1 at byte 4, which engines no longer read";
const std::string kBigEndian =
    "a big-endian GGUF file (its version at byte 4 reads 0x0{}000000), which engines here do not "
    "read";

TEST(ReadableHeader, VersionsAndByteOrders) {
  for (const bool big : {false, true}) {
    for (const std::uint32_t version : {1U, 2U, 3U}) {
      const std::string what = fmt::format("version {}, big-endian {}", version, big);
      const GgufFile spec = model_as({.version = version, .big_endian = big});
      const auto header = read(spec.file());
      ASSERT_TRUE(header) << what << ": " << header.error().message;
      EXPECT_EQ(header->version, version) << what;
      EXPECT_EQ(header->big_endian, big) << what;
      EXPECT_EQ(header->architecture, "llama") << what;
      EXPECT_EQ(header->block_count, 2) << what;
      EXPECT_EQ(header->context_length, 1 << 20) << what;
      EXPECT_EQ(header->split_no, 3) << what;
      EXPECT_EQ(header->causal_attention, true) << what;
      EXPECT_EQ(header->tokenizer.vocabulary, 3) << what;
      EXPECT_EQ(header->keys, 7) << what;
      EXPECT_EQ(header->data_offset, static_cast<std::int64_t>(spec.header().size())) << what;
      ASSERT_EQ(header->tensors.size(), 2U) << what;
      EXPECT_EQ(header->tensors[0].type, "q4_K") << what;
      EXPECT_EQ(header->tensors[0].ne[1], 3) << what;
      EXPECT_EQ(header->tensors[0].bytes, 432) << what;
      EXPECT_EQ(header->tensors[1].offset, 448) << what;
      EXPECT_EQ(header->audit.typed_bytes, 452) << what;
      EXPECT_EQ(header->audit.padding_bytes, 16) << what;
      EXPECT_EQ(header->audit.trailing_bytes, 0) << what;

      std::vector<std::string> objections;
      if (big) objections.push_back(fmt::format(fmt::runtime(kBigEndian), version));
      if (version == 1) objections.push_back(kVersion1);
      EXPECT_EQ(header->objections, objections) << what;
      const auto strict = read(spec.file(), Accept::loadable);
      EXPECT_EQ(strict.has_value(), objections.empty()) << what;
      if (!strict) {
        EXPECT_EQ(strict.error().message, objections.front()) << what;
      }
    }
  }
}

TEST(ReadableHeader, VersionsThatNeverWere) {
  const struct {
    std::uint32_t stored;
    const char* message;
  } cases[] = {{0, "GGUF version 0 at byte 4, which never was"},
               {4, "GGUF version 4 at byte 4, only 1 to 3 are known"},
               {0x04000000, "GGUF version 4 at byte 4, only 1 to 3 are known"},
               {0x00010000, "GGUF version 256 at byte 4, only 1 to 3 are known"},
               {0xFFFFFFFF, "GGUF version 4294967295 at byte 4, only 1 to 3 are known"}};
  for (const auto& c : cases) {
    const auto header = read(GgufFile{.version = c.stored}.file());
    ASSERT_FALSE(header) << c.message;
    EXPECT_EQ(header.error().message, c.message);
  }
}

/// An array of `depth` arrays in each other around one u8.
std::string nested(int depth) {
  std::string value = array_value(0, 1, "x");
  for (int i = 1; i < depth; ++i) value = array_value(9, 1, value);
  return value;
}

TEST(ReadableHeader, ArraysOfArrays) {
  const std::string sentence = "key 'k' is an array of arrays at byte 37, which no engine reads";
  const std::string uneven = array_value(9, 3,
                                         array_value(8, 2, raw_text("a") + raw_text("")) +
                                             array_value(9, 1, array_value(0, 0)) +
                                             array_value(12, 1, raw<std::uint64_t>(0)));
  expect_objections({
      {"one in one", GgufFile{.pairs = {raw_pair("k", 9, nested(2))}}.file(), {sentence}},
      {"8 deep", GgufFile{.pairs = {raw_pair("k", 9, nested(8))}}.file(), {sentence}},
      {"of all kinds", GgufFile{.pairs = {raw_pair("k", 9, uneven)}}.file(), {sentence}},
      {"no arrays in it",
       GgufFile{.pairs = {raw_pair("k", 9, array_value(9, 0))}}.file(),
       {sentence}},
      {"in two keys",
       GgufFile{.pairs = {raw_pair("k", 9, nested(3)), raw_pair("l", 9, nested(2))}}.file(),
       {sentence + " (and 1 more)"}},
  });
  // What follows them is read.
  const auto header = read(GgufFile{
      .pairs = {raw_pair("k", 9, uneven), pair_text("general.architecture", "x")},
      .tensors = {
          {"a", 0, {1}}}}.file());
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->architecture, "x");
  EXPECT_EQ(header->tensors.size(), 1U);
}

TEST(ReadableHeader, TensorTypes) {
  struct Case {
    std::uint32_t id;
    const char* type;
    std::optional<std::int64_t> bytes;  // of 256 elements
    const char* why;
  };
  const Case cases[] = {
      {4, "q4_2", std::nullopt, "type 4 (q4_2) at byte 45, which engines no longer read"},
      {5, "q4_3", std::nullopt, "type 5 (q4_3) at byte 45, which engines no longer read"},
      {31, "q4_0_4_4", 144, "type 31 (q4_0_4_4) at byte 45, which engines no longer read"},
      {32, "q4_0_4_8", 144, "type 32 (q4_0_4_8) at byte 45, which engines no longer read"},
      {33, "q4_0_8_8", 144, "type 33 (q4_0_8_8) at byte 45, which engines no longer read"},
      {36, "iq4_nl_4_4", 144, "type 36 (iq4_nl_4_4) at byte 45, which engines no longer read"},
      {37, "iq4_nl_4_8", 144, "type 37 (iq4_nl_4_8) at byte 45, which engines no longer read"},
      {38, "iq4_nl_8_8", 144, "type 38 (iq4_nl_8_8) at byte 45, which engines no longer read"},
      {43, "type 43", std::nullopt, "type 43 at byte 45, which is not known"},
      {57, "type 57", std::nullopt, "type 57 at byte 45, which is not known"},
      {0xFFFFFFFF, "type 4294967295", std::nullopt,
       "type 4294967295 at byte 45, which is not known"},
  };
  for (const Case& c : cases) {
    const std::string file = with_room({.tensors = {{"a", c.id, {256}}}});
    expect_objections({{c.type, file, {fmt::format("tensor 'a' has {}", c.why)}}});
    const auto header = read(file);
    ASSERT_TRUE(header) << c.id;
    EXPECT_EQ(header->tensors[0].type, c.type);
    EXPECT_EQ(header->tensors[0].bytes, c.bytes) << c.id;
    EXPECT_EQ(header->tensors[0].elements, 256) << c.id;
    // What lies behind an unpriced tensor cannot be told.
    EXPECT_EQ(header->audit.trailing_bytes.has_value(), c.bytes.has_value()) << c.id;
  }
  expect_objections({
      {"two of a kind and one of another",
       with_room({.tensors = {{"a", 57, {8}, 0}, {"b", 58, {8}, 32}, {"c", 31, {32}, 64}}}),
       {"tensor 'a' has type 57 at byte 45, which is not known (and 1 more)",
        "tensor 'c' has type 31 (q4_0_4_4) at byte 111, which engines no longer read"}},
  });
}

// Every type that engines read, at its own weight.
TEST(ReadableHeader, EveryTypeHasItsPrice) {
  const struct {
    std::uint32_t id;
    const char* name;
    double bits;
  } types[] = {{0, "f32", 32},         {1, "f16", 16},          {2, "q4_0", 4.5},
               {3, "q4_1", 5},         {6, "q5_0", 5.5},        {7, "q5_1", 6},
               {8, "q8_0", 8.5},       {9, "q8_1", 9},          {10, "q2_K", 2.625},
               {11, "q3_K", 3.4375},   {12, "q4_K", 4.5},       {13, "q5_K", 5.5},
               {14, "q6_K", 6.5625},   {15, "q8_K", 9.125},     {16, "iq2_xxs", 2.0625},
               {17, "iq2_xs", 2.3125}, {18, "iq3_xxs", 3.0625}, {19, "iq1_s", 1.5625},
               {20, "iq4_nl", 4.5},    {21, "iq3_s", 3.4375},   {22, "iq2_s", 2.5625},
               {23, "iq4_xs", 4.25},   {24, "i8", 8},           {25, "i16", 16},
               {26, "i32", 32},        {27, "i64", 64},         {28, "f64", 64},
               {29, "iq1_m", 1.75},    {30, "bf16", 16},        {34, "tq1_0", 1.6875},
               {35, "tq2_0", 2.0625},  {39, "mxfp4", 4.25},     {40, "nvfp4", 4.5},
               {41, "q1_0", 1.125},    {42, "q2_0", 2.25}};
  EXPECT_EQ(std::size(types), 43U - 8U);
  for (const auto& c : types) {
    const auto header = read(with_room({.tensors = {{"a", c.id, {256, 2}}}}), Accept::loadable);
    ASSERT_TRUE(header) << c.name << ": " << header.error().message;
    EXPECT_EQ(header->tensors[0].type, c.name);
    EXPECT_EQ(header->tensors[0].bytes, static_cast<std::int64_t>(c.bits * 512 / 8)) << c.name;
    EXPECT_EQ(tensor_type(c.name)->id, c.id);
  }
  EXPECT_EQ(tensor_type("Q4_k")->id, 12U);
  EXPECT_EQ(tensor_type("IQ2_XXS")->id, 16U);
  EXPECT_EQ(tensor_type("q4_"), nullptr);
  EXPECT_EQ(tensor_type(""), nullptr);
}

TEST(ReadableHeader, LongNames) {
  expect_objections({
      {"64 bytes",
       with_room({.tensors = {{std::string(64, 'n'), 0, {1}}}}),
       {"the name of tensor 0 at byte 24 has 64 bytes, engines take 63"}},
      {"64 KiB",
       with_room({.tensors = {{std::string(1U << 16U, 'n'), 0, {1}}}}),
       {"the name of tensor 0 at byte 24 has 65536 bytes, engines take 63"}},
  });
  const auto longer = read(with_room({.tensors = {{std::string((1U << 16U) + 1, 'n'), 0, {1}}}}));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().message,
            "the name of tensor 0 at byte 24 has 65537 bytes, the most is 65536");
}

TEST(ReadableHeader, GapsAndOrder) {
  expect_objections({
      {"the first not at 0",
       with_room({.tensors = {{"a", 0, {8}, 32}}}),
       {"tensor 'a' has offset 32 at byte 49 where 0 is due: a gap of 32 bytes"}},
      {"two gaps",
       with_room({.tensors = {{"a", 0, {8}}, {"b", 0, {8}, 64}, {"c", 0, {8}, 256}}}),
       {"tensor 'b' has offset 64 at byte 82 where 32 is due: a gap of 32 bytes (and 1 more)"}},
      {"swapped",
       with_room({.tensors = {{"a", 0, {8}, 32}, {"b", 0, {8}, 0}}}),
       {"tensor 'a' has offset 32 at byte 49 where 0 is due: the data is not in the table's "
        "order"}},
      {"swapped with a gap",
       with_room({.tensors = {{"a", 0, {8}, 96}, {"b", 0, {8}, 0}}}),
       {"tensor 'a' has offset 96 at byte 49 where 0 is due: the data is not in the table's order",
        "tensor 'a' has offset 96 at byte 49 where 32 is due: a gap of 64 bytes"}},
      {"an empty tensor behind its successor",
       with_room({.tensors = {{"a", 0, {8}, 0}, {"e", 0, {0}, 0}}}),
       {"tensor 'a' has offset 0 at byte 49 where 0 is due: the data is not in the table's order"}},
      {"an unpriced tensor fills its room",
       with_room({.tensors = {{"a", 57, {8}, 0}, {"b", 0, {8}, 128}}}),
       {"tensor 'a' has type 57 at byte 45, which is not known"}},
      {"a gap before an unpriced tensor",
       with_room({.tensors = {{"a", 0, {8}, 0}, {"b", 57, {8}, 128}}}),
       {"tensor 'b' has type 57 at byte 78, which is not known",
        "tensor 'b' has offset 128 at byte 82 where 32 is due: a gap of 96 bytes"}},
  });
}

TEST(ReadableHeader, TheAuditsSums) {
  // A gap is no padding: 8 bytes before "b".
  const GgufFile spec{.pairs = {pair_u32("general.alignment", 8)},
                      .tensors = {{"a", 0, {1}, 0}, {"b", 0, {3}, 16}, {"c", 0, {2}, 32}},
                      .alignment = 8};
  const std::string bytes = spec.header() + std::string(50, '\0');
  const auto header = read(bytes);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->audit.typed_bytes, 4 + 12 + 8);
  EXPECT_EQ(header->audit.padding_bytes, 4 + 4);
  EXPECT_EQ(header->audit.trailing_bytes, 10);
  EXPECT_EQ(header->audit.faults.size(), 1U);
}

TEST(ReadableHeader, ValuesOfAnotherType) {
  const std::string architecture = pair_text("general.architecture", "x");
  expect_objections({
      {"architecture",
       GgufFile{.pairs = {pair_u32("general.architecture", 1)}}.file(),
       {"key 'general.architecture' at byte 56 is of type u32, not string"}},
      {"name",
       GgufFile{.pairs = {pair_texts("general.name", 1, "x")}}.file(),
       {"key 'general.name' at byte 48 is of type array, not string"}},
      {"a number below 0",
       GgufFile{.pairs = {raw_pair("split.no", 5, raw<std::int32_t>(-1))}}.file(),
       {"key 'split.no' at byte 44 is negative, or 2^63 or more"}},
      {"two of them",
       GgufFile{.pairs = {architecture, pair_text("x.block_count", "2"),
                          pair_u32("x.attention.causal", 1)}}
           .file(),
       {"key 'x.block_count' at byte 90 is of type string, not an integer (and 1 more)"}},
  });
}

// --- what is refused all the same

struct Refused {
  const char* what;
  std::string file;
  const char* message;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    const auto header = read(c.file);
    ASSERT_FALSE(header) << c.what;
    EXPECT_EQ(header.error().message, c.message) << c.what;
  }
}

constexpr std::uint64_t kTop = std::uint64_t{1} << 63U;

TEST(RefusedAllTheSame, Forms) {
  const Wire v1{.wide = false};
  const Wire big{.big_endian = true};
  expect_refused({
      {"nothing", "", "the file is empty"},
      {"cut in the version", "GGUF\x03",
       "the file ends inside its header: the preamble 'GGUF' at byte 4 takes 4 bytes, 1 are left"},
      {"cut in the counts", std::string("GGUF\x01\0\0\0\1\0", 10),
       "the file ends inside its header: the preamble 'GGUF' at byte 8 takes 4 bytes, 2 are left"},
      {"tensors of version 1", GgufFile{.version = 1, .tensor_count = 0xFFFFFFFF}.file(),
       "4294967295 tensors claimed at byte 8, the file of 32 B has room for 0"},
      {"pairs of version 1", GgufFile{.version = 1, .pair_count = 9}.file(),
       "9 key/value pairs claimed at byte 12, the file of 32 B has room for 1"},
      {"big-endian counts", GgufFile{.tensor_count = kTop, .big_endian = true}.file(),
       "a negative number of tensors at byte 8: -9223372036854775808"},
      {"a key of version 1",
       GgufFile{.version = 1, .pairs = {v1.raw(0xFFFFFFFF) + "key of nothing"}}.file(),
       "key 0 at byte 16 claims a text of 4294967295 bytes"},
      {"a big-endian key",
       GgufFile{
           .pairs = {big.raw<std::uint64_t>(4096) + "key"}, .pair_count = 1, .big_endian = true}
           .file(),
       "the file ends inside its header: key 0 at byte 24 takes 4104 bytes, 40 are left"},
  });
}

TEST(RefusedAllTheSame, PairsAndArrays) {
  const Wire v1{.wide = false};
  expect_refused({
      {"an array of version 1",
       GgufFile{.version = 1, .pairs = {v1.pair("k", 9, v1.array(12, 0x20000000))}}.file(),
       "the array of key 'k' claims 536870912 elements at byte 29, the file has room for 3"},
      {"an empty key", GgufFile{.pairs = {pair_u32("", 1)}}.file(), "key 0 at byte 24 is empty"},
      {"the same key twice", GgufFile{.pairs = {pair_u32("k", 1), pair_u32("k", 2)}}.file(),
       "key 'k' stands twice, again at byte 41"},
      {"value type 13", GgufFile{.pairs = {raw_pair("k", 13, raw<std::uint64_t>(0))}}.file(),
       "key 'k' has value type 13 at byte 33, which is none"},
      {"element type 13 in an array of arrays",
       GgufFile{.pairs = {raw_pair("k", 9, array_value(9, 1, array_value(13, 1)))}}.file(),
       "the array of key 'k' has element type 13 at byte 49, which is none"},
      {"9 arrays deep", GgufFile{.pairs = {raw_pair("k", 9, nested(10))}}.file(),
       "key 'k' has arrays in arrays 9 deep at byte 121"},
      {"arrays for more than the file",
       GgufFile{.pairs = {raw_pair("k", 9, array_value(9, 400))}}.file(),
       "the array of key 'k' claims 400 elements at byte 41, the file has room for 1"},
      {"arrays that are cut",
       GgufFile{.pairs = {raw_pair("k", 9, array_value(9, 2, array_value(0, 0)))}, .alignment = 1}
           .file(),
       "the array of key 'k' claims 2 elements at byte 41, the file has room for 1"},
      {"alignment 0", GgufFile{.pairs = {pair_u32("general.alignment", 0)}}.file(),
       "key 'general.alignment' at byte 53 is 0, not a power of two"},
      {"alignment 48", GgufFile{.pairs = {pair_u32("general.alignment", 48)}}.file(),
       "key 'general.alignment' at byte 53 is 48, not a power of two"},
      {"alignment as a text", GgufFile{.pairs = {pair_text("general.alignment", "32")}}.file(),
       "key 'general.alignment' at byte 53 is of type string, not u32"},
  });
}

TEST(RefusedAllTheSame, Tensors) {
  expect_refused({
      {"the same tensor twice", with_room({.tensors = {{"a", 0, {1}}, {"a", 57, {1}}}}),
       "tensor 'a' stands twice, again at byte 57"},
      {"5 dimensions", with_room({.tensors = {{"a", 57, {1, 1, 1, 1, 1}}}}),
       "tensor 'a' has 5 dimensions at byte 33, engines take 4"},
      {"elements of an unknown type past 2^63", with_room({.tensors = {{"a", 57, {kTop / 2, 2}}}}),
       "the dimensions of tensor 'a' at byte 33 multiply past 2^63"},
      {"a dimension of 2^63", with_room({.tensors = {{"a", 57, {kTop}}}}),
       "tensor 'a' has a dimension of 2^63 or more at byte 37"},
      {"a removed type past the file", with_room({.tensors = {{"a", 31, {kTop - 32, 1}, 0}}}),
       "the file is cut off: tensor 'a' ends at byte 5188146770730811470, the file has 4192"},
      {"rows of a removed type that are no whole blocks", with_room({.tensors = {{"a", 31, {31}}}}),
       "tensor 'a' has rows of 31 elements, not a multiple of the 32 that a block of q4_0_4_4 "
       "holds "
       "(byte 45)"},
  });
}

TEST(RefusedAllTheSame, Places) {
  expect_refused({
      {"unaligned", with_room({.tensors = {{"a", 0, {8}}, {"b", 0, {8}, 100}}}),
       "tensor 'b' has offset 100 at byte 82, not a multiple of the alignment 32"},
      {"an overlap in another order",
       with_room({.tensors = {{"a", 0, {8}, 32}, {"b", 0, {16}, 0}}}),
       "tensor 'a' has offset 32 at byte 49 where 64 is due: it overlaps the tensors before it"},
      {"two unpriced tensors in one place",
       with_room({.tensors = {{"a", 57, {8}, 0}, {"b", 57, {8}, 0}}}),
       "tensor 'b' has offset 0 at byte 82 where 32 is due: it overlaps the tensors before it"},
      {"an offset past the file", with_room({.tensors = {{"a", 0, {8}, 1U << 20U}}}),
       "the file is cut off: tensor 'a' ends at byte 1048672, the file has 4160"},
      {"an unpriced tensor past the file", with_room({.tensors = {{"a", 57, {8}, 1U << 20U}}}),
       "the file is cut off: tensor 'a' ends at byte 1048641, the file has 4160"},
      {"an offset of 2^63", with_room({.tensors = {{"a", 57, {8}, kTop}}}),
       "tensor 'a' has an offset of 2^63 or more at byte 49"},
      {"an end past 2^63", with_room({.tensors = {{"a", 0, {8}, kTop - 32}}}),
       "the data up to tensor 'a' (byte 49) passes 2^63 bytes"},
  });
}

// Every prefix of a file that needs all there is: refused as unfinished, whatever its form.
TEST(ReadableHeader, EveryUnfinishedFileIsCalledThat) {
  for (const bool big : {false, true}) {
    for (const std::uint32_t version : {1U, 2U, 3U}) {
      const std::string whole = model_as({.version = version, .big_endian = big}).file();
      for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto header = read(whole.substr(0, size));
        ASSERT_FALSE(header) << size;
        EXPECT_EQ(header.error().kind, ErrorKind::malformed) << size;
      }
    }
  }
}

// --- files that come in pieces

TEST(HeaderInPieces, TellsWhatItNeeds) {
  for (const Accept accept : {Accept::loadable, Accept::readable}) {
    const GgufFile spec = model_as({});
    const std::string whole = spec.header();
    const auto header_bytes = read_header(as_bytes(whole), std::nullopt, accept)->header_bytes;
    for (std::size_t size = 0; size < static_cast<std::size_t>(header_bytes); ++size) {
      std::int64_t needed = 0;
      const auto header = read_header(as_bytes(whole).first(size), std::nullopt, accept, &needed);
      ASSERT_FALSE(header) << size;
      EXPECT_EQ(header.error().kind, ErrorKind::failed) << size << ": " << header.error().message;
      EXPECT_GT(needed, static_cast<std::int64_t>(size));
      EXPECT_LE(needed, header_bytes) << size;
    }
    // With the counts read, the rows they announce are needed as well.
    std::int64_t needed = 0;
    EXPECT_FALSE(read_header(as_bytes(whole).first(24), std::nullopt, accept, &needed));
    EXPECT_GE(needed, 24 + 8 + 6 * 14 + 2 * 24);
  }
}

TEST(HeaderInPieces, AVocabularyIsAskedForAsAWhole) {
  const std::string whole =
      GgufFile{.pairs = {pair_texts("k", 1000, "")}, .tensors = {{"a", 0, {1}}}}.header();
  std::int64_t needed = 0;
  const auto header =
      read_header(as_bytes(whole).first(100), std::nullopt, Accept::readable, &needed);
  ASSERT_FALSE(header);
  EXPECT_EQ(needed, 24 + 8 + 1 + 4 + 4 + 8 + 1000 * 8 + 24);
  EXPECT_TRUE(read_header(as_bytes(whole), std::nullopt, Accept::readable, &needed));
  EXPECT_EQ(needed, 0);
}

TEST(HeaderInPieces, WithoutASizeTheEndIsNotChecked) {
  const std::string header_only = GgufFile{.tensors = {{"a", 0, {1U << 30U}}}}.header();
  const auto header = read_header(as_bytes(header_only), std::nullopt);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->file_bytes, std::nullopt);
  EXPECT_EQ(header->audit.trailing_bytes, std::nullopt);
  EXPECT_EQ(header->audit.typed_bytes, std::int64_t{4} << 30U);
}

// Nobody should have to fetch 256 MiB to learn that the header is longer.
TEST(HeaderInPieces, AHeaderThatCannotBeIsRefusedAtOnce) {
  const std::uint64_t huge = std::uint64_t{1} << 50U;
  const struct {
    std::string file;
    const char* message;
  } cases[] = {
      {GgufFile{.tensor_count = huge}.header(),
       "1125899906842624 tensors claimed at byte 8, a header has room for 11184809"},
      {GgufFile{.pairs = {raw_pair("k", 9, array_value(8, huge))}}.header(),
       "the array of key 'k' claims 1125899906842624 elements at byte 41, a header has room for "
       "33554425"},
      {GgufFile{.pairs = {raw_pair("k", 8, raw<std::uint64_t>(1U << 29U))}}.header(),
       "the value of key 'k' at byte 37 passes the 256.0 MiB that a header may take"},
  };
  for (const auto& c : cases) {
    const auto stream = read_header(as_bytes(c.file), std::nullopt);
    ASSERT_FALSE(stream) << c.message;
    EXPECT_EQ(stream.error().message, c.message);
    EXPECT_EQ(stream.error().kind, ErrorKind::malformed);
    // A file of that size may lie on a server.
    const auto large = read_header(as_bytes(c.file), std::numeric_limits<std::int64_t>::max());
    ASSERT_FALSE(large) << c.message;
    EXPECT_EQ(large.error().kind, ErrorKind::malformed) << large.error().message;
  }
}

}  // namespace
}  // namespace picchio::gguf
