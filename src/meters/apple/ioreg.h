// The IO registry by running Apple's program ioreg, for where IOKit's calls cannot be had.
#pragma once

#include "base/result.h"
#include "meters/apple/source.h"
#include "meters/meter.h"

#include <memory>

namespace picchio::meters::apple {

/// Runs it at most twice a second: a run costs 15 ms and more. Errors: not_found, there is no such
/// program, or `place` has no interrupts to stop it by; any other kind, it tells nothing.
[[nodiscard]] Result<std::unique_ptr<Source>> open_ioreg(const Place& place);

}  // namespace picchio::meters::apple
