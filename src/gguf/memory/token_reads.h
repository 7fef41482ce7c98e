// Bytes that one decoded token reads from each memory, from a model's header. Pure.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/memory/context.h"
#include "gguf/memory/placement.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio::gguf {

/// Of one memory.
struct MemoryReads {
  std::int64_t bytes = 0;    // of weights, cache and state
  std::int64_t weights = 0;  // how many numbers those weights are: each is multiplied once
  /// Of them the output layer's, which a prompt wants for its last token only.
  std::int64_t head_weights = 0;
  /// Multiplications of attention with what is in the cache. Of a narrow head they count as the
  /// more that they cost.
  std::int64_t products = 0;
};

struct TokenReads {
  /// ggml's name of what most weights are but the output layer's: how fast a prompt is computed
  /// depends on it. Empty: there are none.
  std::string main_type;
  MemoryReads host;
  std::vector<MemoryReads> devices;  // as in the placement
};

/// Of one sequence with `depth` tokens in the cache: the weights that a token uses, where they lie,
/// the part of the cache that is filled and seen, and the recurrent state. Errors as of forecast().
[[nodiscard]] Result<TokenReads> token_reads(const std::vector<Header>& shards,
                                             const ContextSettings& settings,
                                             const Placement& placement, std::int64_t depth);

}  // namespace picchio::gguf
