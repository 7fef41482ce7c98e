#include "gguf/header_writer.h"

#include "gguf/header.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace picchio::gguf {
namespace {

Result<Header> read(const HeaderWriter& writer) {
  const std::string bytes = writer.bytes();
  return read_header(std::as_bytes(std::span(bytes)), writer.file_bytes(), Accept::loadable);
}

TEST(HeaderWriter, WhatItWritesIsRead) {
  HeaderWriter writer;
  writer.add("general.architecture", std::string_view("llama"));
  writer.add("general.file_type", std::int64_t{15});
  writer.add("llama.block_count", std::int64_t{2});
  writer.add("llama.context_length", std::int64_t{8192});
  writer.add("llama.attention.causal", true);
  writer.add("llama.attention.layer_norm_rms_epsilon", 1e-6);
  writer.add("llama.attention.head_count_kv", std::vector<std::int64_t>{4, 8});
  writer.add("llama.negative", std::int64_t{-1});
  writer.add("llama.large", std::int64_t{1} << 40);
  writer.add_texts("tokenizer.ggml.tokens", 1000);
  ASSERT_TRUE(writer.add_tensor({"token_embd.weight", "Q4_K", {256, 1000}}));
  ASSERT_TRUE(writer.add_tensor({"blk.0.attn_norm.weight", "F32", {5}}));
  ASSERT_TRUE(writer.add_tensor({"output.weight", "q6_K", {256, 1000}}));
  const auto header = read(writer);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->architecture, "llama");
  EXPECT_EQ(header->file_type, 15);
  EXPECT_EQ(header->context_length, 8192);
  EXPECT_EQ(header->causal_attention, true);
  EXPECT_EQ(header->tokenizer.vocabulary, 1000);
  EXPECT_EQ(header->hyper.head_count_kv.at(0), 4);
  EXPECT_EQ(header->hyper.head_count_kv.at(1), 8);
  ASSERT_EQ(header->tensors.size(), 3U);
  EXPECT_EQ(header->tensors[0].bytes, 1000 * 144);
  EXPECT_EQ(header->tensors[1].bytes, 20);
  EXPECT_EQ(header->tensors[2].bytes, 1000 * 210);
  EXPECT_TRUE(header->objections.empty());
}

TEST(HeaderWriter, RefusesWhatNoTensorIs) {
  HeaderWriter writer;
  for (const TableRow& row :
       {TableRow{"t", "Q4_K", {100}}, TableRow{"t", "F32", {}}, TableRow{"t", "F32", {-1}},
        TableRow{"t", "F32", {1, 2, 3, 4, 5}}, TableRow{"t", "nonsense", {32}},
        TableRow{"t", "F32", {std::int64_t{1} << 40, std::int64_t{1} << 40}},
        TableRow{"t", "F32", {std::int64_t{1} << 49}}}) {
    EXPECT_FALSE(writer.add_tensor(row)) << row.type << ' ' << row.shape.size();
  }
}

}  // namespace
}  // namespace picchio::gguf
