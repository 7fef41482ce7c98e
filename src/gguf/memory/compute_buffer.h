// Bytes of the buffers that a graph's intermediate results are computed in.
#pragma once

#include "base/result.h"
#include "gguf/memory/context.h"
#include "gguf/memory/layers.h"
#include "gguf/memory/placement.h"

#include <cstdint>
#include <vector>

namespace picchio::gguf {

struct ComputeBuffers {
  std::int64_t host = 0;
  std::vector<std::int64_t> devices;
};

[[nodiscard]] Result<ComputeBuffers> compute_buffers(const ModelLayers& model,
                                                     const Context& context, const Placed& where,
                                                     const Placement& placement);

}  // namespace picchio::gguf
