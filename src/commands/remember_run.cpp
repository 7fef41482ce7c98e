#include "commands/remember_run.h"

#include "base/text.h"
#include "history/drift.h"
#include "history/history.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/identity.h"
#include "report/block.h"
#include "report/figures.h"
#include "results/compare.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace picchio {
namespace {

using history::History;

std::string real_or_given(const std::string& path) { return os::real_path(path).value_or(path); }

/// The newest of `earlier` is the last run inside its spread: it is a part of it.
Result<Drift> drift_of(History& runs, const RecordedRun& run) {
  Drift out;
  const Result<std::vector<StoredRow>> earlier =
      runs.earlier_than(run, std::int64_t{history::kMostEarlierRuns});
  if (!earlier) return std::unexpected(earlier.error());
  out.earlier_runs = earlier->size();
  out.outside = history::drifted_lanes(*earlier, run.figures);
  if (out.outside.empty()) return out;
  out.since = earlier->front().id;
  const Result<StoredRun> last = runs.find(fmt::format("@{}", *out.since));
  if (!last) return std::unexpected(last.error());
  out.changed = history::first_change(
      results::compare(last->run.figures, run.figures, std::nullopt).conditions);
  return out;
}

Result<Drift> store(const std::string& folder, const RecordedRun& run, std::string* note) {
  Result<History> runs = History::open(folder, note);
  if (!runs) return std::unexpected(runs.error());
  Result<Drift> out = drift_of(*runs, run);
  // An earlier run that cannot be read is no reason to lose this one.
  if (!out && out.error().kind == ErrorKind::malformed) return out;
  if (!out) out = Drift{};
  const Result<std::int64_t> id = runs->add(run);
  if (!id) return std::unexpected(id.error());
  out->id = *id;
  return out;
}

}  // namespace

RecordedRun recorded_run(const Judged& judged) {
  RecordedRun out;
  out.at = os::wall_clock();
  out.host = os::host_name();
  out.figures = figures_of(judged.run, judged.verdict);
  out.rule = judged.verdict.rule;
  out.testimonies = judged.verdict.testimonies;
  const RawRun& raw = judged.run.raw;
  if (raw.model) out.model_file = real_or_given(raw.model->path);
  out.model_key = out.model_file;
  if (raw.server) out.model_key = fmt::format("{} {}", raw.server->url, out.figures.model);
  out.block = block(judged.run, judged.verdict);
  return out;
}

std::optional<Drift> remember_run(const RecordedRun& run, Progress& progress) {
  std::string note;
  const Result<std::string> folder = os::cache_dir();
  Result<Drift> out = folder ? store(*folder, run, &note) : std::unexpected(folder.error());
  if (!out && folder && out.error().kind == ErrorKind::malformed) {
    // Broken in a place that only its use shows.
    const Result<> moved = history::set_aside(*folder, out.error(), &note);
    out = moved ? store(*folder, run, nullptr) : std::unexpected(moved.error());
  }
  if (!out) note = "this run is not in the history: " + out.error().message;
  if (!note.empty()) progress.note(plain(note));
  if (!out) return std::nullopt;
  return *std::move(out);
}

}  // namespace picchio
