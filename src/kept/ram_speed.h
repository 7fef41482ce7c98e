// How fast this machine reads its memory, so that it is measured once and not before every run. In
// ram-speed.json under the cache folder, a record for each machine that shares the folder.
//
// Two picchios at once lose at most the record that one of them adds: each
// renames a whole file over the old one, and the last one wins.
#pragma once

#include "base/result.h"
#include "evidence/machine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::kept {

/// What was measured, and of which machine: another chip, other modules or another kernel is
/// measured again.
struct RamSpeed {
  std::string chip;
  std::string os;  // with the kernel's release
  std::int64_t ram_bytes = 0;
  double bytes_per_second = 0;
};

inline constexpr std::size_t kMostRamSpeeds = 16;

/// Pure. The newest first; at most kMostRamSpeeds, the oldest out.
[[nodiscard]] std::vector<RamSpeed> with_ram_speed(std::vector<RamSpeed> speeds, RamSpeed speed);
[[nodiscard]] std::string ram_speeds_to_json(const std::vector<RamSpeed>& speeds);
[[nodiscard]] Result<std::vector<RamSpeed>> ram_speeds_from_json(std::string_view text);

/// Absent: this machine was not measured, or does not tell its RAM. A file that cannot be read as
/// ours is an error of kind malformed.
[[nodiscard]] Result<std::optional<double>> recall_ram_speed(const std::string& cache_folder,
                                                             const Machine& machine);

/// A file of ours that cannot be read is moved aside first; `note` then says so.
[[nodiscard]] Result<> remember_ram_speed(const std::string& cache_folder, const Machine& machine,
                                          double bytes_per_second, std::string* note = nullptr);

}  // namespace picchio::kept
