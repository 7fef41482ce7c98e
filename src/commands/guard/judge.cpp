#include "commands/guard/judge.h"

#include "base/text.h"
#include "machine/server_process.h"
#include "verdict/account.h"
#include "verdict/judge.h"
#include "verdict/lanes.h"

#include <algorithm>
#include <limits>
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

/// Where in `log` the loads of the main model stand, oldest first.
std::vector<std::size_t> main_loads(const EngineLog& log) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < log.loads.size(); ++i) {
    if (log.loads[i].role == LoadRole::main) out.push_back(i);
  }
  return out;
}

bool same_model(const Load& a, const Load& b) {
  const auto same = [](const std::string& one, const std::string& other) {
    return one.empty() || other.empty() || one == other;
  };
  return same(a.model_path, b.model_path) && same(a.model_name, b.model_name);
}

/// As it would read if `log.loads[at]`, a main load, were the only one, and the log ended where the
/// next begins. What was found before it (devices, allocations that failed) is its history too.
EngineLog log_of_load(const EngineLog& log, std::size_t at) {
  const auto is = [&](std::size_t i, LoadRole role) { return log.loads[i].role == role; };
  // A planning pass stands in front of the load that it plans; what else is loaded, behind.
  std::size_t first = at;
  while (first > 0 && is(first - 1, LoadRole::probe)) --first;
  std::size_t end = at + 1;
  while (end < log.loads.size() && !is(end, LoadRole::main)) ++end;
  if (end < log.loads.size()) {
    while (end > at + 1 && is(end - 1, LoadRole::probe)) --end;
  }
  const bool newest = end == log.loads.size();
  const int end_line = newest ? std::numeric_limits<int>::max() : log.loads[end].first_line;
  const int first_line = log.loads[at].first_line;
  const auto later = [&](const auto& each) { return each.line >= end_line; };

  EngineLog out = log;
  out.loads.assign(log.loads.begin() + static_cast<std::ptrdiff_t>(first),
                   log.loads.begin() + static_cast<std::ptrdiff_t>(end));
  std::erase_if(out.events, later);
  std::erase_if(out.devices, later);
  if (out.fit && later(*out.fit)) out.fit.reset();
  if (out.plan && later(*out.plan)) out.plan.reset();
  std::erase_if(out.timings,
                [&](const EngineTimings& each) { return later(each) || each.line < first_line; });
  return out;
}

/// Least when it is the worst that --expect can meet: by state, then by share.
std::pair<int, double> worth(const GuardFinding& finding) {
  const State state = finding.verdict.state;
  const int rank = state == State::healthy ? 2 : state == State::partial_offload ? 1 : 0;
  return {rank, finding.placement.weights_on_gpu_fraction.value_or(-1)};
}

