// What a recording of the meters says of one GPU over a stretch of time. Pure.
#pragma once

#include "evidence/telemetry.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace picchio {

/// From `begin` up to and including `end`, on the recording's clock.
struct TimeSpan {
  Micros begin{};
  Micros end{};
};

/// Of the looks that fell into some of the spans. Absent: the meter does not tell it, or no look
/// that does fell into them. Never a zero for what is not known.
struct Stretch {
  int samples = 0;                    // looks at which the GPU answered
  std::optional<double> busy_median;  // percent
  std::optional<double> busy_peak;
  std::optional<double> watts_median;
  std::optional<std::int64_t> memory_median;  // of the whole device
  std::optional<std::int64_t> memory_peak;
  int throttled = 0;     // looks that told of heat or of the board asking for less
  int power_capped = 0;  // at its power limit: normal under load on many cards
  int asleep = 0;        // looks at which it was powered down
  std::string lost;      // it vanished, and how
};
[[nodiscard]] Stretch stretch_of(const Telemetry& telemetry, std::size_t gpu,
                                 std::span<const TimeSpan> spans);

/// Energy that the whole device drew over one span.
struct Energy {
  double joules = 0;
  bool from_counter = false;  // else the area under the power readings
};

/// By differences of the counter where it moves and goes with the power readings, else by power.
/// Absent where neither covers the span.
[[nodiscard]] std::optional<Energy> energy_of(const Telemetry& telemetry, std::size_t gpu,
                                              TimeSpan span);

/// The part of the device's time over the spans, 0 to 1, that the watched processes had. Absent
/// where the meter does not tell processes apart or was not asked; 0 only where it does and they
/// had none.
[[nodiscard]] std::optional<double> tree_share(const Telemetry& telemetry, std::size_t gpu,
                                               std::span<const TimeSpan> spans);

/// The most that the watched processes held of the device at one look; absent and 0 as above.
[[nodiscard]] std::optional<std::int64_t> tree_memory(const Telemetry& telemetry, std::size_t gpu,
                                                      std::span<const TimeSpan> spans);

/// The most of it that the driver had pushed out of the device's memory.
[[nodiscard]] std::optional<std::int64_t> tree_evicted(const Telemetry& telemetry, std::size_t gpu,
                                                       std::span<const TimeSpan> spans);

/// Why the meter of this GPU does not tell a figure; null: nothing is known against it.
[[nodiscard]] const MissingFigure* why_missing(const MeteredGpu& gpu, GpuFigure figure);

}  // namespace picchio
