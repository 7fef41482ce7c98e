// Peak memory bandwidth of devices by the names that engines, drivers and meters print, from
// data/bandwidth.csv. Pure: the table is part of the program. Columns:
//
//   name        as the driver prints it
//   gb_per_s    10^9 bytes per second, theoretical peak
//   memory      own: the device's; shared: the system's
//   gib         where a name was sold with several memories: the one of this row
//   size_gib    what every device of the row was sold with; empty: several sizes, or not certain
//   gpu_cores   as gib for Apple's, which are told apart by their GPU cores
//   confidence  checked; general: from general knowledge of the specification, not checked against
//               a second source; low: several variants have this name, or it depends on the memory
//               that is fitted, and the row holds the most that is plausible
//   source      where the figure is from, in words; no field holds a comma
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class Confidence { checked, general, low };

struct BandwidthRow {
  std::string name;
  double bytes_per_second = 0;
  bool own_memory = true;
  std::optional<std::int64_t> memory_gib;
  std::optional<std::int64_t> size_gib;
  std::optional<int> gpu_cores;
  Confidence confidence = Confidence::checked;
  std::string source;
  std::vector<std::string> words;  // of the name, as it is compared
};

[[nodiscard]] Result<std::vector<BandwidthRow>> parse_bandwidth_table(std::string_view text);

/// The product's own table.
[[nodiscard]] const std::vector<BandwidthRow>& bandwidth_table();

struct MemoryPeak {
  double bytes_per_second = 0;
  std::string row;         // its name in the table
  bool own_memory = true;  // false: shared with the CPU
  /// Of its memory, by the data sheet. Absent: several sizes have this name, or nobody knows.
  std::optional<std::int64_t> size_bytes;
  /// False: several devices have this name, and this is the most that any of them reads.
  bool sure = true;
};

/// Absent where no row is certain to speak of this device: every word of `name` has to be
/// accounted for, so that an "RTX 4090 Laptop GPU" is never an RTX 4090. `memory_bytes` and
/// `gpu_cores` tell models of one name apart. A name that joins several models ("RX 7900 XT/7900
/// XTX") gets the fastest one's peak, unsure.
[[nodiscard]] std::optional<MemoryPeak> find_peak(
    std::string_view name, std::optional<std::int64_t> memory_bytes = std::nullopt,
    std::optional<int> gpu_cores = std::nullopt);

/// Whether two names can be one model's: equal but for vendors' words and the like.
[[nodiscard]] bool same_device_name(std::string_view a, std::string_view b);

}  // namespace picchio
