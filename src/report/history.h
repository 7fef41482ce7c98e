// The history as people and programs read it.
#pragma once

#include "evidence/stored_run.h"

#include <functional>
#include <span>
#include <string>

namespace picchio {

/// A moment as the reader's clock shows it: "2026-11-29 16:12".
using ShowMoment = std::function<std::string(Moment)>;

/// A heading and a line for each run, in the given order; with the machine's name where they are of
/// several. No runs: "".
[[nodiscard]] std::string history_table(std::span<const StoredRow> rows, const ShowMoment& show);
/// Schema "picchio.history-list.v1". `more`: there are runs beyond these.
[[nodiscard]] std::string history_json(std::span<const StoredRow> rows, bool more);

/// All that is kept of a run.
[[nodiscard]] std::string stored_run_text(const StoredRun& run, const ShowMoment& show);

/// "decode 12.3 tok/s is below the 20.9 to 21.4 of 5 earlier runs; since @12 ...": one line; empty
/// when no lane fell outside.
[[nodiscard]] std::string drift_line(const Drift& drift);

}  // namespace picchio
