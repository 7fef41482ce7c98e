// Headers that must be refused, each with the words that tell why. One row for each kind of damage.
#include "gguf/gguf_builder.h"
#include "gguf/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

namespace picchio::gguf {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 62U;
constexpr std::uint64_t kTop = std::uint64_t{1} << 63U;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

struct Hostile {
  const char* what;
  std::string file;
  const char* message;  // the whole of it
  ErrorKind kind = ErrorKind::malformed;
};

std::string with_pair(std::string pair) { return GgufFile{.pairs = {std::move(pair)}}.file(); }

std::string with_tensors(std::vector<TensorRow> rows) {
  // Not file(): what these rows claim fits into no memory.
  return GgufFile{.tensors = std::move(rows)}.header() + std::string(4096, '\0');
}

std::string with_value(std::string_view key, std::uint32_t type, std::string_view value) {
  return with_pair(raw_pair(key, type, value));
}

void expect_refused(const std::vector<Hostile>& cases) {
  for (const Hostile& c : cases) {
    const auto header = read_header(as_bytes(c.file), static_cast<std::int64_t>(c.file.size()));
    ASSERT_FALSE(header) << c.what;
    EXPECT_EQ(header.error().message, c.message) << c.what;
    EXPECT_EQ(header.error().kind, c.kind) << c.what;
  }
}

TEST(HostileHeader, Preamble) {
  expect_refused({
      {"empty", "", "the file is empty"},
      {"three bytes", "GGU",
       "the file ends inside its header: the preamble 'GGUF' at byte 0 takes 4 bytes, 3 are left"},
  });
}

TEST(HostileHeader, WhatIsNoModelIsNamed) {
  const struct {
    std::string_view begin;
    const char* hint;
  } cases[] = {{"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"},
               {"<!doctype html>", "web page"},
               {"{\"error\":\"not found\"}", "JSON"},
               {"tjgg\1\0\0\0", "GGJT"},
               {"PK\3\4", "zip"},
               {std::string_view("\0\0\0\0\0\0\0\0", 8), "unfinished download"}};
  for (const auto& c : cases) {
    const auto header = read_header(as_bytes(c.begin), 1000);
    ASSERT_FALSE(header) << c.begin;
    EXPECT_TRUE(header.error().message.starts_with("not a GGUF file: it begins with '"))
        << header.error().message;
    EXPECT_NE(header.error().hint.find(c.hint), std::string::npos) << header.error().hint;
  }
  const auto unknown = read_header(as_bytes("\x1b[2Jhello"), 1000);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "not a GGUF file: it begins with '', not 'GGUF'");
  EXPECT_EQ(unknown.error().hint, "");
}

TEST(HostileHeader, Versions) {
  expect_refused({
      {"0", GgufFile{.version = 0}.file(), "GGUF version 0 at byte 4, which never was"},
      {"1", GgufFile{.version = 1}.file(), "GGUF version 1 at byte 4, which engines no longer read",
       ErrorKind::unsupported},
      {"4", GgufFile{.version = 4}.file(), "GGUF version 4 at byte 4, only 2 and 3 are known",
       ErrorKind::unsupported},
      {"big-endian", GgufFile{.version = 0x03000000}.file(),
       "a big-endian GGUF file (its version at byte 4 reads 0x03000000), which engines here do not "
       "read",
       ErrorKind::unsupported},
  });
}

TEST(HostileHeader, Counts) {
  expect_refused({
      {"2^62 tensors", GgufFile{.tensor_count = kHuge}.file(),
       "4611686018427387904 tensors claimed at byte 8, the file of 32 B has room for 0"},
      {"-1 tensors", GgufFile{.tensor_count = kMax}.file(),
       "a negative number of tensors at byte 8: -1"},
      {"2^62 pairs", GgufFile{.pair_count = kHuge}.file(),
       "4611686018427387904 key/value pairs claimed at byte 16, the file of 32 B has room for 0"},
      {"-1 pairs", GgufFile{.pair_count = kMax}.file(),
       "a negative number of key/value pairs at byte 16: -1"},
      {"one tensor more than there are",
       GgufFile{.tensors = {{"a", 0, {64}}}, .tensor_count = 2}.file(),
       "the name of tensor 1 at byte 57 claims a text of 6124895493223874560 bytes"},
      {"pairs where the tensors are", GgufFile{.tensors = {{"a", 0, {64}}}, .pair_count = 2}.file(),
       "key 1 at byte 38 is empty"},
  });
}

