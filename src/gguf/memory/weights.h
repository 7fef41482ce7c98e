// Bytes of weights on the host and on each device.
#pragma once

#include "base/result.h"
#include "gguf/memory/layers.h"
#include "gguf/memory/placement.h"

#include <cstdint>
#include <vector>

namespace picchio::gguf {

struct Weights {
  std::int64_t host = 0;      // as they are in the file: mapped, or read
  std::int64_t repacked = 0;  // in the host's own layout
  std::vector<std::int64_t> devices;
};

/// Blocks of next-token prediction are not loaded. The embedding always stays on the host; where it
/// serves as the head too, a head elsewhere is a second copy.
[[nodiscard]] Result<Weights> weights_of(const ModelLayers& model, const Placed& where,
                                         const Placement& placement);

}  // namespace picchio::gguf
