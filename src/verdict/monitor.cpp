#include "verdict/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace picchio {
namespace {

// Thresholds on rates, as factors. Each bound is also a number of the server's own spreads, so that
// a noisy server has wider ones.
//
// Prefill falls by more than decode does: one model on a GPU and on the CPU beside it was recorded
// 22 and 406 times apart in prefill, and 1.7 and 120 times in decode (a laptop's unified memory, an
// RTX 4090). Noise, heat and others' requests move the two together.
constexpr double kShapePrefill = 3;
constexpr double kShapeDecode = 1.3;
constexpr double kShapeRatio = 2;
// Whatever it is, one probe is enough for it.
constexpr double kCollapse = 6;
// One lane alone may meet something once: a busy bus, a disk. Three times within a hundred probes
// is no chance.
constexpr double kDip = 2.5;
constexpr double kDipSpreads = 6.5;
constexpr int kDips = 3;
constexpr std::int64_t kDipsWithin = 100;
// Not much, but it stays: as many in a row as come together by chance once in ten million probes.
constexpr double kSlower = 1.4;
constexpr int kFewestSlower = 3;
constexpr double kByChance = 1e-7;
// How often a server has single slow probes is learned; until then few are expected.
constexpr double kExpectedSlow = 0.4;
constexpr double kExpectedOf = 20;
constexpr double kRemembered = 400;
// Below this ratio of prefill over decode a claim to run on a GPU is doubtful; above it nothing is
// proven. Of a prompt that is long enough to fill a GPU.
constexpr double kCpuShaped = 5;
constexpr std::int64_t kLongPrompt = 300;
// A GPU that the server's own processes kept so busy did not stand by.
constexpr double kServerAtWork = 0.3;
// Clocks are corrected by less than this in a step.
constexpr Micros kClockJump{5'000'000};

using Found = std::optional<MonitorFinding>;

bool below(std::optional<double> lane, double factor, double spreads, double spread) {
  return lane && *lane < -std::max(std::log(factor), spreads * spread);
}

/// Both lanes, or the one that there is.
bool both_below(const RateDeviation& d, double factor, double spreads) {
  if (!d.prefill && !d.decode) return false;
  return (!d.prefill || below(d.prefill, factor, spreads, d.prefill_spread)) &&
         (!d.decode || below(d.decode, factor, spreads, d.decode_spread));
}

bool like_a_cpu(const RateDeviation& d) {
  constexpr double kRatioSpreads = 4.5;
  constexpr double kPrefillSpreads = 6;
  constexpr double kDecodeSpreads = 2;
  return below(d.ratio, kShapeRatio, kRatioSpreads, d.ratio_spread) &&
         below(d.prefill, kShapePrefill, kPrefillSpreads, d.prefill_spread) &&
         below(d.decode, kShapeDecode, kDecodeSpreads, d.decode_spread);
}

bool falls_deep(std::optional<double> lane, double spread) {
  return below(lane, kDip, kDipSpreads, spread);
}

bool is_slower(std::optional<double> lane, double spread) {
  constexpr double kSpreads = 3;
  return below(lane, kSlower, kSpreads, spread);
}

bool dips(const RateDeviation& d) {
  return falls_deep(d.prefill, d.prefill_spread) || falls_deep(d.decode, d.decode_spread);
}

bool gpu_at_work(const Probe& probe) {
  return std::ranges::any_of(probe.gpus, [](const ProbedGpu& gpu) {
    return gpu.server_share.value_or(0) >= kServerAtWork;
  });
}

bool state_is(const MonitorScene& s, State state) { return s.probe.state == state; }

/// "prefill 24.1 tok/s (5% of its baseline), decode 9.8 tok/s (20%)".
std::string rates_text(const MonitorScene& s) {
  std::string out;
  const auto add = [&](std::string_view lane, std::optional<double> rate,
                       std::optional<double> log_ratio) {
    if (!rate || !log_ratio) return;
    out += fmt::format("{}{} {:.1f} tok/s ({:.0f}% of its baseline)", out.empty() ? "" : ", ", lane,
                       *rate, 100 * std::exp(*log_ratio));
  };
  add("prefill", s.probe.prefill, s.deviation.prefill);
  add("decode", s.probe.decode, s.deviation.decode);
  return out;
}

Found no_answer(const MonitorScene& s) {
  if (s.probe.end != ProbeEnd::unreachable) return std::nullopt;
  return MonitorFinding{Standing::lost, "the server does not answer: " + s.probe.why};
}

Found fails(const MonitorScene& s) {
  // One error may be that request's alone.
  constexpr int kInARow = 2;
  if (s.probe.end != ProbeEnd::failed || (s.failures < kInARow && !s.failing_often)) {
    return std::nullopt;
  }
  return MonitorFinding{Standing::lost, "its answers fail: " + s.probe.why};
}

Found hangs(const MonitorScene& s) {
  // What it is busy with may be the request that nobody waits for any more.
  constexpr int kTooOften = 5;
  if (s.probe.end != ProbeEnd::busy || s.busy_since_failure < kTooOften) return std::nullopt;
  return MonitorFinding{Standing::lost, "its last answer failed, and it is busy ever since"};
}

Found fails_often(const MonitorScene& s) {
  // A good one in between mends nothing.
  if (s.probe.end != ProbeEnd::answered || !s.failing_often) return std::nullopt;
  return MonitorFinding{Standing::lost, "many of its latest answers failed"};
}

Found not_seen(const MonitorScene& s) {
  constexpr int kTooOften = 10;
  if (s.unseen < kTooOften) return std::nullopt;
  return MonitorFinding{
      Standing::unknown,
      fmt::format("nothing was learned of it by {} probes in a row: {}", s.unseen, s.probe.why)};
}

Found lane_vanished(const MonitorScene& s) {
  constexpr int kTooOften = 5;
  if (s.lane_missing < kTooOften) return std::nullopt;
  const bool decode = !s.probe.decode;
  const std::string& why = decode ? s.probe.decode_abstain : s.probe.prefill_abstain;
  return MonitorFinding{
      Standing::unknown,
      fmt::format("{} was not told by {} probes in a row{}{}", decode ? "decode" : "prefill",
                  s.lane_missing, why.empty() ? "" : ": ", why)};
}

Found gpu_is_gone(const MonitorScene& s) {
  if (!state_is(s, State::cpu_only_machine) || !s.had_gpu) return std::nullopt;
  return MonitorFinding{Standing::fallen,
                        "the GPU that it ran on is not seen any more, and the CPU does the work"};
}

Found runs_on_cpu(const MonitorScene& s) {
  if (!state_is(s, State::silent_cpu_fallback)) return std::nullopt;
  return MonitorFinding{Standing::fallen, s.probe.sentence, true};
}

Found rates_of_a_cpu(const MonitorScene& s) {
  // Bytes that lie on a GPU, and a machine that has none, leave it to the rules below.
  const bool untold = !s.probe.state || state_is(s, State::no_placement_evidence);
  if (!untold || gpu_at_work(s.probe) || !like_a_cpu(s.deviation)) return std::nullopt;
  return MonitorFinding{
      Standing::fallen,
      fmt::format("prefill fell much deeper than decode, as it does on a CPU: {}", rates_text(s))};
}

Found witnesses_disagree(const MonitorScene& s) {
  if (!state_is(s, State::conflicting_evidence)) return std::nullopt;
  return MonitorFinding{Standing::conflicting, s.probe.sentence, true};
}

Found runs_partly(const MonitorScene& s) {
  if (!state_is(s, State::partial_offload)) return std::nullopt;
  return MonitorFinding{Standing::partial, s.probe.sentence, true};
}

Found collapsed(const MonitorScene& s) {
  constexpr double kSpreads = 6;
  // Tokens come one by one, so decode has no single accident of that size.
  constexpr double kAloneSpreads = 8;
  const RateDeviation& d = s.deviation;
  if (!both_below(d, kCollapse, kSpreads) && !like_a_cpu(d) &&
      !below(d.decode, kCollapse, kAloneSpreads, d.decode_spread)) {
    return std::nullopt;
  }
  return MonitorFinding{Standing::slow, "its rates collapsed: " + rates_text(s)};
}

Found dipped_again(const MonitorScene& s) {
  if (s.dips < kDips) return std::nullopt;
  return MonitorFinding{Standing::slow,
                        fmt::format("its rates fell deep for the third time within {} probes: {}",
                                    kDipsWithin, rates_text(s))};
}

Found stays_slower(const MonitorScene& s) {
  if (!s.stays_slower) return std::nullopt;
  return MonitorFinding{Standing::slow, fmt::format("slower for {} probes in a row: {}",
                                                    s.slow_probes, rates_text(s))};
}

Found looks_like_a_cpu(const MonitorScene& s) {
  const Probe& p = s.probe;
  const bool untold = p.end == ProbeEnd::answered && state_is(s, State::no_placement_evidence);
  // What was proven of the same load stands while its rates do.
  if (!untold || s.proven || gpu_at_work(p) || !p.contended.empty()) return std::nullopt;
  if (!p.prefill || !p.decode || p.prompt_tokens.value_or(0) < kLongPrompt) return std::nullopt;
  const double ratio = *p.prefill / *p.decode;
  // One that began otherwise is compared with itself.
  const double began = s.deviation.ratio ? ratio / std::exp(*s.deviation.ratio) : ratio;
  if (ratio >= kCpuShaped || began >= kCpuShaped) return std::nullopt;
  return MonitorFinding{
      Standing::unknown,
      fmt::format("nothing tells where it runs, and its prefill is only {:.1f} times its decode, "
                  "as on a CPU",
                  ratio)};
}

Found is_well(const MonitorScene& s) {
  const Probe& p = s.probe;
  if (p.end != ProbeEnd::answered && !p.state) return std::nullopt;
  const bool proven = state_is(s, State::healthy) || state_is(s, State::cpu_only_machine);
  // Without a word on the place only rates of its own say that all is as ever.
  const bool as_ever = s.deviation.decode || s.deviation.prefill;
  if (!proven && !as_ever) return std::nullopt;
  // Whatever the place: one dip is not yet news, and is not well either.
  if (dips(s.deviation)) return std::nullopt;
  std::string sentence = p.sentence;
  if (!proven) sentence = "its rates are its own: " + rates_text(s);
  return MonitorFinding{Standing::steady, std::move(sentence)};
}

constexpr std::array kRules = {
    MonitorRule{"no-answer", no_answer},
    MonitorRule{"answers-fail", fails},
    MonitorRule{"runs-on-cpu", runs_on_cpu},
    MonitorRule{"hangs", hangs},
    MonitorRule{"gpu-is-gone", gpu_is_gone},
    MonitorRule{"rates-of-a-cpu", rates_of_a_cpu},
    MonitorRule{"witnesses-disagree", witnesses_disagree},
    MonitorRule{"runs-partly", runs_partly},
    MonitorRule{"answers-fail-often", fails_often},
    MonitorRule{"rates-collapsed", collapsed},
    MonitorRule{"rates-dipped-again", dipped_again},
    MonitorRule{"slower-for-long", stays_slower},
    MonitorRule{"not-seen", not_seen},
    MonitorRule{"lane-vanished", lane_vanished},
    MonitorRule{"ratio-of-a-cpu", looks_like_a_cpu},
    MonitorRule{"well", is_well},
};

// The worst first, as in the exit codes.
constexpr std::array kWorstFirst = {State::silent_cpu_fallback,
                                    State::conflicting_evidence,
                                    State::partial_offload,
                                    State::no_placement_evidence,
                                    State::no_timing_evidence,
                                    State::cpu_only_machine,
                                    State::healthy};

constexpr std::array kWorstStandings = {Standing::fallen,  Standing::slow, Standing::conflicting,
                                        Standing::partial, Standing::lost, Standing::unknown,
                                        Standing::steady};

template <class Ranking, class Each>
bool is_worse(const Ranking& worst_first, Each a, Each b) {
  return std::ranges::find(worst_first, a) < std::ranges::find(worst_first, b);
}

}  // namespace

