// A short look of the meters, without an engine to watch.
#pragma once

#include "evidence/telemetry.h"
#include "os/signals.h"

#include <chrono>

namespace picchio {

/// Two samples, since some figures are differences and a driver's first answer is often an old one;
/// fewer where a driver takes longer than `patience`. In a thread, since a driver can hang. Without
/// `interrupts` a meter that would run a program is left out.
[[nodiscard]] Telemetry look_twice(const os::Interrupts* interrupts, std::chrono::seconds patience);

}  // namespace picchio
