// The machine that a run is measured on.
#pragma once

#include "evidence/machine.h"

namespace picchio {

/// As read_machine() tells it, with the links between its card and an engine that are broken: files
/// are read, which takes some milliseconds and wakes no card.
[[nodiscard]] Machine this_machine();

}  // namespace picchio