std::span<const MonitorRule> monitor_rules() { return kRules; }

MonitorEvent MonitorJudge::event_of(MonitorEvent::Kind kind, const Probe& probe) const {
  MonitorEvent event;
  event.kind = kind;
  event.probe = probe.number;
  event.at = probe.at;
  event.from = event.to = status_.standing;
  return event;
}

void MonitorJudge::count(const Probe& probe) {
  switch (probe.end) {
    case ProbeEnd::answered:
      ++status_.answered;
      break;
    case ProbeEnd::idle:
      ++status_.idle;
      break;
    case ProbeEnd::busy:
      ++status_.busy;
      break;
    case ProbeEnd::loading:
      ++status_.loading;
      break;
    case ProbeEnd::unreachable:
      ++status_.unreachable;
      break;
    case ProbeEnd::failed:
      ++status_.failed;
      break;
  }
  status_.running = probe.since + probe.length;
  if (probe.passive) return;
  status_.asked += probe.length;
  status_.prompt_tokens += probe.prompt_tokens.value_or(0);
  status_.generated_tokens += probe.generated_tokens.value_or(0);
}

void MonitorJudge::note_state(const Probe& probe) {
  if (!probe.state) return;
  if (!status_.worst_state || is_worse(kWorstFirst, *probe.state, *status_.worst_state)) {
    status_.worst_state = probe.state;
  }
}

