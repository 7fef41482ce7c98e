// What the meters know of a machine's GPUs, added to what its files show. Pure.
#pragma once

#include "evidence/gpu_reading.h"
#include "evidence/machine.h"

#include <span>

namespace picchio {

/// A driver that meters a GPU proves it, also where no file shows one (a sandbox, WSL); one that
/// both know gets the name on its box instead of its PCI ids.
void add_metered_gpus(Machine& machine, std::span<const MeteredGpu> gpus);

}  // namespace picchio
