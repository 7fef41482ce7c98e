#include "verdict/lanes.h"

#include "base/median.h"
#include "base/text.h"
#include "verdict/account.h"
#include "verdict/answers.h"
#include "verdict/drivers.h"
#include "verdict/gpu_meter.h"
#include "verdict/gpu_use.h"
#include "verdict/roofline.h"
#include "verdict/served_log.h"
#include "verdict/server_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace picchio {
namespace {

// A pass whose prompt cost ten times its siblings' (shader compilation, runner start): honest
// passes were within 1.6 of each other, spoiled ones 203 and more apart.
constexpr double kOffSiblings = 10;
// Two clocks of one run: sampling and printing lie between them, 5 % of a small model's decode.
constexpr double kClocksApart = 0.15;
// Placements of two passes of one run.
constexpr double kShareApart = 0.01;

/// The engine's own clock, "0.05.126.769 I ..." (minutes, seconds, milliseconds, microseconds since
/// its start), of line `number` of its log.
std::optional<Micros> log_stamp(std::string_view log, int number) {
  for (int i = 1; i < number; ++i) {
    const std::size_t end = log.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    log.remove_prefix(end + 1);
  }
  const auto fields = split(log.substr(0, log.find_first_of(" \n")), '.');
  if (fields.size() != 4) return std::nullopt;
  std::int64_t micros = 0;
  constexpr std::int64_t kUnits[] = {1, 60, 1000, 1000};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = parse_int(fields[i]);
    if (!value || *value < 0 || *value > 1'000'000) return std::nullopt;
    micros = micros * kUnits[i] + *value;
  }
  return Micros(micros);
}

/// The reader has settled the printed rate against its time and count; it is the finer figure.
std::optional<double> rate_of(std::optional<std::int64_t> count, std::optional<double> ms,
                              std::optional<double> settled) {
  if (settled && std::isfinite(*settled) && *settled > 0) return settled;
  if (count && ms && *count > 0 && *ms > 0) return static_cast<double>(*count) * 1000 / *ms;
  return std::nullopt;
}

Micros micros_of(double ms) { return Micros(static_cast<std::int64_t>(ms * 1000)); }

void read_lanes(Pass& pass) {
  const EngineTimings& t = pass.timings;
  pass.lanes.prefill = rate_of(t.prompt_tokens, t.prompt_ms, t.prefill_tokens_per_second);
  pass.lanes.decode = rate_of(t.eval_runs, t.eval_ms, t.decode_tokens_per_second);
  const std::optional<std::int64_t> tokens = generated_tokens(t);
  if (tokens && pass.wall_seconds > 0) {
    pass.lanes.wallclock = static_cast<double>(*tokens) / pass.wall_seconds;
  }
}

void read_breakdown(Pass& pass, const Windows& windows) {
  const EngineTimings& t = pass.timings;
  if (t.prompt_ms) pass.prefill_seconds = *t.prompt_ms / 1000;
  if (t.eval_ms) pass.decode_seconds = *t.eval_ms / 1000;
  if (!t.load_ms) return;
  pass.load_seconds = *t.load_ms / 1000;
  // llama.cpp counts up to the first evaluation: the warm-up, or without one the prompt itself. It
  // cannot have taken longer than until the measured prompt began.
  if (windows.prefill_begin) {
    pass.load_seconds =
        std::clamp(*pass.load_seconds, 0.0, std::max(0.0, seconds(*windows.prefill_begin)));
  }
}

void read_cpu(Pass& pass, const RawPass& raw, const Windows& w) {
  if (w.prefill_begin && w.decode_begin) {
    pass.cpu.prefill_cores = cores_busy(raw.cpu, *w.prefill_begin, *w.decode_begin);
  }
  if (w.decode_begin && w.decode_end) {
    pass.cpu.decode_cores = cores_busy(raw.cpu, *w.decode_begin, *w.decode_end);
  }
}

void remark_tokens(Pass& pass, const RawRun& raw) {
  const std::optional<std::int64_t> tokens = generated_tokens(pass.timings);
  if (!tokens || raw.tokens_asked <= 0 || *tokens >= raw.tokens_asked) return;
  const std::string fewer = fmt::format("{} of {} tokens generated", *tokens, raw.tokens_asked);
  pass.remarks.push_back(fewer);
  // Load and prefill weigh more on fewer tokens; the decode rate suffers only from very few.
  pass.lanes.wallclock_abstain = fewer;
  if (*tokens * 2 < raw.tokens_asked) pass.lanes.decode_abstain = fewer;
}