void MonitorJudge::look_at_clock(const Probe& probe, std::vector<MonitorEvent>& events) {
  const Micros offset = std::chrono::floor<Micros>(probe.at.time_since_epoch()) - probe.since;
  const Micros jump = clock_offset_ ? offset - *clock_offset_ : Micros{};
  clock_offset_ = offset;
  if (std::chrono::abs(jump) < kClockJump) return;
  MonitorEvent event = event_of(MonitorEvent::Kind::clock_jump, probe);
  event.sentence = jump > Micros{}
                       ? fmt::format(
                             "the clock went {:.0f} s ahead: the machine slept, or its "
                             "clock was set",
                             seconds(jump))
                       : fmt::format("the clock was set back by {:.0f} s", -seconds(jump));
  events.push_back(std::move(event));
}

void MonitorJudge::look_at_process(const Probe& probe, std::vector<MonitorEvent>& events) {
  MonitorEvent event = event_of(MonitorEvent::Kind::reload, probe);
  if (!probe.model.empty() && probe.model != std::exchange(model_, probe.model) &&
      status_.answered > 1) {
    event.kind = MonitorEvent::Kind::model_changed;
    event.sentence = fmt::format("another model answers: {}; its baseline begins anew", model_);
    baseline_.forget();
    prefill_track_.forget();
    decode_track_.forget();
    lane_missing_ = 0;
    proven_ = false;
    events.push_back(event);
  }
  const bool other_process = probe.pid && pid_ && *probe.pid != *pid_;
  if (probe.pid) pid_ = probe.pid;
  if (!other_process && probe.reload.empty()) return;
  ++status_.reloads;
  proven_ = false;
  event.kind = MonitorEvent::Kind::reload;
  event.sentence =
      probe.reload.empty()
          ? fmt::format("the model was loaded anew: process {} computes now", probe.pid.value_or(0))
          : "the model was loaded anew: " + probe.reload;
  events.push_back(std::move(event));
}

