// Bytes that one decoded token reads from each memory, from a model's header. Pure.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/memory/context.h"
#include "gguf/memory/placement.h"

#include <cstdint>
#include <vector>

namespace picchio::gguf {

struct TokenReads {
  std::int64_t host = 0;
  std::vector<std::int64_t> devices;  // as in the placement
};

/// Of one sequence with `depth` tokens in the cache: the weights that a token uses, where they lie,
/// the part of the cache that is filled and seen, and the recurrent state. Errors as of forecast().
[[nodiscard]] Result<TokenReads> token_reads(const std::vector<Header>& shards,
                                             const ContextSettings& settings,
                                             const Placement& placement, std::int64_t depth);

}  // namespace picchio::gguf
