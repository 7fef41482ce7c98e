// Where the meters of this machine are looked for.
#pragma once

#include "meters/meter.h"

namespace picchio {

/// The system, with the NVML library that the variable PICCHIO_NVML names in place of its own.
[[nodiscard]] meters::Place meter_place();

}  // namespace picchio
