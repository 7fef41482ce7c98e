// What machine this is. Reads /proc, /sys and /dev under `root`; nothing is started or opened for
// writing. The GPUs decide between "this machine has none" and "the CPU did the work although it
// has one", so a card counts without a driver, and what could not be looked at is said, not assumed
// away.
#pragma once

#include "evidence/machine.h"

#include <string>

namespace picchio {

/// Fields that cannot be read stay empty or absent.
[[nodiscard]] Machine read_machine(const std::string& root = "/");

}  // namespace picchio
