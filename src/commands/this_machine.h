// The machine that a run is measured on.
#pragma once

#include "evidence/machine.h"

namespace picchio {

/// As read_machine() tells it, with the links between its card and an engine that are broken: files
/// are read and device nodes opened, which takes some milliseconds.
[[nodiscard]] Machine this_machine();

}  // namespace picchio