void LaneTrack::add(std::int64_t probe, std::optional<double> deviation, double spread) {
  dips_now_ = 0;
  stays_slower_ = false;
  if (!deviation) return;
  const double often = (slow_before_ + kExpectedSlow) / (compared_ + kExpectedOf);
  const double bound = std::ceil(std::log(kByChance) / std::log(std::min(often, 0.5)));
  if (is_slower(deviation, spread)) {
    ++slow_;
    stays_slower_ = slow_ >= std::max(kFewestSlower, static_cast<int>(bound));
  } else {
    slow_before_ += std::exchange(slow_, 0);
  }
  if (++compared_ > kRemembered) {
    compared_ /= 2;
    slow_before_ /= 2;
  }
  std::erase_if(dips_, [&](std::int64_t dip) { return probe - dip >= kDipsWithin; });
  if (!falls_deep(deviation, spread)) return;
  dips_.push_back(probe);
  dips_now_ = static_cast<int>(dips_.size());
}

void MonitorJudge::note_failures(const Probe& probe) {
  // Only what was asked tells: a server that is busy in between is not mended by that.
  const bool failed = probe.end == ProbeEnd::failed;
  if (probe.end == ProbeEnd::busy && failures_ > 0) ++busy_since_failure_;
  if (failed || probe.end == ProbeEnd::answered) busy_since_failure_ = 0;
  if (!failed && probe.end != ProbeEnd::answered) return;
  failures_ = failed ? failures_ + 1 : 0;
  constexpr std::size_t kLatest = 20;
  failed_.push_back(failed);
  if (failed_.size() > kLatest) failed_.erase(failed_.begin());
}

