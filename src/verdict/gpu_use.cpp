#include "verdict/gpu_use.h"

#include "verdict/lanes.h"
#include "verdict/recording.h"

#include <algorithm>

namespace picchio {
namespace {

// Between the last token and the end of the process lie printing and freeing. Where neither
// arrivals nor stamps were recorded, the windows end this long before the process does.
constexpr Micros kTail{300'000};
// A driver's power reading is an average over up to a second, and its energy counter moves in steps
// of 100 ms: shorter than this in all, a phase has no energy of its own.
constexpr double kShortestForEnergy = 1;

// Of a run that somebody kept: more is a slip in its file.
constexpr Micros kLongestPass = std::chrono::hours(24 * 365);

constexpr int kAsleepTimes = 10;

struct Spans {
  std::vector<TimeSpan> passes;
  std::vector<TimeSpan> prefill;
  std::vector<TimeSpan> decode;
  std::vector<TimeSpan> work;
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
};

Windows windows_by_the_end(const RawPass& raw, const EngineTimings& timings) {
  Windows out;
  if (!timings.eval_ms || raw.wall <= kTail) return out;
  const auto micros = [](double ms) { return Micros(static_cast<std::int64_t>(ms * 1000)); };
  out.decode_end = raw.wall - kTail;
  out.decode_begin = *out.decode_end - micros(*timings.eval_ms);
  if (timings.prompt_ms) out.prefill_begin = *out.decode_begin - micros(*timings.prompt_ms);
  return out;
}

void add_pass(Spans& spans, const RawPass& raw, const Pass& pass) {
  if (!raw.began || raw.wall < Micros{} || raw.wall > kLongestPass) return;
  const Micros began = *raw.began;
  spans.passes.push_back({began, began + raw.wall});
  Windows windows = windows_of(raw, pass.timings);
  if (!windows.decode_end) windows = windows_by_the_end(raw, pass.timings);
  if (!windows.decode_begin || !windows.decode_end) return;
  const TimeSpan decode{began + *windows.decode_begin, began + *windows.decode_end};
  spans.decode.push_back(decode);
  spans.generated_tokens += pass.timings.eval_runs.value_or(0);
  TimeSpan work = decode;
  if (windows.prefill_begin) {
    work.begin = began + *windows.prefill_begin;
    spans.prefill.push_back({work.begin, decode.begin});
    spans.prompt_tokens += pass.timings.prompt_tokens.value_or(0);
  }
  spans.work.push_back(work);
}

GpuPhase phase_of(const Telemetry& telemetry, std::size_t gpu, const std::vector<TimeSpan>& spans,
                  std::int64_t tokens) {
  GpuPhase phase;
  const Stretch stretch = stretch_of(telemetry, gpu, spans);
  phase.samples = stretch.samples;
  phase.tokens = tokens;
  phase.busy_median = stretch.busy_median;
  phase.busy_peak = stretch.busy_peak;
  phase.watts = stretch.watts_median;
  phase.tree_share = tree_share(telemetry, gpu, spans);
  double joules = 0;
  bool counted = true;
  bool whole = true;
  for (const TimeSpan& span : spans) {
    phase.seconds += seconds(span.end - span.begin);
    const std::optional<Energy> energy = energy_of(telemetry, gpu, span);
    whole = whole && energy.has_value();
    if (!energy) continue;
    joules += energy->joules;
    counted = counted && energy->from_counter;
  }
  if (whole && !spans.empty() && phase.seconds >= kShortestForEnergy) {
    phase.joules = joules;
    phase.joules_from_counter = counted;
    if (!phase.watts) phase.watts = joules / phase.seconds;
  }
  return phase;
}

GpuUse use_of(const Telemetry& telemetry, std::size_t gpu, const Spans& spans) {
  GpuUse use;
  use.gpu = static_cast<int>(gpu);
  const TimeSpan before{Micros{0}, spans.passes.front().begin};
  const Stretch idle = stretch_of(telemetry, gpu, std::span(&before, 1));
  use.idle_busy = idle.busy_median;
  // What is powered down is idle, and nobody has memory on it.
  const bool slept = idle.samples == 0 && idle.asleep > 0;
  if (slept) use.idle_busy = 0;
  use.idle_watts = idle.watts_median;
  use.idle_samples = idle.samples;
  use.prefill = phase_of(telemetry, gpu, spans.prefill, spans.prompt_tokens);
  use.decode = phase_of(telemetry, gpu, spans.decode, spans.generated_tokens);
  use.work = phase_of(telemetry, gpu, spans.work, spans.prompt_tokens + spans.generated_tokens);
  const Stretch passes = stretch_of(telemetry, gpu, spans.passes);
  const std::optional<std::int64_t> held = slept ? 0 : idle.memory_median;
  if (passes.memory_peak && held) use.memory_step = *passes.memory_peak - *held;
  use.tree_memory = tree_memory(telemetry, gpu, spans.passes);
  use.tree_evicted = tree_evicted(telemetry, gpu, spans.passes);
  use.lost = passes.lost;
  // Somebody's nvidia-smi wakes it for a look or two.
  use.asleep = passes.asleep > 0 && passes.samples * kAsleepTimes <= passes.asleep;
  const Stretch work = stretch_of(telemetry, gpu, spans.work);
  if (work.samples > 0) {
    use.throttled_share = static_cast<double>(work.throttled) / work.samples;
    use.power_capped_share = static_cast<double>(work.power_capped) / work.samples;
  }
  return use;
}

}  // namespace

std::vector<GpuUse> gpu_use_of(const RawRun& raw, const std::vector<Pass>& passes) {
  std::vector<GpuUse> out;
  Spans spans;
  for (std::size_t i = 0; i < raw.passes.size() && i < passes.size(); ++i) {
    add_pass(spans, raw.passes[i], passes[i]);
  }
  if (spans.passes.empty()) return out;
  for (std::size_t gpu = 0; gpu < raw.telemetry.gpus.size(); ++gpu) {
    out.push_back(use_of(raw.telemetry, gpu, spans));
  }
  return out;
}

}  // namespace picchio