void remark_prompt(Pass& pass) {
  const std::optional<std::int64_t> cached = pass.log.prompt_tokens_cached;
  if (!pass.answer && cached && *cached > 0) {
    pass.lanes.prefill_abstain = fmt::format("{} prompt tokens came from a cache", *cached);
    pass.remarks.push_back(pass.lanes.prefill_abstain);
  }
  const Load* load = main_load(pass.log);
  const std::optional<std::int64_t> prompt = pass.timings.prompt_tokens;
  if (load == nullptr || !load->n_ctx || !prompt || *load->n_ctx <= 0) return;
  const std::int64_t tokens = generated_tokens(pass.timings).value_or(0);
  if (*prompt + tokens > *load->n_ctx) {
    pass.remarks.push_back(
        fmt::format("prompt and answer ({} tokens) did not fit context {}: truncated",
                    *prompt + tokens, *load->n_ctx));
    pass.lanes.prefill_abstain = "prompt truncated";
  }
}

void remark_clocks(Pass& pass, const RawPass& raw) {
  const std::optional<double> arrived = arrival_rate(raw, pass.timings);
  if (!arrived || !pass.lanes.decode) return;
  const double apart = std::fabs(*arrived - *pass.lanes.decode) / *pass.lanes.decode;
  if (apart <= kClocksApart) return;
  pass.remarks.push_back(fmt::format("engine says {:.1f} tok/s decode, the text arrived at {:.1f}",
                                     *pass.lanes.decode, *arrived));
}

/// A worker on this machine speaks for itself: with no GPU within its reach it computes on the CPU.
/// One that could reach a GPU proves nothing.
void ask_local_workers(EngineLog& log, const RawPass& raw) {
  const Load* load = main_load(log);
  if (load == nullptr) return;
  for (const LocalWorker& worker : raw.process.workers) {
    if (worker.endpoint.empty() ||
        !drivers_in_reach(worker.libraries, worker.device_nodes).none()) {
      continue;
    }
    const bool held = std::ranges::any_of(load->buffers, [&](const BufferLine& line) {
      if (line.kind != DeviceKind::remote) return false;
      const Device* device = find_device(log, line.device);
      return line.device.contains(worker.endpoint) ||
             (device != nullptr && device->description.contains(worker.endpoint));
    });
    if (!held) continue;
    log.events.push_back({LogEventKind::remote_is_cpu, worker.endpoint,
                          "the worker on this machine has no GPU driver mapped", 0});
  }
}

Pass pass_of(const RawRun& run, const RawPass& raw, EngineLog log, ReadExchange exchange) {
  Pass pass;
  pass.log = std::move(log);
  pass.answer = std::move(exchange.answer);
  pass.claim = exchange.claim;
  if (run.server && !keep_own_load(pass.log, *run.server)) {
    pass.remarks.emplace_back(
        "the server's log holds another model's load: not read for placement");
  }
  ask_local_workers(pass.log, raw);
  if (pass.answer) {
    pass.timings = timings_of(*pass.answer);
  } else if (!pass.log.timings.empty()) {
    pass.timings = pass.log.timings.back();
  }
  pass.wall_seconds = seconds(raw.wall);
  const Windows windows = windows_of(raw, pass.timings);
  read_lanes(pass);
  read_breakdown(pass, windows);
  read_cpu(pass, raw, windows);
  remark_tokens(pass, run);
  remark_prompt(pass);
  if (pass.answer) remark_answer(pass, *pass.answer, raw);
  remark_clocks(pass, raw);
  if (raw.repeats > 0) {
    pass.remarks.push_back(
        fmt::format("measured {} times, since the engine lost its last lines", raw.repeats + 1));
  }
  if (raw.exit_code != 0) {
    pass.remarks.push_back(fmt::format("the engine exited with {}", raw.exit_code));
  }
  return pass;
}

/// A prompt much shorter than its siblings': something was reused or cut without a word.
void compare_prompts(std::vector<Pass>& passes) {
  std::int64_t longest = 0;
  for (const Pass& pass : passes)
    longest = std::max(longest, pass.timings.prompt_tokens.value_or(0));
  for (Pass& pass : passes) {
    const std::optional<std::int64_t> prompt = pass.timings.prompt_tokens;
    if (!prompt || *prompt * 2 >= longest || !pass.lanes.prefill_abstain.empty()) continue;
    pass.lanes.prefill_abstain =
        fmt::format("{} prompt tokens evaluated where a sibling took {}", *prompt, longest);
    pass.remarks.push_back(pass.lanes.prefill_abstain);
  }
}

