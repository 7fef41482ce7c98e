// The parts of a run that every form of `share` is made of: plain() text, "n/a" for what is not
// known. Private to share*.cpp.
#pragma once

#include "results/share.h"

#include <string>
#include <string_view>

namespace picchio::results {

inline constexpr std::string_view kNotKnown = "n/a";

[[nodiscard]] std::string model_text(const SharedRun& run);
[[nodiscard]] std::string quant_text(const SharedRun& run);
/// Of the file, or of a kept run that had its header: a block's rounded figures give no second
/// digit.
[[nodiscard]] std::string bits_text(const SharedRun& run);
[[nodiscard]] std::string sha_text(const SharedRun& run);              // twelve digits
[[nodiscard]] std::string engine_text(const RunFigures& run);          // "llama.cpp b9430"
[[nodiscard]] std::string machine_text(const RunFigures& run);         // "Apple M5, 32 GB"
[[nodiscard]] std::string context_text(const RunFigures& run);         // "4096"
[[nodiscard]] std::string kv_text(const RunFigures& run);              // "f16/f16"
[[nodiscard]] std::string settings_text(const RunFigures& run);        // "temp 0.8, top-k 40, ..."
[[nodiscard]] std::string headline(const RunFigures& run, Lane lane);  // "21.1", "21.0 (cold)"
[[nodiscard]] std::string verdict_text(const SharedRun& run);
[[nodiscard]] std::string protocol_text(const RunFigures& run);  // "mp1"

}  // namespace picchio::results
