// What the kernel's DRM drivers tell of one open GPU file: the text of /proc/PID/fdinfo/FD
// (Documentation/gpu/drm-usage-stats.rst). One format for nearly every driver: amdgpu since Linux
// 5.14, i915 since 5.19, xe, msm, panfrost, panthor, v3d, asahi; nouveau has little of it.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::meters::drm {

/// One engine ("gfx", "compute", "rcs") as this client used it. Counters only grow while the client
/// lives, but the specification lets a driver step back now and then.
struct EngineUse {
  std::string name;                           // untrusted
  std::optional<std::uint64_t> busy_ns;       // summed over its instances
  std::int64_t capacity = 1;                  // instances behind the name
  std::optional<std::uint64_t> cycles;        // busy, in ticks of the GPU's own clock
  std::optional<std::uint64_t> total_cycles;  // all, in the same ticks
};

/// One kind of memory ("vram", "gtt", "system0"), bytes.
struct RegionUse {
  std::string name;  // untrusted
  std::optional<std::int64_t> resident;
  std::optional<std::int64_t> memory;  // "drm-memory-": the older name of resident
  std::optional<std::int64_t> total;   // with what is not backed by memory at present
  std::optional<std::int64_t> shared;
  std::optional<std::int64_t> purgeable;
  std::optional<std::int64_t> active;

  /// The best of them for "in use now".
  [[nodiscard]] std::optional<std::int64_t> in_use() const {
    if (resident) return resident;
    return memory ? memory : total;
  }
};

/// One open of a GPU. A dup'ed or inherited descriptor shows the same one again, under the same id.
struct Client {
  std::string driver;               // "amdgpu"; untrusted
  std::string address;              // of the PCI function; empty: not told, or not on PCI
  std::optional<std::uint64_t> id;  // unique on its device
  std::vector<EngineUse> engines;
  std::vector<RegionUse> regions;
  std::optional<std::int64_t> evicted_vram;  // amdgpu: bytes that had to leave the card's memory

  /// amdgpu of Linux 5.14 to 5.18: engines as a percentage over the client's life, which says
  /// nothing of now, so `engines` is empty. Memory is told; `id` is its address space's number.
  bool percent_format = false;
};

/// nullopt: the text is not of a GPU's file. Any bytes are safe: lines that are not understood,
/// numbers that fit no type and more than 64 engines or regions are left out.
[[nodiscard]] std::optional<Client> parse_fdinfo(std::string_view text);

}  // namespace picchio::meters::drm