/// A server that reuses a prompt and counts it all the same shows in the rate alone.
void compare_warm(std::vector<Pass>& passes) {
  std::optional<double> slowest;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    const Lanes& lanes = passes[i].lanes;
    if (!lanes.prefill || !lanes.prefill_abstain.empty()) continue;
    slowest = std::min(*lanes.prefill, slowest.value_or(*lanes.prefill));
  }
  for (std::size_t i = 1; slowest && i < passes.size(); ++i) {
    Lanes& lanes = passes[i].lanes;
    if (!passes[i].answer || !lanes.prefill || !lanes.prefill_abstain.empty()) continue;
    const double times = *lanes.prefill / *slowest;
    if (times < kOffSiblings) continue;
    lanes.prefill_abstain = fmt::format("{:.0f} times off the other passes", times);
    passes[i].remarks.push_back("prefill " + lanes.prefill_abstain);
  }
}

void compare_first(std::vector<Pass>& passes) {
  if (passes.size() < 2) return;
  const std::optional<double> cold = passes.front().lanes.prefill;
  if (!cold) return;
  std::vector<double> warm;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    if (const std::optional<double> rate = passes[i].lanes.prefill) warm.push_back(*rate);
  }
  if (warm.empty()) return;
  Lanes& first = passes.front().lanes;
  const double middle = median_of(std::move(warm)).value_or(*cold);
  const double times = std::max(*cold / middle, middle / *cold);
  if (times < kOffSiblings || !first.prefill_abstain.empty()) return;
  first.prefill_abstain = fmt::format("{:.0f} times off the other passes", times);
  passes.front().remarks.push_back("prefill " + first.prefill_abstain);
}

LaneSummary summary_of(const std::vector<Pass>& passes, std::optional<double> Lanes::* rate,
                       std::string Lanes::* abstain) {
  LaneSummary out;
  std::vector<double> values;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    const Lanes& lanes = passes[i].lanes;
    const std::optional<double> value = lanes.*rate;
    if (!value) continue;
    if ((lanes.*abstain).empty()) {
      values.push_back(*value);
    } else if (out.abstain.empty()) {
      out.abstain = lanes.*abstain;
    }
  }
  if (values.empty()) return out;
  out.abstain.clear();
  out.low = std::ranges::min(values);
  out.high = std::ranges::max(values);
  out.median = median_of(std::move(values));
  return out;
}

std::string share_text(const Placement& placement) {
  if (!placement.weights_on_gpu_fraction) return std::string(name_of(placement.shape));
  return fmt::format("{} ({:.0f}% of weights)", name_of(placement.shape),
                     100 * *placement.weights_on_gpu_fraction);
}

