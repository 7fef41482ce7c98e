// Compares two runs by their figures. Pure.
#pragma once

#include "evidence/comparison.h"
#include "evidence/figures.h"

#include <optional>

namespace picchio::results {

/// `tolerance`: a relative difference that is not one, for every lane. Absent: the runs' own
/// spread, which is the sum of both ranges over their medians, never below kLeastSpread;
/// kUnknownSpread where one of them has a single warm pass or none.
[[nodiscard]] Comparison compare(const RunFigures& a, const RunFigures& b,
                                 std::optional<double> tolerance);

// Clocks that step and rounding to one digit: repeated runs of one idle machine differ by as much.
inline constexpr double kLeastSpread = 0.01;
// Between runs of one machine minutes apart, most of what is seen stays within this.
inline constexpr double kUnknownSpread = 0.05;

}  // namespace picchio::results
