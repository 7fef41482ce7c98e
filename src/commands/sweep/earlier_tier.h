// Sizes of a sweep that this machine measured before.
#pragma once

#include "base/result.h"
#include "evidence/stored_run.h"

#include <chrono>
#include <optional>

namespace picchio {

/// Older ones are measured again: drivers, clocks and rooms change.
inline constexpr std::chrono::hours kEarlierTierAge{24};

/// The newest run of `like`'s model with its protocol on its machine, if it is no older than a day
/// and had the same engine, build, arguments and weights. `like` is what was measured just now.
[[nodiscard]] Result<std::optional<StoredRun>> earlier_tier(const RecordedRun& like,
                                                            const std::string& protocol);

/// The two ran alike, but for what they asked. A verdict of before stands only where today's is the
/// same, or HEALTHY (a large size may have fallen where a short prompt does not): yesterday's
/// HEALTHY must not speak for a GPU that was lost since, nor for one of which nothing can be told
/// now. Pure.
[[nodiscard]] bool same_setting(const RecordedRun& before, const RecordedRun& now);

}  // namespace picchio
