// The layers of a model as its header describes them: what each attends to, what state it keeps,
// how wide it is.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/memory/architectures.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

enum class Attention { none, full, sliding };

/// By what follows "blk.N.": "attn_q.weight".
using BlockTensors = std::map<std::string_view, const HeaderTensor*>;

struct Layer {
  Attention attention = Attention::none;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_length = 0;    // of a head, in the cache
  std::int64_t value_length = 0;  // of a head, in the cache; 0: its cache holds keys only
  bool own_cache = false;         // false: none, or that of an earlier layer

  // Numbers in a row of the sparse indexer's cache.
  std::int64_t indexer_keys = 0;
  std::int64_t indexer_values = 0;
  std::int64_t compress_ratio = 0;  // deepseek4: 4, 128, or 0 for none

  // Numbers (f32) of state for each sequence.
  bool recurrent = false;
  std::int64_t conv_state = 0;
  std::int64_t inner_state = 0;
  std::int64_t ngram_state = 0;

  BlockTensors tensors;
};

struct ModelLayers {
  std::string architecture;
  const Architecture* rules = nullptr;  // never nullptr; the classic rule if `known` is false
  bool known = true;
  std::vector<Layer> layers;  // those that are loaded: without next-token prediction
  std::int64_t blocks = 0;    // with next-token prediction, as -ngl counts them
  std::int64_t embedding = 0;
  std::int64_t vocabulary = 0;
  std::int64_t window = 0;  // of sliding layers; 0: none slides
  bool sliding = false;     // has the second cache, whether or not a layer is in it
  std::int64_t experts_used = 0;
  std::int64_t indexer_top_k = 0;
  std::int64_t indexer_heads = 0;
  bool mla = false;  // caches hold compressed keys only
  bool causal = true;
  bool tied_output = false;
  std::map<std::string_view, const HeaderTensor*> others;  // that are in no block

  [[nodiscard]] bool cached() const { return rules->cached && rules->attends; }
};

/// `shards` must outlive the result, which points into them. Errors name the key or the count that
/// no engine takes.
[[nodiscard]] Result<ModelLayers> layers_of(const std::vector<Header>& shards);

}  // namespace picchio::gguf
