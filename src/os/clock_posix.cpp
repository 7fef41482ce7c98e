#include "os/clock.h"

#include <time.h>

namespace picchio::os {

Micros monotonic_now() {
  // Not steady_clock: its epoch is the library's business, and the supervisor's stamps cross a
  // pipe.
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::duration_cast<Micros>(std::chrono::seconds(now.tv_sec) +
                                            std::chrono::nanoseconds(now.tv_nsec));
}

std::chrono::sys_time<Micros> wall_clock() {
  return std::chrono::floor<Micros>(std::chrono::system_clock::now());
}

}  // namespace picchio::os
