// --ctx-sweep: a model measured at several context sizes, each filled by its prompt.
#pragma once

#include "commands/output.h"
#include "commands/progress.h"
#include "commands/sweep/subject.h"
#include "evidence/verdict.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

struct SweepWish {
  std::vector<std::int64_t> tiers;  // empty: the usual ones, as far as they go in
  int passes = 2;
  std::optional<Micros> timeout;  // of each pass; absent: longer for longer prompts
  bool resume = false;            // take from the history what was measured in the last day
  bool try_all = false;           // also what plan says does not go in
  bool remember = true;           // each size in the history
  std::string keep_logs;          // a folder for each size in it; empty: nothing is kept
  OutputOptions output;
};

/// Measures one size after the other, the smallest first, and prints what came of it. The exit code
/// is that of the worst verdict; could_not_run where a size failed or none was measured.
[[nodiscard]] ExitCode sweep_contexts(SweepSubject& subject, const SweepWish& wish,
                                      Progress& progress);

}  // namespace picchio
