// From a recorded run to one that can be judged: rates, phase windows, medians. Pure.
#pragma once

#include "base/time.h"
#include "evidence/run.h"

#include <optional>
#include <vector>

namespace picchio {

/// What the readers made of an exchange with a server; absent for an engine that picchio started.
struct ReadExchange {
  std::optional<ServerAnswer> answer;
  std::optional<ServerClaim> claim;
};

/// `logs[i]` is what the reader made of `raw.passes[i].log`, `exchanges[i]` what others made of its
/// exchange; a missing one counts as empty. The
/// placement is the first pass's, priced with the header where the run has one. Warm figures are
/// those of the passes after the first, of lanes that do not abstain; with one pass there are none.
[[nodiscard]] Run assemble(RawRun raw, std::vector<EngineLog> logs,
                           std::vector<ReadExchange> exchanges = {});

/// Where the two phases lie on the stopwatch. Absent: neither arrivals nor line stamps tell.
struct Windows {
  std::optional<Micros> prefill_begin;
  std::optional<Micros> decode_begin;  // where prefill ends: the first token
  std::optional<Micros> decode_end;
};

/// The clock of the arriving text is trusted when it came in enough pieces: a pipe that hands over
/// everything at once has one arrival. Else the stamp of the timing line, printed right after the
/// last token, and the engine's own milliseconds; where no stamps were recorded, the engine's.
[[nodiscard]] Windows windows_of(const RawPass& raw, const EngineTimings& timings);

/// Absent: not told. The CLI counts decode runs, where the first token comes out of the prompt's
/// last batch.
[[nodiscard]] std::optional<std::int64_t> generated_tokens(const EngineTimings& timings);

/// From the first to the last piece of text; zero where the arrival times mean nothing for `tokens`
/// generated tokens.
[[nodiscard]] Micros arrival_span(const RawPass& raw, std::int64_t tokens);

/// Decode rate by the arrival of first and last token; absent where arrivals do not tell.
[[nodiscard]] std::optional<double> arrival_rate(const RawPass& raw, const EngineTimings& timings);

/// Cores kept busy between two moments, by interpolation of the cumulative samples. Absent when the
/// window is too short for them: the kernel counts CPU time in ticks of 10 ms.
[[nodiscard]] std::optional<double> cores_busy(const std::vector<CpuSample>& samples, Micros begin,
                                               Micros end);

}  // namespace picchio
