// A sweep over context sizes, for people and programs. Pure.
#pragma once

#include "evidence/sweep.h"

#include <string>

namespace picchio {

/// The table, a plot of decode over depth, the slopes and the verdicts; ends in a newline.
[[nodiscard]] std::string sweep_text(const Sweep& sweep);

/// Schema "picchio.sweep.v1"; docs/json.md.
[[nodiscard]] std::string sweep_json(const Sweep& sweep, int exit_code);

/// The tier whose verdict is the worst; null: none has one.
[[nodiscard]] const SweepTier* worst_tier(const Sweep& sweep);

}  // namespace picchio
