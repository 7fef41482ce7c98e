// Intel GPUs under Linux, with either kernel driver: i915 (Arc A and all before) or xe. Neither
// tells the load or the memory of the whole device without privileges. What it does tell: the time
// and memory of single processes (fdinfo), how long the GPU was powered down within (an upper bound
// of its load), the clock, and the energy of discrete cards.
#pragma once

#include "meters/meter.h"

namespace picchio::meters::intel {

[[nodiscard]] Result<std::unique_ptr<Meter>> probe(const Place& place);

}  // namespace picchio::meters::intel
