// For tests: headers of small models, made of keys and tensors.
#pragma once

#include "gguf/gguf_builder.h"
#include "gguf/header.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace picchio::gguf {

using Keys = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// Keys of one number are scalars, others arrays; `keys` go before the usual ones of the same name:
/// 8 blocks, 256 wide, 8 heads of 32, 1,024 words, trained on 4,096 tokens.
inline Header made_header(const std::string& architecture, Keys keys = {},
                          std::vector<TensorRow> tensors = {}) {
  const Keys usual = {{"block_count", {8}},          {"embedding_length", {256}},
                      {"context_length", {4096}},    {"vocab_size", {1024}},
                      {"attention.head_count", {8}}, {"feed_forward_length", {768}}};
  for (const auto& row : usual) {
    bool given = false;
    for (const auto& mine : keys) given = given || mine.first == row.first;
    if (!given) keys.push_back(row);
  }
  GgufFile file{.pairs = {pair_text("general.architecture", architecture)},
                .tensors = std::move(tensors)};
  for (const auto& [key, values] : keys) {
    const std::string name = architecture + "." + key;
    std::string elements;
    for (const std::int64_t value : values) elements += raw(static_cast<std::uint32_t>(value));
    file.pairs.push_back(values.size() == 1
                             ? pair_u32(name, static_cast<std::uint32_t>(values.front()))
                             : raw_pair(name, 9, array_value(4, values.size(), elements)));
  }
  const std::string bytes = file.header();
  auto header =
      read_header(as_bytes(bytes), static_cast<std::int64_t>(bytes.size() + file.data_bytes()));
  EXPECT_TRUE(header) << header.error().message;
  return header.value_or(Header{});
}

/// A transformer of `blocks` blocks, 256 wide, all f16, with a head of its own unless `tied`.
inline std::vector<TensorRow> made_tensors(std::int64_t blocks, bool tied = false) {
  std::vector<TensorRow> out = {{"token_embd.weight", 1, {256, 1024}},
                                {"output_norm.weight", 0, {256}}};
  if (!tied) out.push_back({"output.weight", 1, {256, 1024}});
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    out.push_back({block + "attn_norm.weight", 0, {256}});
    for (const char* role : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      out.push_back({block + role + ".weight", 1, {256, 256}});
    }
    out.push_back({block + "ffn_norm.weight", 0, {256}});
    out.push_back({block + "ffn_gate.weight", 1, {256, 768}});
    out.push_back({block + "ffn_up.weight", 1, {256, 768}});
    out.push_back({block + "ffn_down.weight", 1, {768, 256}});
  }
  return out;
}

}  // namespace picchio::gguf