TEST(HostileHeader, KeysAndTexts) {
  expect_refused({
      {"a key longer than the file", with_pair(raw<std::uint64_t>(5000) + "abc"),
       "the file ends inside its header: key 0 at byte 24 takes 5008 bytes, 40 are left"},
      {"a key of 2^63 bytes", with_pair(raw(kTop) + std::string(8, 'k')),
       "key 0 at byte 24 claims a text of 9223372036854775808 bytes"},
      {"a key whose end wraps around", with_pair(raw(kMax - 8) + std::string(8, 'k')),
       "key 0 at byte 24 claims a text of 18446744073709551607 bytes"},
      {"an empty key", with_pair(pair_u32("", 1)), "key 0 at byte 24 is empty"},
      {"the same key twice", GgufFile{.pairs = {pair_u32("k", 1), pair_u32("k", 2)}}.file(),
       "key 'k' stands twice, again at byte 41"},
      {"a text longer than the file", with_value("general.name", 8, raw<std::uint64_t>(1U << 20U)),
       "the file ends inside its header: the value of key 'general.name' at byte 48 takes 1048584 "
       "bytes, 16 are left"},
      {"a text of 2^64 - 1 bytes", with_value("general.name", 8, raw(kMax)),
       "the value of key 'general.name' at byte 48 claims a text of 18446744073709551615 bytes"},
      {"a number that is cut",
       GgufFile{.pairs = {raw_text("kk") + raw<std::uint32_t>(12)}, .alignment = 1}.file(),
       "the file ends inside its header: the value of key 'kk' at byte 38 takes 8 bytes, 0 are "
       "left"},
      {"value type 13", with_value("k", 13, raw<std::uint64_t>(0)),
       "key 'k' has value type 13 at byte 33, which is none"},
      {"value type 2^32 - 1", with_value("k", 0xFFFFFFFF, raw<std::uint64_t>(0)),
       "key 'k' has value type 4294967295 at byte 33, which is none"},
  });
}

TEST(HostileHeader, Arrays) {
  expect_refused({
      {"count times size past 2^64", with_value("k", 9, array_value(10, kHuge)),
       "the array of key 'k' claims 4611686018427387904 elements at byte 41, the file has room for "
       "1"},
      {"count past the file", with_value("k", 9, array_value(0, 4096)),
       "the array of key 'k' claims 4096 elements at byte 41, the file has room for 15"},
      {"2^60 texts", with_value("k", 9, array_value(8, kHuge / 4)),
       "the array of key 'k' claims 1152921504606846976 elements at byte 41, the file has room for "
       "1"},
      {"a text in it past the file",
       with_value("k", 9, array_value(8, 2, raw_text("a") + raw<std::uint64_t>(4096))),
       "the file ends inside its header: the array of key 'k' at byte 58 takes 4104 bytes, 38 are "
       "left"},
      {"arrays in it", with_value("k", 9, array_value(9, 1, array_value(0, 0))),
       "key 'k' is an array of arrays at byte 37, which no engine reads", ErrorKind::unsupported},
      {"element type 13", with_value("k", 9, array_value(13, 1)),
       "the array of key 'k' has element type 13 at byte 37, which is none"},
  });
}

