#pragma once

#include <chrono>

namespace picchio {

/// Every interval and stamp inside a run: microseconds of steady_clock since the engine was
/// started.
using Micros = std::chrono::microseconds;

[[nodiscard]] constexpr double seconds(Micros interval) {
  return std::chrono::duration<double>(interval).count();
}

}  // namespace picchio
