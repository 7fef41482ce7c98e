// What the driver tells of single processes.
#pragma once

#include "meters/nvml/library.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace picchio::meters::nvml {

/// Bytes of an entry in a list of running processes: 16, 24 or 32. Drivers 535.43 to 535.86 wrote
/// 32 under the name under which others write 24, and no field tells, so it is read off what they
/// wrote: `buffer` was filled with kUntouched before the call. Absent when it fits no known size.
[[nodiscard]] std::optional<std::size_t> entry_bytes(std::span<const std::byte> buffer,
                                                     std::size_t count);
inline constexpr std::byte kUntouched{0xAA};

struct ProcessMemory {
  int pid = 0;                        // the driver's
  std::optional<std::int64_t> bytes;  // absent: the driver does not know
};

/// Processes with a context on the device, each once. The same memory stands in the list of
/// computing and in that of drawing processes, so it is the larger one, not the sum; parts of a
/// MIG device are added up. `code` tells why when there is no list at all.
struct ProcessList {
  abi::Return code = abi::kSuccess;
  std::vector<ProcessMemory> rows;
};
[[nodiscard]] ProcessList list_processes(const Functions& functions, abi::Device device);

/// Percent of the device's time for each process (the driver's pid) since the newest sample that
/// was seen before. Entries that cannot be (pids, percentages, stamps) are left out; drivers hand
/// out such ones. The first answer is an average over all that the driver remembers, so it is
/// thrown away.
class ProcessBusy {
 public:
  struct Answer {
    abi::Return code = abi::kSuccess;  // kNotFound: no sample since, often because nothing ran
    std::map<int, double> percent;
  };
  [[nodiscard]] Answer ask(const Functions& functions, abi::Device device);

 private:
  unsigned long long last_seen_ = 0;
};

}  // namespace picchio::meters::nvml
