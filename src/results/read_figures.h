// Figures of runs out of any text that holds some: pasted blocks, what --json printed, tables of
// llama-bench. Pure.
#pragma once

#include "base/result.h"
#include "evidence/figures.h"

#include <string_view>
#include <vector>

namespace picchio::results {

/// In the order of the text. An error where there are none, or what there is cannot be read.
[[nodiscard]] Result<std::vector<RunFigures>> read_figures(std::string_view text);

}  // namespace picchio::results
