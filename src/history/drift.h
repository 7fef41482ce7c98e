// Whether a run fell outside what the same model gave here before. Pure.
#pragma once

#include "evidence/comparison.h"
#include "evidence/stored_run.h"

#include <optional>
#include <span>
#include <vector>

namespace picchio::history {

/// Of fewer no spread is known.
inline constexpr std::size_t kFewestEarlierRuns = 3;
/// The spread is that of the last ones: over years every figure was seen once.
inline constexpr std::size_t kMostEarlierRuns = 20;

/// Lanes of `now` outside the spread of `earlier`, which are runs of the same model, protocol and
/// machine, at most kMostEarlierRuns, newest first.
///
/// The spread of a lane goes from the lowest to the highest warm pass of the earlier runs. Three
/// runs have seen little of it, so a median is outside when it is away from it by more than half
/// its width, and by more than kLeastDistance of its edge.
[[nodiscard]] std::vector<DriftedLane> drifted_lanes(std::span<const StoredRow> earlier,
                                                     const RunFigures& now);

/// Steps of a clock and rounding: repeated runs of an idle machine differ by as much.
inline constexpr double kLeastDistance = 0.01;

/// Of the conditions that differ between two runs the first that explains rates, causes before what
/// they cause: a new driver before the placement that it spoiled. Absent: none that is recorded.
[[nodiscard]] std::optional<ComparedCondition> first_change(
    std::span<const ComparedCondition> conditions);

}  // namespace picchio::history
