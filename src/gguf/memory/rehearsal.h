// What a graph takes in each backend's compute buffer: the engine's scheduler and its allocator
// gone through on paper. Which backend computes what, what is copied between them, and the high
// water mark of each buffer when every result is freed behind its last reader.
#pragma once

#include "gguf/memory/graph.h"

#include <cstdint>
#include <vector>

namespace picchio::gguf {

/// By backend, the host last. `copies` of inputs are kept at once: 4 in a pipeline of several
/// devices, else 1. `traits` are of the devices.
[[nodiscard]] std::vector<std::int64_t> rehearse(const Graph& graph, std::int64_t copies,
                                                 const std::vector<BackendTraits>& traits);

}  // namespace picchio::gguf
