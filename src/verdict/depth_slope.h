// What depth costs: the slope of a sweep over context sizes. Pure.
#pragma once

#include "evidence/sweep.h"

#include <cstdint>
#include <optional>
#include <span>

namespace picchio {

/// A pass: so many tokens in the cache, and how fast it was.
struct DepthRate {
  std::int64_t depth = 0;
  double tokens_per_second = 0;
};

/// Absent: fewer than two depths.
[[nodiscard]] std::optional<DepthSlope> depth_slope(std::span<const DepthRate> all);

/// Fills the slopes from the tiers that are placed like the first one that has figures.
void add_slopes(Sweep& sweep);

}  // namespace picchio