/// Rates against the baseline.
void MonitorJudge::compare(const Probe& probe, MonitorScene& scene) {
  scene.deviation = baseline_.deviation(probe.prefill, probe.decode);
  const RateDeviation& d = scene.deviation;
  prefill_track_.add(probe.number, d.prefill, d.prefill_spread);
  decode_track_.add(probe.number, d.decode, d.decode_spread);
  for (const LaneTrack* track : {&prefill_track_, &decode_track_}) {
    scene.stays_slower = scene.stays_slower || track->stays_slower();
    scene.slow_probes = std::max(scene.slow_probes, track->slow_probes());
    scene.dips = std::max(scene.dips, track->dips());
  }
  const bool missing =
      (baseline_.decode() && !probe.decode) || (baseline_.prefill() && !probe.prefill);
  lane_missing_ = missing ? lane_missing_ + 1 : 0;
  scene.lane_missing = lane_missing_;
}

MonitorScene MonitorJudge::scene_of(const Probe& probe) {
  MonitorScene scene{.probe = probe, .deviation = {}};
  note_failures(probe);
  constexpr std::ptrdiff_t kMany = 5;
  scene.failures = failures_;
  scene.busy_since_failure = busy_since_failure_;
  scene.failing_often = std::ranges::count(failed_, true) >= kMany;
  const bool tells = probe.end == ProbeEnd::answered || probe.state;
  unseen_ = tells ? 0 : unseen_ + 1;
  scene.unseen = unseen_;
  if (probe.end == ProbeEnd::unreachable) proven_ = false;
  scene.proven = proven_;
  scene.had_gpu = had_gpu_;
  if (probe.state == State::healthy || probe.state == State::cpu_only_machine) proven_ = true;
  if (probe.state == State::healthy || probe.state == State::partial_offload) had_gpu_ = true;
  // Beside others' requests rates are not its own.
  if (probe.end == ProbeEnd::answered && probe.contended.empty()) compare(probe, scene);
  return scene;
}

void MonitorJudge::stand(const Probe& probe, const MonitorRule& rule, MonitorFinding found,
                         std::vector<MonitorEvent>& events) {
  const Standing standing = found.standing;
  const Standing before = std::exchange(status_.standing, standing);
  const Standing known = last_answered_;
  if (standing != Standing::lost) last_answered_ = standing;
  // Not knowing yet is how every watch begins.
  if (status_.worst == Standing::unknown || is_worse(kWorstStandings, standing, status_.worst)) {
    status_.worst = standing;
  }
  if (before == standing) return;
  // One that was lost while it was down there did not fall again.
  if (is_fall(standing) && known != standing) ++status_.falls;
  MonitorEvent event = event_of(MonitorEvent::Kind::standing, probe);
  event.from = before;
  event.rule = rule.name;
  event.sentence = std::move(found.sentence);
  if (found.of_verdict && probe.cause) {
    event.why = probe.cause->why;
    event.fix = probe.cause->fix;
  }
  events.push_back(std::move(event));
}

void MonitorJudge::learn(const Probe& probe, std::vector<MonitorEvent>& events) {
  const bool well = status_.standing == Standing::steady || status_.standing == Standing::unknown ||
                    status_.standing == Standing::partial;
  // The first request after a load pages the weights in and compiles shaders.
  if (!well || probe.end != ProbeEnd::answered || !probe.contended.empty() ||
      !probe.reload.empty()) {
    return;
  }
  // A slow one is not how it is, in that lane.
  const RateDeviation d = baseline_.deviation(probe.prefill, probe.decode);
  const auto of_a_good_one = [](std::optional<double> rate, std::optional<double> lane,
                                double spread) {
    return is_slower(lane, spread) ? std::nullopt : rate;
  };
  const RateBaseline::Learned learned =
      baseline_.learn(of_a_good_one(probe.prefill, d.prefill, d.prefill_spread),
                      of_a_good_one(probe.decode, d.decode, d.decode_spread));
  status_.prefill = baseline_.prefill();
  status_.decode = baseline_.decode();
  if (learned == RateBaseline::Learned::nothing) return;
  MonitorEvent event = event_of(MonitorEvent::Kind::baseline_locked, probe);
  event.sentence = learned == RateBaseline::Learned::anew
                       ? "it is much faster than it was, which is its baseline from now on:"
                       : "its baseline from now on:";
  if (status_.prefill) event.sentence += fmt::format(" prefill {:.1f}", status_.prefill->median);
  if (status_.decode) {
    event.sentence +=
        fmt::format("{} decode {:.1f}", status_.prefill ? "," : "", status_.decode->median);
  }
  event.sentence += " tok/s";
  events.push_back(std::move(event));
}

