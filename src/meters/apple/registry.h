// The IO registry by IOKit's calls.
#pragma once

#include "base/result.h"
#include "meters/apple/library.h"
#include "meters/apple/source.h"

#include <functional>
#include <memory>
#include <vector>

namespace picchio::meters::apple {

/// `functions` must read the registry and live as long as what this returns. Error: not_found, it
/// has no accelerator.
[[nodiscard]] Result<std::unique_ptr<Source>> open_registry(const Functions& functions,
                                                            std::function<Micros()> now);

/// MHz of the GPU's performance states, slowest first, from the power manager's table; empty where
/// there is none.
[[nodiscard]] std::vector<double> gpu_clocks(const Functions& functions);

/// Pure: of a table of pairs of 32-bit numbers, least byte first, the first ones from the second
/// pair on (the first pair is "off"), in MHz. They are Hz on some chips and kHz on others. Empty:
/// it is no such table.
[[nodiscard]] std::vector<double> clocks_of_table(std::span<const unsigned char> table);

}  // namespace picchio::meters::apple