/// Which finding may be forgotten: the best one. The smallest share of a model that is on a GPU at
/// all is kept whatever its state, since a gate can ask for it.
std::size_t expendable(const std::vector<GuardFinding>& findings) {
  const auto share = [&](std::size_t i) {
    const auto [rank, value] = worth(findings[i]);
    return rank == 0 ? 2.0 : value;
  };
  std::size_t least = 0;
  for (std::size_t i = 1; i < findings.size(); ++i) {
    if (share(i) < share(least)) least = i;
  }
  std::size_t best = least == 0 ? 1 : 0;
  for (std::size_t i = best + 1; i < findings.size(); ++i) {
    if (i != least && worth(findings[i]) > worth(findings[best])) best = i;
  }
  return best;
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

bool GuardJudge::newest_is_done(const Load& load, Micros now, bool ended) const {
  const bool quiet = ended || now - last_telling_ >= kQuiet;
  // Engines try again with less at once; only one that leaves it at that has failed.
  if (load.failure) return quiet;
  if (load.splits || !load.breakdown.empty()) return true;
  if (!log_.timings.empty() && log_.timings.back().line > load.last_line) return true;
  if (ended) return !load.buffers.empty();
  return has_compute(load) && quiet;
}

bool GuardJudge::load_is_done(const std::vector<std::size_t>& mains, std::size_t which, Micros now,
                              bool ended) const {
  const Load& load = log_.loads[mains[which]];
  if (which + 1 == mains.size()) return newest_is_done(load, now, ended);
  if (!load.failure) return load.splits || !load.breakdown.empty() || !load.buffers.empty();
  // One that another try of the same model follows is no end, unless that fails as well.
  return std::ranges::none_of(mains.begin() + static_cast<std::ptrdiff_t>(which) + 1, mains.end(),
                              [&](std::size_t later) {
                                const Load& next = log_.loads[later];
                                return !next.failure && same_model(load, next);
                              });
}

GuardFinding GuardJudge::judge_now(Micros now, const EngineLog* log) {
  GuardFinding out;
  out.at = now;
  const Load* load = log != nullptr ? main_load(*log) : nullptr;
  if (load != nullptr) out.model = load->model_path;
  if (out.model.empty()) out.model = model_of(scene_.arguments).value_or("");
  if (out.model.empty() && load != nullptr) out.model = load->model_name;
  std::optional<ModelFile> header;
  if (scene_.header && !out.model.empty()) header = scene_.header(out.model);
  if (log != nullptr && !look_.engine) {
    out.source = GuardSource::log_alone;
    out.placement = placement_of(*log, header ? &*header : nullptr);
    out.verdict = judge_log(*log, out.placement);
    return out;
  }
  out.source = log != nullptr ? GuardSource::log_and_process : GuardSource::process;
  RawRun raw;
  raw.machine = scene_.machine;
  raw.model = std::move(header);
  raw.user_args = scene_.arguments;
  raw.environment = scene_.environment;
  raw.passes.emplace_back().process = look_.facts;
  std::vector<EngineLog> logs;
  logs.push_back(log != nullptr ? *log : EngineLog{});
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

std::vector<GuardFinding> GuardJudge::conclude(Micros now, bool ended) {
  if (ended && !partial_.empty()) feed("\n", now);
  refresh();
  std::vector<GuardFinding> out;
  const std::vector<std::size_t> mains = main_loads(log_);
  for (std::size_t i = 0; i < mains.size(); ++i) {
    // An older one was told of when it was the newest, or a newer one took its place.
    const Load& load = log_.loads[mains[i]];
    if (load.first_line < announced_line_ || !load_is_done(mains, i, now, ended)) continue;
    const EngineLog log = log_of_load(log_, mains[i]);
    if (auto news = announce(judge_now(now, &log), &load)) out.push_back(*std::move(news));
  }
  const bool unsaid = findings_.empty() || findings_.back().source == GuardSource::process;
  if (!mains.empty() || !unsaid || !model_since_ || now - *model_since_ < kModelOpen) return out;
  GuardFinding finding = judge_now(now, nullptr);
  // Without a line that tells, a process with a GPU open proves nothing, and the summary says so.
  // But it takes back what was said while it had none.
  if (finding.verdict.state == State::no_placement_evidence && findings_.empty()) return out;
  if (auto news = announce(std::move(finding), nullptr)) out.push_back(*std::move(news));
  return out;
}

std::optional<GuardFinding> GuardJudge::announce(GuardFinding finding, const Load* load) {
  const int load_line = load != nullptr ? load->first_line : 0;
  if (!is_news(finding, load_line)) {
    announced_line_ = std::max(announced_line_, load_line);
    return std::nullopt;
  }
  // What the log did not tell at first it may tell in its last lines; an unknown takes nothing
  // back.
  const bool unknown = finding.verdict.state == State::no_placement_evidence;
  const bool takes_back = load_line == announced_line_ && !findings_.empty();
  if (unknown && takes_back && load != nullptr && !load->failure) return std::nullopt;
  announced_line_ = load_line;
  if (findings_.size() >= kMostFindings) {
    findings_.erase(findings_.begin() + static_cast<std::ptrdiff_t>(expendable(findings_)));
  }
  findings_.push_back(finding);
  return finding;
}

}  // namespace picchio
