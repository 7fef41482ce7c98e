// Made-up cards for this folder's tests.
#pragma once

#include "evidence/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace picchio::samples {

struct TypeSize {
  std::int64_t block;
  std::int64_t bytes;
};

/// Of the few types that the samples use.
inline std::optional<std::int64_t> bytes_of(const std::string& type, std::int64_t elements) {
  static const std::map<std::string, TypeSize> sizes = {
      {"f32", {1, 4}}, {"q4_K", {256, 144}}, {"q6_K", {256, 210}}, {"q8_0", {32, 34}}};
  const auto found = sizes.find(type);
  if (found == sizes.end()) return std::nullopt;
  return elements / found->second.block * found->second.bytes;
}

inline void add(Card& card, const std::string& name, const std::string& type,
                std::vector<std::int64_t> ne, TensorPart part, int block = -1) {
  CardTensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.elements = 1;
  for (const std::int64_t n : ne) tensor.elements *= n;
  tensor.ne = std::move(ne);
  tensor.bytes = bytes_of(type, tensor.elements);
  tensor.part = part;
  tensor.block = block;
  card.tensors.push_back(std::move(tensor));
}

/// Sums and rows from the tensors, as gguf/ makes them.
inline void sum_up(Card& card) {
  card.types.clear();
  card.tensor_bytes = card.elements = card.unpriced = card.unpriced_elements = 0;
  for (const CardTensor& tensor : card.tensors) {
    auto row = std::ranges::find(card.types, tensor.type, &TypeRow::type);
    if (row == card.types.end()) row = card.types.insert(row, {tensor.type, 0, 0, {}});
    ++row->tensors;
    row->elements += tensor.elements;
    if (!tensor.bytes) {
      ++card.unpriced;
      card.unpriced_elements += tensor.elements;
      continue;
    }
    row->bytes = row->bytes.value_or(0) + *tensor.bytes;
    card.tensor_bytes += *tensor.bytes;
    card.elements += tensor.elements;
  }
  std::ranges::stable_sort(card.types, [](const TypeRow& a, const TypeRow& b) {
    return a.bytes.value_or(-1) > b.bytes.value_or(-1);
  });
  card.audit.typed_bytes = card.tensor_bytes;
}

/// Eight blocks at Q4_K_M; `attn_v` is the type of that tensor in every second block.
inline Card dense(const std::string& attn_v = "q6_K") {
  Card card;
  card.files = {{"/models/Sample-1B-Q4_K_M.gguf", 0, std::nullopt, 5000, 5024}};
  card.keys = 24;
  card.architecture = "llama";
  card.name = "Sample 1B";
  card.file_type = 15;
  card.claimed = "Q4_K - Medium";
  card.sources = {{"general.quantized_by", "somebody"},
                  {"general.base_model.0.repo_url", "https://example.org/sample/Sample-1B"}};
  card.tokenizer = {"gpt2", "llama-bpe", 128256, 280147, {{"", 4123}}};
  card.block_count = 8;
  card.context_length = 131072;
  card.embedding_length = 2048;
  add(card, "token_embd.weight", "q6_K", {2048, 128256}, TensorPart::embedding);
  for (int i = 0; i < 8; ++i) {
    const std::string block = fmt::format("blk.{}.", i);
    add(card, block + "attn_norm.weight", "f32", {2048}, TensorPart::attention, i);
    add(card, block + "attn_q.weight", "q4_K", {2048, 2048}, TensorPart::attention, i);
    add(card, block + "attn_v.weight", i % 2 == 0 ? attn_v : "q4_K", {2048, 512},
        TensorPart::attention, i);
    add(card, block + "ffn_up.weight", "q4_K", {2048, 8192}, TensorPart::ffn, i);
  }
  add(card, "output_norm.weight", "f32", {2048}, TensorPart::output);
  sum_up(card);
  card.audit.padding_bytes = 64;
  card.audit.trailing_bytes = 0;
  card.files[0].bytes = card.files[0].data_offset + card.tensor_bytes + 64;
  card.files[0].digest = Digest{std::string(64, 'a'), DigestSource::computed};
  card.active_parameters = card.elements;
  card.bytes_per_token = card.tensor_bytes;
  return card;
}

/// The same with a next-token head of type q8_0.
inline Card with_head() {
  Card card = dense("q4_K");
  card.files[0].path = "/models/other/Sample-1B-Q4_K_M.gguf";
  card.next_token_blocks = 1;
  add(card, "blk.8.nextn.eh_proj.weight", "q8_0", {4096, 2048}, TensorPart::next_token, 8);
  sum_up(card);
  return card;
}

/// Two shards, experts, a type that nobody knows, a gap, no label.
inline Card odd() {
  Card card;
  card.files = {{"/m/Odd-00001-of-00002.gguf", 100'000'000, std::nullopt, 900, 928},
                {"/m/Odd-00002-of-00002.gguf", 50'000'000, std::nullopt, 400, 416}};
  card.version = 1;
  card.big_endian = true;
  card.alignment = 64;
  card.architecture = "qwen3moe";
  card.claimed = "(guessed) Q8_0";
  card.block_count = 2;
  card.experts = Experts{128, 8, 1};
  add(card, "token_embd.weight", "q8_0", {2048, 1024}, TensorPart::embedding);
  add(card, "blk.0.ffn_up_exps.weight", "q8_0", {2048, 256, 128}, TensorPart::experts, 0);
  add(card, "blk.1.ffn_up_exps.weight", "type 57", {2048, 256, 128}, TensorPart::experts, 1);
  add(card, "output.weight", "q8_0", {2048, 1024}, TensorPart::output);
  add(card, "output_extra.weight", "q8_0", {2048, 64}, TensorPart::output);
  add(card, "strange\x1b[31m|name", "f32", {2048}, TensorPart::other);
  sum_up(card);
  card.active_parameters = 8'000'000;
  card.bytes_per_token = 9'000'000;
  card.audit.faults = {"a gap of 64 bytes before tensor 'output.weight' (byte 1234)"};
  card.objections = {"version 1, which engines no longer read"};
  return card;
}

}  // namespace picchio::samples