TEST(HostileHeader, ValuesThatCount) {
  expect_refused({
      {"alignment 0", with_pair(pair_u32("general.alignment", 0)),
       "key 'general.alignment' at byte 53 is 0, not a power of two"},
      {"alignment 3", with_pair(pair_u32("general.alignment", 3)),
       "key 'general.alignment' at byte 53 is 3, not a power of two"},
      {"alignment as i32", with_value("general.alignment", 5, raw<std::int32_t>(32)),
       "key 'general.alignment' at byte 53 is of type i32, not u32"},
      {"alignment as u64", with_value("general.alignment", 10, raw<std::uint64_t>(32)),
       "key 'general.alignment' at byte 53 is of type u64, not u32"},
      {"alignment 2^31",
       GgufFile{.pairs = {pair_u32("general.alignment", 0x80000000)}, .tensors = {{"a", 0, {1}}}}
           .file(),
       "the file is cut off: tensor 'a' ends at byte 2147483652, the file has 100"},
      {"architecture as a number", with_pair(pair_u32("general.architecture", 1)),
       "key 'general.architecture' at byte 56 is of type u32, not string"},
      {"name as an array", with_pair(pair_texts("general.name", 1, "x")),
       "key 'general.name' at byte 48 is of type array, not string"},
      {"a split number below 0", with_value("split.no", 5, raw<std::int32_t>(-1)),
       "key 'split.no' at byte 44 is negative, or 2^63 or more"},
      {"a number past 2^63", with_value("split.count", 10, raw(kTop)),
       "key 'split.count' at byte 47 is negative, or 2^63 or more"},
      {"block count as an array",
       GgufFile{.pairs = {pair_text("general.architecture", "x"),
                          raw_pair("x.block_count", 9, array_value(4, 1, raw(1)))}}
           .file(),
       "key 'x.block_count' at byte 90 is of type array, not an integer"},
      {"causal as a number",
       GgufFile{
           .pairs = {pair_text("general.architecture", "x"), pair_u32("x.attention.causal", 1)}}
           .file(),
       "key 'x.attention.causal' at byte 95 is of type u32, not bool"},
  });
}

TEST(HostileHeader, TensorRows) {
  expect_refused({
      {"a name of 64 bytes", with_tensors({{std::string(64, 'n'), 0, {1}}}),
       "the name of tensor 0 at byte 24 has 64 bytes, engines take 63"},
      {"a name longer than the file",
       GgufFile{.pairs = {raw<std::uint64_t>(9999) + std::string(64, 'n')},
                .tensor_count = 1,
                .pair_count = 0}
           .file(),
       "the file ends inside its header: the name of tensor 0 at byte 24 takes 10007 bytes, 72 are "
       "left"},
      {"the same name twice", with_tensors({{"a", 0, {1}}, {"a", 0, {1}}}),
       "tensor 'a' stands twice, again at byte 57"},
      {"no name twice", with_tensors({{"", 0, {1}}, {"", 0, {1}}}),
       "tensor '' stands twice, again at byte 56"},
      {"names that are one as C strings",
       with_tensors({{std::string("a\0b", 3), 0, {1}}, {std::string("a\0c", 3), 0, {1}}}),
       "tensor 'a' stands twice, again at byte 59"},
      {"5 dimensions", with_tensors({{"a", 0, {1, 1, 1, 1, 1}}}),
       "tensor 'a' has 5 dimensions at byte 33, engines take 4"},
      {"a dimension of 2^63", with_tensors({{"a", 0, {kTop}}}),
       "tensor 'a' has a dimension of 2^63 or more at byte 37"},
      {"a product past 2^63",
       with_tensors({{"a", 0, {std::uint64_t{1} << 32U, std::uint64_t{1} << 32U}}}),
       "the dimensions of tensor 'a' at byte 33 multiply past 2^63"},
      {"bytes past 2^63", with_tensors({{"a", 0, {kHuge}}}),
       "tensor 'a' takes 2^63 bytes or more (byte 45)"},
      {"rows that are no whole blocks", with_tensors({{"a", 12, {255, 2}}}),
       "tensor 'a' has rows of 255 elements, not a multiple of the 256 that a block of q4_K holds "
       "(byte 53)"},
      {"a control sequence in a name",
       with_tensors({{"\x1b[31mred\n", 0, {1}}, {"\x1b[31mred\n", 0, {1}}}),
       "tensor 'red' stands twice, again at byte 65"},
  });
}

