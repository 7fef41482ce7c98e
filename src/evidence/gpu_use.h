// What one GPU did in the phases of a run: the recording of the meters, cut by the run's own
// windows. Made by verdict/, printed by report/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace picchio {

/// One kind of window over the passes that count (prefill, decode). Absent: the meter does not tell
/// it, or no sample fell into the windows.
struct GpuPhase {
  int samples = 0;                    // looks at the device that fell into the windows
  double seconds = 0;                 // length of the windows
  std::int64_t tokens = 0;            // prompt tokens in prefill, generated ones in decode
  std::optional<double> busy_median;  // percent
  std::optional<double> busy_peak;
  std::optional<double> watts;   // mean: joules over seconds, else the median of the power readings
  std::optional<double> joules;  // of the whole device, its idle draw included
  bool joules_from_counter = false;  // else the area under the power readings
  std::optional<double> tree_share;  // of the device's time, by the engine's processes; 0 to 1

  [[nodiscard]] std::optional<double> joules_per_token() const {
    if (!joules || tokens <= 0) return std::nullopt;
    return *joules / static_cast<double>(tokens);
  }
};

struct GpuUse {
  int gpu = 0;                      // index into Telemetry::gpus
  std::optional<double> idle_busy;  // medians before the first pass
  std::optional<double> idle_watts;
  int idle_samples = 0;
  GpuPhase prefill;
  GpuPhase decode;
  std::optional<std::int64_t> memory_step;   // median while tokens were made, less the idle median
  std::optional<std::int64_t> tree_memory;   // the most that the engine's processes held
  std::optional<std::int64_t> tree_evicted;  // the most of it that was pushed out again
  double throttled_share = 0;  // of the looks in both phases: heat or the board, not a power cap
  double power_capped_share = 0;
  std::string lost;  // it vanished while the engine ran, and how; empty: it did not
};

}  // namespace picchio
