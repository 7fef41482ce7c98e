// The one clock of every interval.
#pragma once

#include "base/time.h"

namespace picchio::os {

/// Time since an arbitrary moment of this boot; steps never, and is the same clock in every
/// process, so that a child's stamps can be compared with ours. Only differences mean anything.
[[nodiscard]] Micros monotonic_now();

/// The calendar's, for records that outlive their run. Steps when somebody sets it.
[[nodiscard]] std::chrono::sys_time<Micros> wall_clock();

}  // namespace picchio::os
