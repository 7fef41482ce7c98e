// What the operating system's and the driver's own meters say of GPUs. Every figure can be absent:
// not supported, not permitted, not moving. Absent is never zero.
#pragma once

#include "base/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// The kinds of figures, for saying which one is missing and why.
enum class GpuFigure {
  busy,
  memory,
  power,
  energy,
  clocks,
  temperature,
  throttling,
  link,            // PCIe generation and width
  process_busy,    // GPU time of single processes
  process_memory,  // GPU memory of single processes
};
[[nodiscard]] std::string_view name_of(GpuFigure figure);  // "busy", "process memory", ...
[[nodiscard]] std::optional<GpuFigure> figure_named(std::string_view name);

struct MissingFigure {
  GpuFigure figure = GpuFigure::busy;
  std::string reason;  // "NVML says not supported", "needs the same user or root"
};

struct PcieLink {
  int generation = 0;
  int width = 0;  // lanes
  bool operator==(const PcieLink&) const = default;
};

/// One GPU as one meter knows it. Two meters can know the same card: join them by address.
struct MeteredGpu {
  std::string meter;    // "nvml", "amdgpu", "intel", "jetson", "drm", "apple"
  int index = 0;        // in this meter's own order; engines count otherwise
  std::string address;  // "0000:61:00.0"; empty: not on PCI
  std::string name;     // "NVIDIA GeForce RTX 4090"
  std::string driver;   // "550.54.14" or the kernel driver's name; empty: not told
  /// Its own; of an APU with what it may map of the system's; absent: not told.
  std::optional<std::int64_t> memory_bytes;
  std::optional<int> cores;                   // as its maker counts them; absent: not told
  bool unified_memory = false;                // weights land in the system's memory
  std::optional<double> busy_window_seconds;  // how far busy_percent looks back at most
  bool asleep = false;               // when the meter was opened: it was not woken to be asked
  bool power_is_package = false;     // watts and joules cover the CPU beside it as well
  bool busy_is_upper_bound = false;  // it was awake for so long, which is not yet work
  std::optional<double> peak_bytes_per_second;  // by memory clock and bus width
  std::optional<PcieLink> link_max;
  std::vector<MissingFigure> missing;  // known when the meter was opened
};

/// Reasons why a GPU runs slower than it could. Idle and clocks that somebody set are not among
/// them.
struct Throttling {
  bool power_cap = false;  // normal at full load on laptops and power-limited cards: no alarm
  bool thermal = false;
  bool hardware = false;  // slowdown or power brake asked for by the board
  bool operator==(const Throttling&) const = default;
};

/// One look at one GPU.
struct GpuReading {
  std::optional<double> busy_percent;        // 0 to 100, over the meter's own window
  std::optional<std::int64_t> memory_bytes;  // in use on the whole device, by everybody
  std::optional<double> power_watts;
  std::optional<double> energy_joules;  // a counter: only differences mean anything
  std::optional<double> clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> temperature_celsius;
  std::optional<Throttling> throttling;
  std::optional<PcieLink> link;
  bool asleep = false;  // powered down by the kernel and left so: nothing else is told
  std::string lost;     // why nothing was read at all: the GPU is gone; empty: it answered
  std::vector<MissingFigure> given_up;  // what will not be told any more from now on; said once
};

/// What one process has of one GPU.
struct GpuProcessUse {
  int pid = 0;
  int device = 0;                             // index into Meter::devices()
  std::optional<double> busy_percent;         // since the call before, of the device's time
  std::optional<double> gpu_seconds;          // a counter; only differences mean anything
  std::optional<std::int64_t> memory_bytes;   // of the device, or of the system's where unified
  std::optional<std::int64_t> evicted_bytes;  // pushed out of the device's memory: it overflows
};

}  // namespace picchio
