#include "gguf/header.h"

#include "gguf/gguf_builder.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

Result<Header> read(const GgufFile& spec) {
  const std::string file = spec.file();
  return read_header(as_bytes(file), static_cast<std::int64_t>(file.size()));
}

GgufFile small_llama() {
  return {
      .pairs = {pair_text("general.architecture", "llama"), pair_text("general.name", "Small One"),
                pair_u32("llama.block_count", 2), pair_u32("llama.context_length", 4096),
                pair_u32("llama.expert_count", 8), pair_u32("llama.expert_used_count", 2),
                pair_u32("llama.nextn_predict_layers", 1), pair_u32("general.file_type", 15),
                raw_pair("llama.attention.causal", 7, raw<std::uint8_t>(1)),
                pair_texts("tokenizer.ggml.tokens", 3, "word")},
      .tensors = {{"token_embd.weight", 12, {256, 3}},
                  {"output_norm.weight", 0, {5}},
                  {"blk.0.ffn_up_exps.weight", 8, {32, 4, 8}}}};
}

TEST(Header, AWholeOne) {
  const auto header = read(small_llama());
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->version, 3U);
  EXPECT_EQ(header->alignment, 32);
  EXPECT_EQ(header->architecture, "llama");
  EXPECT_EQ(header->name, "Small One");
  EXPECT_EQ(header->block_count, 2);
  EXPECT_EQ(header->context_length, 4096);
  EXPECT_EQ(header->expert_count, 8);
  EXPECT_EQ(header->expert_used_count, 2);
  EXPECT_EQ(header->nextn_predict_layers, 1);
  EXPECT_EQ(header->file_type, 15);
  EXPECT_EQ(header->causal_attention, true);
  EXPECT_EQ(header->split_count, std::nullopt);
  EXPECT_EQ(header->data_offset, static_cast<std::int64_t>(small_llama().header().size()));
  EXPECT_EQ(header->file_bytes, static_cast<std::int64_t>(small_llama().file().size()));

  ASSERT_EQ(header->tensors.size(), 3U);
  const HeaderTensor& embedding = header->tensors[0];
  EXPECT_EQ(embedding.name, "token_embd.weight");
  EXPECT_EQ(embedding.type, "q4_K");
  EXPECT_EQ(embedding.elements, 768);
  EXPECT_EQ(embedding.bytes, 3 * 144);
  EXPECT_EQ(embedding.ne, (std::array<std::int64_t, 4>{256, 3, 1, 1}));
  EXPECT_EQ(header->tensors[1].offset, 448);  // 432 rounded up to 32
  EXPECT_EQ(header->tensors[2].offset, 480);  // 448 + 20 rounded up
  EXPECT_EQ(header->tensors[2].bytes, 4 * 8 * 34);
}

TEST(Header, AbsentIsNotZero) {
  const auto header = read({});
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->architecture, std::nullopt);
  EXPECT_EQ(header->name, std::nullopt);
  EXPECT_EQ(header->block_count, std::nullopt);
  EXPECT_EQ(header->causal_attention, std::nullopt);
  EXPECT_TRUE(header->tensors.empty());
}

TEST(Header, KeysStandInAnyOrderAndOfAnyWidth) {
  const auto header = read({.pairs = {raw_pair("x.block_count", 0, raw<std::uint8_t>(200)),
                                      raw_pair("x.context_length", 10, raw<std::uint64_t>(1) + ""),
                                      raw_pair("split.no", 2, raw<std::uint16_t>(3)),
                                      raw_pair("split.count", 3, raw<std::int16_t>(4)),
                                      raw_pair("split.tensors.count", 5, raw<std::int32_t>(70000)),
                                      raw_pair("x.expert_count", 1, raw<std::int8_t>(127)),
                                      raw_pair("x.expert_used_count", 11, raw<std::int64_t>(5)),
                                      pair_text("general.architecture", "x")}});
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->block_count, 200);
  EXPECT_EQ(header->context_length, 1);
  EXPECT_EQ(header->split_no, 3);
  EXPECT_EQ(header->split_count, 4);
  EXPECT_EQ(header->split_tensors_count, 70000);
  EXPECT_EQ(header->expert_count, 127);
  EXPECT_EQ(header->expert_used_count, 5);
}

