// What the verdict, the report and the inventory of the machine must say alike of metered GPUs.
#pragma once

#include "evidence/gpu_use.h"

#include <string_view>

namespace picchio {

/// Whose GPUs a meter reads: "NVIDIA", "AMD", "Intel", "Apple"; empty: several vendors'.
[[nodiscard]] constexpr std::string_view vendor_of_meter(std::string_view meter) {
  struct Row {
    std::string_view meter;
    std::string_view vendor;
  };
  constexpr Row kRows[] = {{"nvml", "NVIDIA"},
                           {"jetson", "NVIDIA"},
                           {"amdgpu", "AMD"},
                           {"intel", "Intel"},
                           {"apple", "Apple"}};
  for (const Row& row : kRows) {
    if (meter == row.meter) return row.vendor;
  }
  return {};
}

/// At fewer looks than a quarter the slowing was a moment, not the run.
[[nodiscard]] constexpr bool often_throttled(const GpuUse& use) {
  constexpr double kOftenThrottled = 0.25;
  return use.throttled_share >= kOftenThrottled;
}

/// Of a GPU whose memory did not hold it all; a driver parks a few MiB of anybody's.
[[nodiscard]] inline bool overflowed(const GpuUse& use) {
  constexpr std::int64_t kEvictedMatters = 64LL * 1024 * 1024;
  return use.tree_evicted.value_or(0) > kEvictedMatters;
}

}  // namespace picchio
