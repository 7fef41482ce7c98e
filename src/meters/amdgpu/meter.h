// AMD GPUs under Linux, by what the amdgpu driver shows in sysfs: load, memory, power and energy of
// each card, and by DRM's and KFD's accounts what single processes use. Compute through ROCm shows
// as memory only: nothing counts its time for each process.
#pragma once

#include "meters/meter.h"

namespace picchio::meters::amdgpu {

[[nodiscard]] Result<std::unique_ptr<Meter>> probe(const Place& place);

}  // namespace picchio::meters::amdgpu