TEST(Header, WhatTheEngineTakesIsTaken) {
  const struct {
    const char* what;
    GgufFile file;
  } cases[] = {
      {"version 2", {.version = 2, .tensors = {{"a", 0, {8}}}}},
      {"alignment 1",
       {.pairs = {pair_u32("general.alignment", 1)},
        .tensors = {{"a", 0, {1}}, {"b", 0, {1}}},
        .alignment = 1}},
      {"alignment 8",
       {.pairs = {pair_u32("general.alignment", 8)},
        .tensors = {{"a", 0, {1}}, {"b", 0, {1}}},
        .alignment = 8}},
      {"a bool that is 2", {.pairs = {raw_pair("a", 7, "\x02")}}},
      {"a name that is not UTF-8", {.pairs = {pair_text("general.name", "\xff\xfe\x1b[31m")}}},
      {"a NUL in a key", {.pairs = {pair_text(std::string_view("a\0b", 3), "x")}}},
      {"an empty array of texts", {.pairs = {pair_texts("a", 0, "")}}},
      {"no name", {.tensors = {{"", 0, {1}}}}},
      {"a name of 63 bytes", {.tensors = {{std::string(63, 'n'), 0, {1}}}}},
      {"no dimensions", {.tensors = {{"a", 0, {}}}}},
      {"a zero dimension", {.tensors = {{"a", 12, {0, 7}}, {"b", 0, {3, 0}}, {"c", 0, {1}}}}},
      {"an architecture nobody knows", {.pairs = {pair_text("general.architecture", "zebra-9")}}},
  };
  for (const auto& c : cases) {
    const auto header = read(c.file);
    EXPECT_TRUE(header) << c.what << ": " << header.error().message;
  }
}

TEST(Header, ShapesAtTheEdge) {
  const auto header =
      read({.tensors = {{"scalar", 0, {}}, {"nothing", 12, {256, 0}}, {"cube", 1, {2, 3, 4, 5}}}});
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->tensors[0].elements, 1);
  EXPECT_EQ(header->tensors[0].bytes, 4);
  EXPECT_EQ(header->tensors[1].elements, 0);
  EXPECT_EQ(header->tensors[1].bytes, 0);
  EXPECT_EQ(header->tensors[2].elements, 120);
  EXPECT_EQ(header->tensors[2].bytes, 240);
}

TEST(Header, BytesBehindTheLastTensorDoNotMatter) {
  std::string file = small_llama().file();
  file += std::string(1000, 'x');
  const auto header = read_header(as_bytes(file), static_cast<std::int64_t>(file.size()));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->file_bytes, static_cast<std::int64_t>(file.size()));
}

TEST(Header, ABeginningOfTheFileIsEnough) {
  const std::string header = small_llama().header();
  const auto file_bytes = static_cast<std::int64_t>(small_llama().file().size());
  EXPECT_TRUE(read_header(as_bytes(header), file_bytes));
  const auto cut = read_header(as_bytes(header).first(100), file_bytes);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::failed);
  EXPECT_EQ(
      cut.error().message,
      "the value of key 'general.name' at byte 93 goes on behind the 100 bytes that were read");
}

// Every prefix of a good file is refused as unfinished, never as something else, and never crashes.
TEST(Header, EveryUnfinishedFileIsCalledThat) {
  const std::string whole = small_llama().file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    const auto header = read_header(as_bytes(part), static_cast<std::int64_t>(size));
    ASSERT_FALSE(header) << size;
    EXPECT_EQ(header.error().kind, ErrorKind::malformed) << size;
    if (size >= 24) {
      EXPECT_TRUE(header.error().message.starts_with("the file ") ||
                  header.error().message.find("claim") != std::string::npos)
          << size << ": " << header.error().message;
    }
  }
}

TEST(Header, ACutInTheDataNamesTheTensorAndTheWholeSize) {
  const std::string whole = small_llama().file();
  const auto one_short = static_cast<std::int64_t>(whole.size()) - 1;
  const auto header = read_header(as_bytes(whole), one_short);
  ASSERT_FALSE(header);
  EXPECT_EQ(
      header.error().message,
      fmt::format("the file is cut off: tensor 'blk.0.ffn_up_exps.weight' ends at byte {}, the "
                  "file has {}",
                  whole.size(), one_short));
  EXPECT_EQ(
      header.error().hint,
      fmt::format("an unfinished download looks like this; the whole file has at least {} bytes",
                  whole.size()));
}

}  // namespace
}  // namespace picchio::gguf
