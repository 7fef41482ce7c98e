// Tables of llama-bench, as -o json, jsonl, csv and md print them. Pure.
#pragma once

#include "base/result.h"
#include "evidence/figures.h"

#include <string_view>
#include <vector>

namespace picchio::results {

/// Whether `text` looks like one of its tables.
[[nodiscard]] bool is_bench(std::string_view text);

/// One run for each configuration: its prompt test is prefill (the longest prompt at depth 0), its
/// generation test decode. A figure's standard deviation on either side is its span. The layers
/// asked for are an argument, no placement: llama-bench does not say what was offloaded.
[[nodiscard]] Result<std::vector<RunFigures>> read_bench(std::string_view text);

}  // namespace picchio::results