std::string disagreement_of(const std::vector<Pass>& passes, const Placement& first,
                            const ModelFile* model) {
  for (std::size_t i = 1; i < passes.size(); ++i) {
    const Placement other = placement_of(passes[i].log, model);
    // A pass that cannot tell contradicts nobody.
    if (other.shape == Shape::unknown || first.shape == Shape::unknown) continue;
    const double apart = std::fabs(other.weights_on_gpu_fraction.value_or(0) -
                                   first.weights_on_gpu_fraction.value_or(0));
    if (other.shape == first.shape && apart <= kShareApart) continue;
    return fmt::format("pass 1 ran {}, pass {} ran {}", share_text(first), i + 1,
                       share_text(other));
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> generated_tokens(const EngineTimings& timings) {
  if (!timings.eval_runs || *timings.eval_runs <= 0) return std::nullopt;
  return *timings.eval_runs + (timings.eval_counts_first ? 0 : 1);
}

Micros arrival_span(const RawPass& raw, std::int64_t tokens) {
  if (!raw.first_token || !raw.last_token) return {};
  // Half as many pieces as tokens: then the first and the last are within two tokens of the truth.
  if (raw.stdout_reads < 16 || raw.stdout_reads * 2 < tokens) return {};
  return std::max(Micros{}, *raw.last_token - *raw.first_token);
}

std::optional<double> arrival_rate(const RawPass& raw, const EngineTimings& timings) {
  const std::optional<std::int64_t> tokens = generated_tokens(timings);
  if (!tokens || *tokens < 2) return std::nullopt;
  const Micros span = arrival_span(raw, *tokens);
  if (span <= Micros{}) return std::nullopt;
  return static_cast<double>(*tokens - 1) / seconds(span);
}

Windows windows_of(const RawPass& raw, const EngineTimings& timings) {
  Windows out;
  if (arrival_span(raw, generated_tokens(timings).value_or(0)) > Micros{}) {
    out.decode_begin = raw.first_token;
    out.decode_end = raw.last_token;
  } else if (timings.line > 0 && static_cast<std::size_t>(timings.line) <= raw.line_stamps.size() &&
             timings.eval_ms) {
    out.decode_end = raw.line_stamps[static_cast<std::size_t>(timings.line) - 1];
    out.decode_begin = *out.decode_end - micros_of(*timings.eval_ms);
  } else if (timings.line > 0 && raw.line_stamps.empty() && timings.eval_ms) {
    // A run kept without stamps of ours.
    out.decode_end = log_stamp(raw.log, timings.line);
    if (out.decode_end) out.decode_begin = *out.decode_end - micros_of(*timings.eval_ms);
  }
  if (out.decode_begin && timings.prompt_ms) {
    out.prefill_begin = *out.decode_begin - micros_of(*timings.prompt_ms);
  }
  return out;
}

std::optional<double> cores_busy(const std::vector<CpuSample>& samples, Micros begin, Micros end) {
  constexpr Micros kShortest{100'000};
  if (samples.size() < 2 || end - begin < kShortest) return std::nullopt;
  const Micros first = samples.front().at;
  const Micros last = samples.back().at;
  const Micros spacing = (last - first) / static_cast<std::int64_t>(samples.size() - 1);
  // Samples farther apart than half the window would smear the neighbouring phase into it.
  if (end - begin < 2 * spacing) return std::nullopt;
  // The last sample is taken before the process ends; a little of the window may lie beyond it.
  if (begin < first || end > last + 2 * spacing) return std::nullopt;
  const auto at = [&](Micros moment) {
    const auto after = std::ranges::lower_bound(samples, moment, {}, &CpuSample::at);
    if (after == samples.end()) return samples.back().cpu_seconds;
    if (after == samples.begin()) return after->cpu_seconds;
    const auto before = std::prev(after);
    const double part = seconds(moment - before->at) / seconds(after->at - before->at);
    return before->cpu_seconds + part * (after->cpu_seconds - before->cpu_seconds);
  };
  const Micros until = std::min(end, last);
  if (until <= begin) return std::nullopt;
  const double used = at(until) - at(begin);
  return used < 0 ? std::nullopt : std::optional(used / seconds(until - begin));
}

Run assemble(RawRun raw, std::vector<EngineLog> logs, std::vector<ReadExchange> exchanges) {
  Run run;
  run.raw = std::move(raw);
  logs.resize(run.raw.passes.size());
  exchanges.resize(run.raw.passes.size());
  for (std::size_t i = 0; i < run.raw.passes.size(); ++i) {
    run.passes.push_back(
        pass_of(run.raw, run.raw.passes[i], std::move(logs[i]), std::move(exchanges[i])));
  }
  compare_prompts(run.passes);
  compare_first(run.passes);
  compare_warm(run.passes);
  run.warm_prefill = summary_of(run.passes, &Lanes::prefill, &Lanes::prefill_abstain);
  run.warm_decode = summary_of(run.passes, &Lanes::decode, &Lanes::decode_abstain);
  run.warm_wallclock = summary_of(run.passes, &Lanes::wallclock, &Lanes::wallclock_abstain);
  if (!run.raw.prompt_note.empty()) {
    run.notes.push_back(fmt::format("prompt shortened: {}", run.raw.prompt_note));
  }
  if (run.passes.empty()) return run;
  const ModelFile* model = run.raw.model ? &*run.raw.model : nullptr;
  run.gpu_use = gpu_use_of(run.raw, run.passes);
  run.placement = placement_of(run.passes.front().log, model);
  mark_gpus_in_use(run);
  run.disagreement = disagreement_of(run.passes, run.placement, model);
  if (const Load* load = main_load(run.passes.front().log)) run.context = load->n_ctx;
  if (run.raw.server) {
    run.context = served_context(run);
    std::ranges::copy(run.raw.server->notes, std::back_inserter(run.notes));
  }
  if (run.context && *run.context < run.raw.context_asked) {
    run.notes.push_back(
        fmt::format("context is {}, not the {} asked for", *run.context, run.raw.context_asked));
  }
  run.roofline = roofline_of(run);
  return run;
}

}  // namespace picchio
