// The GPUs that a Linux kernel knows of, with or without a driver.
#pragma once

#include "evidence/machine.h"

#include <string>

namespace picchio {

/// Fills `gpus`, `gpus_known` and `gpus_unknown_reason`. A card that shows in several places (PCI,
/// DRM, a device node) is listed once, from the first of them; usable ones come first.
void find_gpus(const std::string& root, Machine& machine);

}  // namespace picchio
