// Where the meters of this machine are looked for.
#pragma once

#include "meters/meter.h"
#include "os/signals.h"

namespace picchio {

/// The system, with the libraries that the variables PICCHIO_NVML and PICCHIO_APPLE_LIBRARIES name
/// in place of its own. `interrupts` outlives the meters; null: no meter that runs a program is
/// used.
[[nodiscard]] meters::Place meter_place(const os::Interrupts* interrupts);

}  // namespace picchio
