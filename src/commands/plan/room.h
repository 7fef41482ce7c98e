// What memory a plan has: of this machine just now, or as the user says.
#pragma once

#include "base/result.h"
#include "evidence/machine.h"
#include "os/signals.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

struct RoomWish {
  std::string vram;  // "24" or "24,12", GiB; empty: this machine's
  std::string gpu;   // a name of the bandwidth table; empty: this machine's
  std::optional<double> ram_gib;
  bool cpu_only = false;
};

/// A GPU to plan for.
struct RoomDevice {
  std::string name;
  std::int64_t free_bytes = 0;
  std::optional<double> peak_bytes_per_second;
};

struct PlanRoom {
  std::vector<RoomDevice> devices;  // none: all goes to the host
  std::optional<std::int64_t> host_free;
  bool shared = false;  // the devices' memory is the host's
  std::string from;     // where the devices' figures are from, in words
  std::vector<std::string> notes;
};

/// Errors: a size or a name that means nothing; interrupted.
[[nodiscard]] Result<PlanRoom> find_room(const RoomWish& wish, const os::Interrupts& interrupts);

}  // namespace picchio
