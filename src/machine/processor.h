// How the processor is laid out, and how much memory one may use beside what runs. Under `root`, as
// inventory.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace picchio {

/// Absent: not told, as in many virtual machines.
struct Processor {
  std::optional<int> physical_cores;
  std::optional<std::int64_t> last_level_cache_bytes;  // all of that level together
};
[[nodiscard]] Processor read_processor(const std::string& root = "/");

/// Bytes that can be had without pushing anything out but file caches, by the kernel's estimate and
/// by the limits of the control groups that this process is in.
[[nodiscard]] std::optional<std::int64_t> available_memory(const std::string& root = "/");

}  // namespace picchio
