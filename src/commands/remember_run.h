// What becomes of a measuring run at its end: a row of the history.
#pragma once

#include "commands/progress.h"
#include "commands/read_run.h"
#include "evidence/stored_run.h"

#include <optional>

namespace picchio {

/// What the history keeps of a run that ended just now.
[[nodiscard]] RecordedRun recorded_run(const Judged& judged);

/// Puts the run into the user's history and looks how it lies among the earlier ones. Absent: it
/// could not be stored, which one note says and which is no failure of the run.
[[nodiscard]] std::optional<Drift> remember_run(const RecordedRun& run, Progress& progress);

}  // namespace picchio
