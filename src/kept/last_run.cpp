#include "kept/last_run.h"

#include "kept/json_archive.h"
#include "kept/set_aside.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace picchio::kept {
namespace {

constexpr std::string_view kSchema = "picchio.last-runs.v1";
constexpr std::int64_t kMostBytes = std::int64_t{4}
                                    << 20;  // 64 records of long paths fit many times

std::string utc_now() {
  using namespace std::chrono;
  const auto now = floor<std::chrono::seconds>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(now - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

std::optional<double> median_of(const LaneSummary& lane, const std::vector<Pass>& passes,
                                std::optional<double> Lanes::* cold, std::string Lanes::* abstain) {
  if (!lane.abstain.empty()) return std::nullopt;
  if (lane.median || passes.size() != 1) return lane.median;
  const Lanes& only = passes.front().lanes;  // a run of one pass has no warm one
  return (only.*abstain).empty() ? only.*cold : std::nullopt;
}

}  // namespace

template <class A>
void describe(A& archive, Ref<A, LastRun> value) {
  archive("model", value.model);
  archive("time", value.time);
  archive("state", value.state);
  archive("engine", value.engine);
  archive("engine_version", value.engine_version);
  archive("protocol", value.protocol);
  archive("picchio_version", value.picchio_version);
  archive("kv_type_k", value.kv_type_k);
  archive("kv_type_v", value.kv_type_v);
  archive("prefill", value.prefill);
  archive("decode", value.decode);
  archive("wallclock", value.wallclock);
}

std::vector<LastRun> with_last_run(std::vector<LastRun> runs, LastRun run) {
  std::erase_if(runs, [&](const LastRun& old) { return old.model == run.model; });
  // RFC 3339 in UTC sorts as text. The new record goes first whatever the clock said before.
  std::ranges::stable_sort(runs, std::ranges::greater{}, &LastRun::time);
  runs.insert(runs.begin(), std::move(run));
  if (runs.size() > kMostLastRuns) runs.resize(kMostLastRuns);
  return runs;
}

std::string last_runs_to_json(const std::vector<LastRun>& runs) {
  Json out;
  out["schema"] = kSchema;
  out["runs"] = Writer::encode(runs);
  return to_lines(out);
}

Result<std::vector<LastRun>> last_runs_from_json(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  const bool ours = json->is_object() && json->contains("schema") && (*json)["schema"] == kSchema;
  if (!ours) return fail(ErrorKind::malformed, "its schema is not '{}'", kSchema);
  std::vector<LastRun> runs;
  Reader reader(*json);
  reader("runs", runs);
  if (reader.error()) return fail(ErrorKind::malformed, "{}", *reader.error());
  return runs;
}

LastRun last_run_of(const Run& run, const Verdict& verdict, std::string model, std::string time) {
  LastRun out;
  out.model = std::move(model);
  out.time = std::move(time);
  out.state = name_of(verdict.state);
  out.engine = run.raw.engine.name;
  out.engine_version = run.raw.engine.build.empty() ? run.raw.engine.version : run.raw.engine.build;
  out.protocol = run.raw.protocol;
  out.picchio_version = run.raw.picchio_version;
  if (const Load* load = run.passes.empty() ? nullptr : main_load(run.passes.front().log)) {
    out.kv_type_k = load->kv_type_k;
    out.kv_type_v = load->kv_type_v;
  }
  out.prefill = median_of(run.warm_prefill, run.passes, &Lanes::prefill, &Lanes::prefill_abstain);
  out.decode = median_of(run.warm_decode, run.passes, &Lanes::decode, &Lanes::decode_abstain);
  out.wallclock =
      median_of(run.warm_wallclock, run.passes, &Lanes::wallclock, &Lanes::wallclock_abstain);
  return out;
}

Result<std::vector<LastRun>> read_last_runs(const std::string& cache_folder) {
  const std::string path = cache_folder + "/last-runs.json";
  const Result<std::optional<std::string>> text = read_cache_file(path, kMostBytes);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::vector<LastRun>{};
  Result<std::vector<LastRun>> runs = last_runs_from_json(**text);
  if (!runs) {
    return fail(ErrorKind::malformed, "cannot read '{}': {}", path, runs.error().message);
  }
  return runs;
}

Result<> remember_last_run(const std::string& cache_folder, LastRun run, std::string* note) {
  if (const Result<> made = os::make_dirs(cache_folder); !made) return made;
  const std::string path = cache_folder + "/last-runs.json";
  Result<std::vector<LastRun>> runs = read_last_runs(cache_folder);
  if (!runs) {
    if (const auto moved = set_aside(path, runs.error(), note); !moved) return moved;
    runs = std::vector<LastRun>{};
  }
  return os::write_file_atomic(
      path, last_runs_to_json(with_last_run(*std::move(runs), std::move(run))), 0600);
}

Result<> remember_last_run(const Run& run, const Verdict& verdict, std::string* note) {
  const Result<std::string> folder = os::cache_dir();
  if (!folder) return std::unexpected(folder.error());
  std::string model = run.raw.model ? run.raw.model->path : run.raw.model_label;
  if (run.raw.model) model = os::real_path(model).value_or(model);
  if (model.empty()) return fail(ErrorKind::unsupported, "the run names no model");
  return remember_last_run(*folder, last_run_of(run, verdict, std::move(model), utc_now()), note);
}

}  // namespace picchio::kept
