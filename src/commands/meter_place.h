// Where the meters look on this machine.
#pragma once

#include "meters/meter.h"

namespace picchio {

/// The real one, with the libnvidia-ml.so.1 that PICCHIO_NVML names, if any.
[[nodiscard]] meters::Place meter_place();

}  // namespace picchio
