// The memory of the process that computes, over the probes of a monitor: which shape has it, and
// what did its bytes buy? Pure.
#pragma once

#include "evidence/monitored.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace picchio {

/// Points of weeks in bounded memory. When it is full, of every four neighbours the lowest and the
/// highest stay, and later points are thinned alike: every point is one that was measured, and the
/// first, the lowest, the highest and the last are always among them.
class ResidencySeries {
 public:
  static constexpr std::size_t kMostPoints = 512;

  /// In the order of time. A negative number of bytes is none and is left out.
  void add(ResidencyPoint point);

  [[nodiscard]] std::span<const ResidencyPoint> points() const { return points_; }

 private:
  void settle_last();
  void thin_out();

  std::vector<ResidencyPoint> points_;  // the last is the latest, whatever the thinning
  std::size_t group_ = 2;     // so many points at a time are thinned to their two extremes
  std::size_t in_group_ = 0;  // of the group that is being filled: points that it has seen
  std::size_t kept_ = 0;      // and those of it that stand before the last point
};

/// `weight_bytes`: on disk, of all the model's files. The resident bytes are those of the whole
/// process, so they tell the most that can be in memory of the weights, never the least; and
/// weights that a GPU holds need not be in memory at all, so no share is called a fault.
[[nodiscard]] ResidencyReport judge_residency(const ResidencySeries& series,
                                              std::optional<std::int64_t> weight_bytes);

}  // namespace picchio
