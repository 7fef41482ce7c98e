// The numbers of ARCHITECTURE.* that say how much memory a model takes: widths of its layers, kinds
// of its attention, sizes of its recurrent state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio::gguf {

/// A value that a file gives once for all layers, or in an array with one number for each.
struct PerLayer {
  bool given = false;
  bool array = false;
  std::int64_t length = 0;           // of the array, as the file has it
  std::vector<std::int64_t> values;  // at most kMaxPerLayer of them; one if it is no array

  [[nodiscard]] std::optional<std::int64_t> at(std::size_t layer) const {
    const std::size_t index = array ? layer : 0;
    if (index >= values.size()) return std::nullopt;
    return values[index];
  }
};

/// What a header keeps of an array. Engines load no model of more layers than 512.
inline constexpr std::size_t kMaxPerLayer = 1024;

/// Absent is what the file does not hold. Of a key with a value of another type than the usual one
/// nothing is kept but its name, in `unreadable`.
struct HyperParameters {
  using Number = std::optional<std::int64_t>;

  Number vocab_size;  // for a file without a list of words
  Number key_length;  // attention.*
  Number value_length;
  Number key_length_swa;
  Number value_length_swa;
  Number key_length_mla;
  Number value_length_mla;
  Number kv_lora_rank;
  Number q_lora_rank;
  Number sliding_window;
  Number shared_kv_layers;
  Number indexer_head_count;
  Number indexer_key_length;
  Number indexer_top_k;
  Number indexer_pool;
  Number full_attention_interval;
  Number rope_dimensions;
  Number ssm_conv_kernel;
  Number ssm_inner_size;
  Number ssm_state_size;
  Number ssm_time_step_rank;
  Number ssm_group_count;
  Number kda_head_dim;
  Number shortconv_cache;
  Number wkv_head_size;
  Number token_shift_count;
  Number expert_feed_forward_length;
  Number leading_dense_blocks;
  Number embedding_length_out;
  Number per_layer_embedding_length;
  Number hyper_connections;
  Number ple_ngram_size;
  Number ple_conv_kernel;

  PerLayer head_count;
  PerLayer head_count_kv;
  PerLayer feed_forward_length;
  PerLayer sliding_window_pattern;  // a period, or whether each layer slides
  PerLayer recurrent_layers;
  PerLayer compress_ratios;
  PerLayer indexer_types;
  PerLayer ple_layers;

  std::string unreadable;  // the first key of a wrong type, cut short
};

}  // namespace picchio::gguf
