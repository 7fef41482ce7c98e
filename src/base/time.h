#pragma once

#include <chrono>
#include <cstdint>

namespace picchio {

/// Every interval and stamp inside a run: microseconds of steady_clock since the engine was
/// started.
using Micros = std::chrono::microseconds;

[[nodiscard]] constexpr double seconds(Micros interval) {
  return std::chrono::duration<double>(interval).count();
}
[[nodiscard]] constexpr Micros micros(double seconds) {
  return Micros(static_cast<std::int64_t>(seconds * 1e6));
}

}  // namespace picchio