std::vector<MonitorEvent> MonitorJudge::add(const Probe& probe) {
  std::vector<MonitorEvent> events;
  count(probe);
  note_state(probe);
  look_at_clock(probe, events);
  look_at_process(probe, events);
  const MonitorScene scene = scene_of(probe);
  for (const MonitorRule& rule : kRules) {
    Found found = rule.find(scene);
    if (!found) continue;
    stand(probe, rule, *std::move(found), events);
    break;
  }
  learn(probe, events);
  return events;
}

namespace {

struct Ending {
  ExitCode code = ExitCode::ok;
  MonitorVerdict verdict;
};

Ending ending_of(const MonitorStatus& s) {
  const bool asked_something = s.answered > 0 || s.idle > 0;
  const State worst = s.worst_state.value_or(State::no_placement_evidence);
  if (s.worst == Standing::fallen) {
    return {ExitCode::silent_cpu_fallback,
            {"SILENT CPU FALLBACK", "the CPU did the work, at least once."}};
  }
  if (s.worst == Standing::slow) {
    return {ExitCode::silent_cpu_fallback,
            {"RATES FELL",
             "it was much slower than its own baseline, and nothing tells that this "
             "was not a fall to the CPU."}};
  }
  if (s.worst == Standing::conflicting) {
    return {ExitCode::conflicting_evidence,
            {"CONFLICTING EVIDENCE", "witnesses disagreed on where it ran."}};
  }
  if (s.worst == Standing::partial) {
    return {ExitCode::partial_offload, {"PARTIAL OFFLOAD", "a part of the model was on the host."}};
  }
  if (!asked_something) {
    return {ExitCode::could_not_run, {"NO ANSWER", "the server answered no probe."}};
  }
  if (s.standing == Standing::lost) {
    return {ExitCode::could_not_run, {"SERVER LOST", "no fall was seen before it was lost."}};
  }
  // What was well long ago and was not seen since is not known.
  const bool seen_to_the_end = s.standing == Standing::steady;
  if (worst == State::healthy && seen_to_the_end) {
    return {ExitCode::ok, {"HEALTHY", "every probe ran on the GPU."}};
  }
  if (worst == State::cpu_only_machine && seen_to_the_end) {
    return {ExitCode::ok, {"CPU ONLY MACHINE", "it ran on the CPU, and there is no GPU here."}};
  }
  if (s.answered == 0) {
    return {ExitCode::no_timing_evidence, {"NO TIMING EVIDENCE", "nobody asked it for anything."}};
  }
  const bool compared = s.prefill || s.decode;
  if (!seen_to_the_end && compared) {
    return {ExitCode::ok,
            {"NO PLACEMENT EVIDENCE",
             "nothing tells where it runs; no fall was seen while its rates were told."}};
  }
  return {ExitCode::ok,
          {"NO PLACEMENT EVIDENCE",
           compared ? "nothing tells where it runs; its rates did not fall below its own baseline."
                    : "nothing tells where it runs, and its rates never agreed on a baseline."}};
}

}  // namespace

ExitCode exit_code_of(const MonitorStatus& status, bool strict) {
  const Ending ending = ending_of(status);
  const bool unproven = strict && ending.verdict.word == "NO PLACEMENT EVIDENCE";
  return unproven ? ExitCode::no_timing_evidence : ending.code;
}

MonitorVerdict verdict_of(const MonitorStatus& status) { return ending_of(status).verdict; }

}  // namespace picchio
