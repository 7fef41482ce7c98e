// How much of a process is in memory: the pages of a mapped model come and go without its asking.
#pragma once

#include "evidence/monitored.h"

#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// Of "/proc/PID/status". Pure. Absent: a kernel thread or one that has ended (no VmRSS), a kernel
/// before 4.5 (no RssFile), numbers that are none. No VmSwap: a kernel without swap, so nothing is
/// swapped. The kernel sums these lazily: they may be off by some hundred KiB.
[[nodiscard]] std::optional<Residency> parse_residency(std::string_view status);

/// Of that process alone, without its children. Absent: it is gone, or there is no /proc.
[[nodiscard]] std::optional<Residency> residency_of(const std::string& root, int pid);

}  // namespace picchio
