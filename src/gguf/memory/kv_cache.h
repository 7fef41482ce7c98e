// Bytes of what a context keeps between tokens: keys and values, and recurrent state.
#pragma once

#include "base/result.h"
#include "gguf/memory/context.h"
#include "gguf/memory/layers.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// One cache as the engine lists them.
struct CachePart {
  std::string_view kind;  // "keys and values", "sliding", "indexer" ...
  std::int64_t cells = 0;
  std::int64_t streams = 0;
  std::int64_t layers = 0;
  std::int64_t bytes = 0;
};

struct Caches {
  std::vector<std::int64_t> kv_of_layer;     // of each layer, all its parts
  std::vector<std::int64_t> state_of_layer;  // the same of recurrent state
  std::vector<CachePart> parts;              // over all layers; none without a layer
};

inline constexpr std::string_view kFullCache = "full";
inline constexpr std::string_view kSlidingCache = "sliding";
inline constexpr std::string_view kIndexerCache = "indexer";
inline constexpr std::string_view kCompressedCache = "compressed";
inline constexpr std::string_view kHighlyCompressedCache = "highly compressed";

[[nodiscard]] Result<Caches> caches_of(const ModelLayers& model, const Context& context);

}  // namespace picchio::gguf
