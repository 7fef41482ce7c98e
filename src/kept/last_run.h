// What this machine measured last, one record for each model, in last-runs.json under the cache
// folder: for a later comparison, never for a verdict.
//
// Two picchios at once: each reads the file, puts its record in and renames a whole new file over
// the old one. There is no lock; when both read before either wrote, one of the two new records is
// lost (the last writer wins), but the file is always whole.
#pragma once

#include "base/result.h"
#include "evidence/run.h"
#include "evidence/verdict.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::kept {

/// Strings that were not known are empty; rates are warm medians, tokens per second, absent when
/// their lane was not read or abstained.
struct LastRun {
  std::string model;  // the key: real path of the model file, or its tag
  std::string time;   // RFC 3339, UTC: "2026-11-29T15:12:32Z"
  std::string state;  // "HEALTHY"
  std::string engine;
  std::string engine_version;
  std::string protocol;
  std::string picchio_version;
  std::string kv_type_k;  // "f16": how the cache was stored, a choice of the run
  std::string kv_type_v;
  std::optional<double> prefill;
  std::optional<double> decode;
  std::optional<double> wallclock;
};

inline constexpr std::size_t kMostLastRuns = 64;

/// Pure. The newest first; at most kMostLastRuns, the oldest out.
[[nodiscard]] std::vector<LastRun> with_last_run(std::vector<LastRun> runs, LastRun run);
[[nodiscard]] std::string last_runs_to_json(const std::vector<LastRun>& runs);
[[nodiscard]] Result<std::vector<LastRun>> last_runs_from_json(std::string_view text);
[[nodiscard]] LastRun last_run_of(const Run& run, const Verdict& verdict, std::string model,
                                  std::string time);

/// An absent file is no run at all; one that cannot be read as ours is an error of kind malformed.
[[nodiscard]] Result<std::vector<LastRun>> read_last_runs(const std::string& cache_folder);

/// A file that is not ours is moved to last-runs.json.unreadable first; `note` then says so. An
/// error means that nothing was remembered, which is no failure of the run itself.
[[nodiscard]] Result<> remember_last_run(const std::string& cache_folder, LastRun run,
                                         std::string* note = nullptr);

/// The same in the user's cache folder, at the present time.
[[nodiscard]] Result<> remember_last_run(const Run& run, const Verdict& verdict,
                                         std::string* note = nullptr);

}  // namespace picchio::kept
