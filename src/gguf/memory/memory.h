// What llama.cpp will allocate for a model, from its header alone. Measured against llama.cpp 0.7.0
// (docs/plan-accuracy.md). Not in it: what a GPU's driver takes for itself.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/memory/context.h"
#include "gguf/memory/kv_cache.h"
#include "gguf/memory/placement.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio::gguf {

struct MemoryUse {
  std::int64_t weights = 0;
  std::int64_t kv_cache = 0;
  std::int64_t recurrent_state = 0;
  std::int64_t compute_buffer = 0;
  std::int64_t output_buffer = 0;

  [[nodiscard]] std::int64_t total() const {
    return weights + kv_cache + recurrent_state + compute_buffer + output_buffer;
  }
};

struct MemoryForecast {
  MemoryUse host;
  std::vector<MemoryUse> devices;  // as in the placement
  MemoryUse all;                   // the sum of both
  std::int64_t repacked = 0;       // of the host's weights: in its own layout
  Context context;
  std::vector<CachePart> caches;
  std::vector<std::string> guesses;  // what of it is a guess, in sentences; empty for none
};

/// `shards` are all files of one model, in order. Errors are what makes an engine refuse the model
/// or the settings, and numbers that pass 2^63.
[[nodiscard]] Result<MemoryForecast> forecast(const std::vector<Header>& shards,
                                              const ContextSettings& settings,
                                              const Placement& placement);

}  // namespace picchio::gguf
