// Cuts the meters' recording by the windows of the passes. Pure.
#pragma once

#include "evidence/run.h"

#include <vector>

namespace picchio {

/// A row for each GPU that was recorded, in_use left false; empty when nothing was recorded or no
/// pass says where it lies on the recording's clock.
[[nodiscard]] std::vector<GpuUse> gpu_use_of(const RawRun& raw, const std::vector<Pass>& passes);

}  // namespace picchio
