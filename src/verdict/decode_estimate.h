// How fast a model could decode, from the bytes that a token reads and the memories that hold them.
// An estimate before any run. Pure.
#pragma once

#include "evidence/plan.h"
#include "verdict/own_runs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// One memory that a token reads from. Its speed is by own runs, else by its peak.
struct ReadMemory {
  std::int64_t bytes_per_token = 0;
  std::optional<double> peak_bytes_per_second =
      std::nullopt;  // a device's by its data sheet, the host's measured
  bool host = false;
  std::string name = {};
  std::int64_t weights_per_token = 0;
  std::int64_t products_per_token = 0;
  std::optional<FittedSpeed> own = std::nullopt;  // rules where it is there
};

/// Of a device's theoretical peak, healthy runs reached so much of it.
inline constexpr double kLeastOfPeak = 0.43;
inline constexpr double kMostOfPeak = 0.93;
/// Of what a plain sum over all cores reads from RAM. The most: decode reached 54 % of the
/// theoretical peak where the sum reached 75 % (roofline.h). The least is assumed, for few cores
/// that spend longer on the arithmetic than on reading; nobody has measured it.
inline constexpr double kLeastOfSum = 0.25;
inline constexpr double kMostOfSum = 0.8;

/// However fast a GPU's memory is, launching the kernels of a token takes so long (roofline.h).
inline constexpr double kLeastLaunch = 0.001;  // seconds
inline constexpr double kMostLaunch = 0.002;

/// The memories are read one after the other. Absent: a memory that is read has no known speed, or
/// nothing is read.
[[nodiscard]] std::optional<DecodeRate> decode_rate(const std::vector<ReadMemory>& memories,
                                                    std::int64_t depth);

}  // namespace picchio
