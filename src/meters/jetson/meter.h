// NVIDIA's Jetson boards, whose GPU is part of the chip: no PCI function, and on most of them NVML
// tells little. The driver (nvgpu) shows its load in a file of its own. Memory is the system's.
#pragma once

#include "meters/meter.h"

namespace picchio::meters::jetson {

[[nodiscard]] Result<std::unique_ptr<Meter>> probe(const Place& place);

}  // namespace picchio::meters::jetson
