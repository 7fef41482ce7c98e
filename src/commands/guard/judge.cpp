#include "commands/guard/judge.h"

#include "base/text.h"
#include "machine/server_process.h"
#include "verdict/account.h"
#include "verdict/judge.h"
#include "verdict/lanes.h"

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

// No line that counts is longer.
constexpr std::size_t kLongestLine = std::size_t{64} << 10;
// Engines that print no number of graph splits end a load with compute buffers, some milliseconds
// apart.
constexpr Micros kQuiet{300'000};
// Backends open their devices before the weights are mapped; a process that has its model open for
// so long and no device has none to come.
constexpr Micros kModelOpen{600'000};
constexpr Micros kLookEvery{300'000};
constexpr Micros kLookSeldom{2'000'000};
// A server reloads for weeks; the latest of a like kind are enough to tell of.
constexpr std::size_t kMostFindings = 256;

bool has_compute(const Load& load) {
  return std::ranges::any_of(load.buffers,
                             [](const BufferLine& b) { return b.use == BufferUse::compute; });
}

}  // namespace

GuardJudge::GuardJudge(GuardScene scene) : scene_(std::move(scene)) {}

void GuardJudge::feed(std::string_view bytes, Micros now) {
  bool telling = false;
  const auto take = [&](std::string_view line) {
    const bool coloured = line.find('\x1b') != std::string_view::npos;
    telling = stream_.add(coloured ? without_ansi(line) : std::string(line)) || telling;
  };
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (end == std::string_view::npos) {
      if (partial_.size() < kLongestLine) partial_ += part.substr(0, kLongestLine);
      break;
    }
    if (!std::exchange(skipping_, false)) {
      if (partial_.empty()) {
        take(part.substr(0, kLongestLine));
      } else {
        partial_ += part.substr(0, kLongestLine);
        take(partial_);
      }
    }
    partial_.clear();
  }
  if (!telling) return;
  changed_ = true;
  last_telling_ = now;
}

void GuardJudge::gap() {
  partial_.clear();
  skipping_ = true;
  incomplete_ = true;
}

void GuardJudge::refresh() {
  if (!std::exchange(changed_, false)) return;
  log_ = stream_.so_far();
}

bool GuardJudge::wants_look(Micros now) const {
  if (!looked_at_ || changed_) return true;
  // Once something is known a look is for the summary only.
  const Micros every = findings_.empty() ? kLookEvery : kLookSeldom;
  return now - *looked_at_ >= every;
}

void GuardJudge::look(EngineLook look, Micros now) {
  looked_at_ = now;
  engine_seen_ = engine_seen_ || look.engine;
  if (!look.engine || !look.model_open) {
    model_since_.reset();
  } else if (!model_since_) {
    model_since_ = now;
  }
  // Of a tree that is gone nothing can be seen; what was seen before still holds.
  if (look.engine || !look_.engine) look_ = std::move(look);
}

bool GuardJudge::load_is_done(Micros now, bool ended) const {
  const Load* load = main_load(log_);
  if (load == nullptr || load->role != LoadRole::main) return false;
  if (load->failure || load->splits || !load->breakdown.empty()) return true;
  if (!log_.timings.empty() && log_.timings.back().line > load->last_line) return true;
  if (ended) return !load->buffers.empty();
  return has_compute(*load) && now - last_telling_ >= kQuiet;
}

GuardFinding GuardJudge::judge_now(Micros now, bool by_log) {
  GuardFinding out;
  out.at = now;
  const Load* load = by_log ? main_load(log_) : nullptr;
  if (load != nullptr) out.model = load->model_path;
  if (out.model.empty()) out.model = model_of(scene_.arguments).value_or("");
  if (out.model.empty() && load != nullptr) out.model = load->model_name;
  std::optional<ModelFile> header;
  if (scene_.header && !out.model.empty()) header = scene_.header(out.model);
  if (by_log && !look_.engine) {
    out.source = GuardSource::log_alone;
    out.placement = placement_of(log_, header ? &*header : nullptr);
    out.verdict = judge_log(log_, out.placement);
    return out;
  }
  out.source = by_log ? GuardSource::log_and_process : GuardSource::process;
  RawRun raw;
  raw.machine = scene_.machine;
  raw.model = std::move(header);
  raw.user_args = scene_.arguments;
  raw.environment = scene_.environment;
  raw.passes.emplace_back().process = look_.facts;
  std::vector<EngineLog> logs;
  logs.push_back(by_log ? log_ : EngineLog{});
  const Run run = assemble(std::move(raw), std::move(logs));
  out.placement = run.placement;
  out.verdict = judge_load(run);
  return out;
}

bool GuardJudge::is_news(const GuardFinding& finding, int load_line) const {
  if (findings_.empty()) return true;
  const GuardFinding& last = findings_.back();
  const bool same = last.model == finding.model && last.verdict.state == finding.verdict.state;
  if (load_line == announced_line_) return !same;
  // ollama loads in turn what it is asked for; elsewhere a second load that is like the first is
  // no news.
  return !same || log_.engine == "ollama";
}

std::optional<GuardFinding> GuardJudge::conclude(Micros now, bool ended) {
  if (ended && !partial_.empty()) feed("\n", now);
  refresh();
  const bool by_log = load_is_done(now, ended);
  const bool unsaid = findings_.empty() || findings_.back().source == GuardSource::process;
  const bool by_process = !by_log && unsaid && model_since_ && now - *model_since_ >= kModelOpen &&
                          main_load(log_) == nullptr;
  if (!by_log && !by_process) return std::nullopt;
  GuardFinding finding = judge_now(now, by_log);
  const bool unknown = finding.verdict.state == State::no_placement_evidence;
  // Without a line that tells, a process with a GPU open proves nothing, and the summary says so.
  // But it takes back what was said while it had none.
  if (by_process && unknown && findings_.empty()) return std::nullopt;
  const int line = by_log ? main_load(log_)->first_line : 0;
  if (!is_news(finding, line)) return std::nullopt;
  // What the log did not tell at first it may tell in its last lines; an unknown takes nothing
  // back.
  if (unknown && by_log && !findings_.empty() && line == announced_line_ &&
      !main_load(log_)->failure) {
    return std::nullopt;
  }
  announced_line_ = line;
  if (findings_.size() >= kMostFindings) findings_.erase(findings_.begin() + 1);
  findings_.push_back(finding);
  return finding;
}

}  // namespace picchio
