// Test support.
#pragma once

#include "evidence/gpu_reading.h"

#include <algorithm>
#include <string>

namespace picchio::meters {

/// Why a figure is missing; empty when it is not listed as such.
inline std::string reason(const MeteredGpu& gpu, GpuFigure figure) {
  const auto found = std::ranges::find(gpu.missing, figure, &MissingFigure::figure);
  return found == gpu.missing.end() ? "" : found->reason;
}

}  // namespace picchio::meters