TEST(HostileHeader, TensorTypes) {
  for (const std::uint32_t id : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U}) {
    const auto file = with_tensors({{"a", id, {256}}});
    const auto header = read_header(as_bytes(file), static_cast<std::int64_t>(file.size()));
    ASSERT_FALSE(header) << id;
    EXPECT_EQ(header.error().message,
              fmt::format("tensor 'a' has type {} ({}) at byte 45, which engines no longer read",
                          id, tensor_type(id)->name));
  }
  expect_refused({
      {"43", with_tensors({{"a", 43, {256}}}),
       "tensor 'a' has type 43 at byte 45, which is not known", ErrorKind::unsupported},
      {"-1", with_tensors({{"a", 0xFFFFFFFF, {256}}}),
       "tensor 'a' has type 4294967295 at byte 45, which is not known", ErrorKind::unsupported},
  });
}

TEST(HostileHeader, OffsetsThatDoNotPack) {
  expect_refused({
      {"the first not at 0", with_tensors({{"a", 0, {8}, 32}}),
       "tensor 'a' has offset 32 at byte 49 where 0 is due: a gap of 32 bytes"},
      {"a gap", with_tensors({{"a", 0, {8}}, {"b", 0, {8}, 64}}),
       "tensor 'b' has offset 64 at byte 82 where 32 is due: a gap of 32 bytes"},
      {"an overlap", with_tensors({{"a", 0, {16}}, {"b", 0, {8}, 32}}),
       "tensor 'b' has offset 32 at byte 82 where 64 is due: it overlaps the tensors before it"},
      {"all at 0", with_tensors({{"a", 0, {8}}, {"b", 0, {8}, 0}}),
       "tensor 'b' has offset 0 at byte 82 where 32 is due: it overlaps the tensors before it"},
      {"swapped", with_tensors({{"a", 0, {8}, 32}, {"b", 0, {8}, 0}}),
       "tensor 'a' has offset 32 at byte 49 where 0 is due: the data is not in the table's order"},
      {"unaligned", with_tensors({{"a", 0, {8}}, {"b", 0, {8}, 33}}),
       "tensor 'b' has offset 33 at byte 82, not a multiple of the alignment 32"},
      {"2^63", with_tensors({{"a", 0, {8}, kTop}}),
       "tensor 'a' has an offset of 2^63 or more at byte 49"},
      {"sizes that add up past 2^63",
       with_tensors({{"a", 24, {kTop - 64}}, {"b", 24, {kTop - 64}}}),
       "the data up to tensor 'b' (byte 82) passes 2^63 bytes"},
  });
}

TEST(HostileHeader, DataBehindTheFile) {
  std::string file = GgufFile{.tensors = {{"a", 24, {std::uint64_t{1} << 40U}}}}.header();
  expect_refused({{"a tensor of a TiB in a small file", file,
                   "the file is cut off: tensor 'a' ends at byte 1099511627840, the file has 64"}});
}

// A sparse file can claim terabytes of header at no cost; reading must stop early.
TEST(HostileHeader, AHeaderWithoutEnd) {
  const auto most = static_cast<std::uint64_t>(kMaxHeaderBytes) - 4096;
  const std::string begin =
      GgufFile{.pairs = {raw_pair("a", 9, array_value(0, most))}, .pair_count = 1000}.header();
  const std::size_t size = static_cast<std::size_t>(kMaxHeaderBytes) + 4096;
  // calloc, so that like a sparse file it costs only the pages that are touched.
  const std::unique_ptr<void, decltype(&std::free)> memory(std::calloc(size, 1), &std::free);
  const std::span bytes(static_cast<std::byte*>(memory.get()), size);
  std::ranges::copy(as_bytes(begin), bytes.begin());
  const std::string texts = raw_pair("b", 9, array_value(8, kHuge / 1024));
  // "a" ends 24 + 25 + `most` bytes into the file.
  std::ranges::copy(as_bytes(texts), bytes.subspan(49 + most).begin());
  const auto header = read_header(bytes, std::numeric_limits<std::int64_t>::max());
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().kind, ErrorKind::malformed);
  EXPECT_EQ(header.error().message,
            "the array of key 'b' at byte 268435450 passes the 256.0 MiB that a header may take");
}

TEST(HostileHeader, ASizeBelowZeroIsAnEmptyFile) {
  const std::string file = GgufFile{}.file();
  const auto header = read_header(as_bytes(file), -5);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().message, "the file is empty");
}

}  // namespace
}  // namespace picchio::gguf
