// What `picchio --json` printed, this tool's or the established one's: "picchio.diagnose.v1". Pure.
#pragma once

#include "base/result.h"
#include "evidence/figures.h"

#include <string_view>

namespace picchio::results {

[[nodiscard]] Result<RunFigures> read_run_json(std::string_view text);

}  // namespace picchio::results
