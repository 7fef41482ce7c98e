// The header of a model with a vocabulary as large as they come: 262,144 words with scores, types
// and merges, 11 MB. What people wait for before a card is printed.
#pragma once

#include "gguf/gguf_builder.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace picchio {

inline constexpr std::uint32_t kLargeVocabulary = 262144;

/// Words of 1 to 11 letters.
inline std::string word(std::uint32_t number) {
  std::string text;
  for (std::uint32_t rest = number + 1; rest > 0; rest /= 26) {
    text += static_cast<char>('a' + rest % 26);
  }
  return text.append(number % 8, 'e');
}

inline gguf::GgufFile large_model() {
  const gguf::Wire wire;
  std::string tokens;
  std::string merges;
  std::string scores;
  std::string types;
  for (std::uint32_t i = 0; i < kLargeVocabulary; ++i) {
    tokens += wire.text(word(i));
    merges += wire.text(word(i / 2) + ' ' + word(i % 97));
    scores += wire.raw(0xC0000000U + i);  // bits of an f32
    types += wire.raw<std::int32_t>(1);
  }
  gguf::GgufFile model{
      .pairs = {wire.pair_text("general.architecture", "llama"),
                wire.pair_text("general.name", "Large Vocabulary"),
                wire.pair_u32("general.file_type", 15), wire.pair_u32("llama.block_count", 48),
                wire.pair_u32("llama.context_length", 32768),
                wire.pair_u32("llama.embedding_length", 3840),
                wire.pair_u32("llama.feed_forward_length", 3840),
                wire.pair_u32("llama.attention.head_count", 30),
                wire.pair_text("tokenizer.ggml.model", "llama"),
                wire.pair("tokenizer.ggml.tokens", 9, wire.array(8, kLargeVocabulary, tokens)),
                wire.pair("tokenizer.ggml.scores", 9, wire.array(6, kLargeVocabulary, scores)),
                wire.pair("tokenizer.ggml.token_type", 9, wire.array(5, kLargeVocabulary, types)),
                wire.pair("tokenizer.ggml.merges", 9, wire.array(8, kLargeVocabulary, merges))}};
  constexpr std::uint64_t kWidth = 3840;
  model.tensors = {{"token_embd.weight", 14, {kWidth, kLargeVocabulary}},
                   {"output_norm.weight", 0, {kWidth}}};
  for (int block = 0; block < 48; ++block) {
    for (const char* name :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
      model.tensors.push_back({fmt::format("blk.{}.{}.weight", block, name), 12, {kWidth, kWidth}});
    }
    for (const char* name : {"attn_norm", "ffn_norm"}) {
      model.tensors.push_back({fmt::format("blk.{}.{}.weight", block, name), 0, {kWidth}});
    }
  }
  return model;
}

}  // namespace picchio
