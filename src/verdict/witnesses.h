// The witnesses: each reads one kind of evidence of a run and says where the model ran, or why it
// cannot tell. Pure. None believes another; weighing them is judge.h's work.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace picchio {

[[nodiscard]] Testimony claim_testimony(const Run& run);
[[nodiscard]] Testimony allocation_testimony(const Run& run);
[[nodiscard]] Testimony device_testimony(const Run& run);
[[nodiscard]] Testimony schedule_testimony(const Run& run);
/// Says cpu only where no GPU driver was mapped and no device node open; a driver that was there
/// says gpu in the weak sense that the run could have used one.
[[nodiscard]] Testimony process_testimony(const Run& run);
[[nodiscard]] Testimony gpu_meter_testimony(const Run& run);
/// Says cpu where every thread was busy during decode. One busy core is how a GPU is waited for.
[[nodiscard]] Testimony cpu_meter_testimony(const Run& run);
/// Says gpu only where all weights are claimed by cards with memory of their own and this machine's
/// RAM cannot deliver what decode reads. No ratio of rates acquits: a GPU build that keeps all
/// weights in host memory still runs big prompt batches on the card. A low one is named, and
/// decides nothing alone.
[[nodiscard]] Testimony timing_testimony(const Run& run);

struct WitnessRow {
  Witness witness;
  Testimony (*hear)(const Run&);
};

/// In the order in which --explain prints them.
[[nodiscard]] std::span<const WitnessRow> witnesses();
[[nodiscard]] std::vector<Testimony> hear_all(const Run& run);

/// CPU time over a whole pass, in cores; of the busiest one. Absent: not measured.
[[nodiscard]] std::optional<double> pass_cores(const Run& run);

/// A server's processes took so little CPU time in every pass that no CPU of theirs computed: a GPU
/// did, or another process behind them. False where it was not measured.
[[nodiscard]] bool computed_elsewhere(const Run& run);

/// One core waits for the GPU, half a core samples and prints: more than that computes.
inline constexpr double kWaitingCores = 1.5;

/// Cores busy in decode. Of the passes after the first, the one that kept the fewest: another
/// program's noise only adds. With one pass that one. Absent: not measured.
[[nodiscard]] std::optional<double> decode_cores(const Run& run);

/// Warm median of decode, else the first pass's; absent: no pass has one that counts.
[[nodiscard]] std::optional<double> decode_rate(const Run& run);
[[nodiscard]] std::optional<double> prefill_rate(const Run& run);

/// The text arrived at less than half or more than twice the engine's decode rate, over a second or
/// more: one of the two clocks is wrong. The two rates.
struct ClockGap {
  double engine = 0;
  double arrived = 0;
};
[[nodiscard]] std::optional<ClockGap> clock_gap(const Run& run);

}  // namespace picchio
