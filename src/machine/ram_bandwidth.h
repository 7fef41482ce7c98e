// How fast this machine's processor reads its memory, measured: nobody can read the speed of
// memory modules without root, and in a virtual machine nobody at all.
#pragma once

#include "base/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace picchio {

/// How to measure here.
struct RamProbe {
  std::int64_t bytes = 0;  // of the buffer that is read
  int threads = 1;
  std::chrono::milliseconds patience{700};  // rounds begin for so long, three of them at least
};

/// A thread for each physical core that this process may use, and a buffer far larger than the
/// caches, at most an eighth of the memory that is available. An error: there is too little of it.
[[nodiscard]] Result<RamProbe> plan_ram_probe(const std::string& root = "/");

/// Bytes per second of the best round in which every thread sums its part of the buffer, about a
/// second in all. Rounds in which somebody else had the cores do not count: an error when there was
/// no other. `keep_going` is asked every few milliseconds; once it says no, an error of kind
/// interrupted follows within as many.
[[nodiscard]] Result<double> measure_ram_bandwidth(const RamProbe& probe,
                                                   const std::function<bool()>& keep_going);

}  // namespace picchio
