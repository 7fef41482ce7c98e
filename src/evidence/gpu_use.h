// What one GPU did in the phases of a run: the recording of the meters, cut by the run's own
// windows. Made by verdict/, printed by report/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace picchio {

/// One kind of window over all passes: prefill, decode, or both. Absent: the meter does not tell
/// it, or no look fell into the windows.
struct GpuPhase {
  int samples = 0;                    // looks at which the GPU answered
  double seconds = 0;                 // length of the windows
  std::int64_t tokens = 0;            // prompt tokens in prefill, generated ones in decode
  std::optional<double> busy_median;  // percent
  std::optional<double> busy_peak;
  std::optional<double> watts;       // median of the power readings, else joules over seconds
  std::optional<double> joules;      // of the whole device, its idle draw included
  bool joules_from_counter = false;  // in every window; else the area under the power readings
  std::optional<double> tree_share;  // of the device's time, by the engine's processes; 0 to 1

  [[nodiscard]] std::optional<double> joules_per_token() const {
    if (!joules || tokens <= 0) return std::nullopt;
    return *joules / static_cast<double>(tokens);
  }
};

struct GpuUse {
  int gpu = 0;          // index into Telemetry::gpus
  bool in_use = false;  // the engine's log puts bytes on it, as far as backends and names tell
  std::optional<double> idle_busy;  // medians before the first pass
  std::optional<double> idle_watts;
  int idle_samples = 0;
  GpuPhase prefill;
  GpuPhase decode;
  GpuPhase work;                             // both
  std::optional<std::int64_t> memory_step;   // peak while passes ran, less the idle median
  std::optional<std::int64_t> tree_memory;   // the most that the engine's processes held; 0: none
  std::optional<std::int64_t> tree_evicted;  // the most of it that was pushed out again
  double throttled_share = 0;     // of the looks at work: by heat or the board, not a power cap
  double power_capped_share = 0;  // at its power limit: normal on many cards
  bool asleep = false;            // powered down at every look while passes ran
  std::string lost;               // it vanished while passes ran, and how; empty: it did not
};

}  // namespace picchio
