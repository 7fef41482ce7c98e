// The machine a run was measured on, as far as it tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// A GPU that the operating system knows of, driver or not.
struct MachineGpu {
  std::string name;     // vendor and ids, or the driver's name: "NVIDIA 10de:2684 (driver nvidia)"
  std::string vendor;   // "NVIDIA", "AMD", "Intel", "Apple", ...; empty when unknown
  std::string address;  // "0000:61:00.0"; empty for non-PCI
  std::string driver;   // kernel driver bound to it; empty: none
  std::string source;   // the file or node that shows it
  bool can_compute = true;  // false: a display adapter of a virtual machine or a server's BMC
  std::string
      no_compute_reason;  // why not: "the display adapter of a virtual machine"; empty when true
};

/// A link between card and engine that is broken, as `picchio doctor` tells it.
struct BrokenLink {
  std::string cause;  // as in the catalogue
  std::string found;
  std::string remedy;
};

/// Memory modules as the firmware's table (SMBIOS) lists them.
struct MemoryModules {
  int slots = 0;
  int filled = 0;
};

struct Machine {
  std::string chip;          // CPU model name
  std::string os;            // "Linux 6.1.0-18-amd64"
  std::string distribution;  // "debian" for it and what descends from it; empty: another, unknown
  std::optional<std::int64_t> ram_bytes;
  std::optional<int> logical_cores;
  std::vector<MachineGpu> gpus;
  /// True when every place to look was readable; false: gpus may be incomplete (a sandbox hides
  /// /sys).
  bool gpus_known = false;
  std::string gpus_unknown_reason;
  std::vector<BrokenLink> broken_links;  // in the chain's order; empty: none, or nobody looked
  /// What all cores together read from memory, measured with a plain sum: the memory itself may do
  /// better, never worse.
  std::optional<double> ram_bytes_per_second;
  std::optional<MemoryModules> memory_modules;         // absent: soldered, or only root may read it
  std::optional<std::int64_t> last_level_cache_bytes;  // of all sockets and clusters together
};

/// A GPU that an engine could have used, or null.
[[nodiscard]] const MachineGpu* usable_gpu(const Machine& machine);

}  // namespace picchio
