// NVIDIA GPUs, as NVIDIA's driver tells of them through its management library NVML. It knows each
// card's load, memory, power and, on newer cards, energy, and names the processes that use it. It
// needs no rights. What it cannot tell differs by board and place: unified-memory boards tell no
// memory, MIG parts no utilisation, Windows' driver model and foreign containers no processes; each
// such figure is named as missing, with the reason.
#pragma once

#include "meters/meter.h"
#include "meters/nvml/gpu.h"

namespace picchio::meters::nvml {

/// See Probe. A GPU that sleeps to save power is listed and left asleep until something else wakes
/// it. One that NVML may not open is listed too, with the reason at every figure.
[[nodiscard]] Result<std::unique_ptr<Meter>> probe(const Place& place);

/// Same with another patience, for tests.
[[nodiscard]] Result<std::unique_ptr<Meter>> open(const Place& place, Patience patience);

}  // namespace picchio::meters::nvml
