#include "verdict/recording.h"

#include "base/median.h"

#include <algorithm>
#include <map>
#include <vector>

namespace picchio {
namespace {

// A counter of energy and the power readings are two views of one thing; one that is off by more
// than this is frozen, in another unit, or of another device (AMD's accumulator on some boards).
constexpr double kCountersApart = 2;
// Power readings farther apart than this leave a hole that nothing tells about.
constexpr Micros kWidestGap{3'000'000};

// More than any machine has; what is added up stays below it.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

struct Point {
  Micros at{};
  double value = 0;
};

bool within(Micros at, std::span<const TimeSpan> spans) {
  return std::ranges::any_of(spans,
                             [&](const TimeSpan& s) { return at >= s.begin && at <= s.end; });
}

const GpuReading* reading_at(const GpuSample& sample, std::size_t gpu) {
  return gpu < sample.readings.size() ? &sample.readings[gpu] : nullptr;
}

/// Straight lines between the points; beyond them the last line goes on. At least two points.
double value_at(const std::vector<Point>& points, Micros at) {
  auto after = std::ranges::lower_bound(points, at, {}, &Point::at);
  if (after == points.begin()) ++after;
  if (after == points.end()) --after;
  const Point& b = *after;
  const Point& a = *std::prev(after);
  const double length = seconds(b.at - a.at);
  if (length <= 0) return b.value;
  return a.value + (b.value - a.value) * seconds(at - a.at) / length;
}

/// Where the counter moved. A driver moves it in steps of its own, and a step was taken somewhere
/// between the look that shows it and the look before: in the middle, on average.
std::vector<Point> counter_steps(const Telemetry& telemetry, std::size_t gpu) {
  std::vector<Point> steps;
  std::optional<Point> last;
  for (const GpuSample& sample : telemetry.samples) {
    const GpuReading* reading = reading_at(sample, gpu);
    if (reading == nullptr || !reading->energy_joules) continue;
    const Point now{sample.at, *reading->energy_joules};
    if (last && now.value < last->value) return {};  // set back: no difference means anything
    if (last && now.value > last->value) {
      steps.push_back({last->at + (now.at - last->at) / 2, now.value});
    }
    last = now;
  }
  return steps;
}

std::optional<double> by_counter(const Telemetry& telemetry, std::size_t gpu, TimeSpan span) {
  const std::vector<Point> steps = counter_steps(telemetry, gpu);
  if (steps.size() < 3) return std::nullopt;
  const Micros spacing =
      (steps.back().at - steps.front().at) / static_cast<std::int64_t>(steps.size() - 1);
  // Beyond the steps there is only a guess; two of them more are a short one.
  if (span.begin < steps.front().at - 2 * spacing || span.end > steps.back().at + 2 * spacing) {
    return std::nullopt;
  }
  return value_at(steps, span.end) - value_at(steps, span.begin);
}

std::optional<double> by_power(const Telemetry& telemetry, std::size_t gpu, TimeSpan span) {
  std::vector<Point> watts;
  for (const GpuSample& sample : telemetry.samples) {
    const GpuReading* reading = reading_at(sample, gpu);
    if (reading != nullptr && reading->power_watts) {
      watts.push_back({sample.at, *reading->power_watts});
    }
  }
  if (watts.size() < 2 || span.begin < watts.front().at ||
      span.end > watts.back().at + kWidestGap) {
    return std::nullopt;
  }
  double joules = 0;
  for (std::size_t i = 1; i < watts.size(); ++i) {
    const Micros from = std::max(span.begin, watts[i - 1].at);
    const Micros to = std::min(span.end, watts[i].at);
    if (to <= from) continue;
    if (watts[i].at - watts[i - 1].at > kWidestGap) return std::nullopt;
    const double mean = (value_at(watts, from) + value_at(watts, to)) / 2;
    joules += mean * seconds(to - from);
  }
  // The last reading stands for the little that lies behind it.
  if (span.end > watts.back().at) {
    joules += watts.back().value * seconds(span.end - std::max(span.begin, watts.back().at));
  }
  return joules;
}

/// GPU seconds of all watched processes so far: of each its last value, so that one that ended
/// takes nothing away.
std::vector<Point> gpu_seconds(const Telemetry& telemetry, std::size_t gpu) {
  std::map<int, double> by_pid;
  std::vector<Point> sums;
  double sum = 0;
  bool told = false;
  for (const ProcessSample& sample : telemetry.processes) {
    for (const GpuProcessUse& use : sample.use) {
      if (use.device != static_cast<int>(gpu) || !use.gpu_seconds) continue;
      told = true;
      double& kept = by_pid[use.pid];
      sum += std::max(0.0, *use.gpu_seconds - kept);
      kept = std::max(kept, *use.gpu_seconds);
    }
    sums.push_back({sample.at, sum});
  }
  return told ? sums : std::vector<Point>{};
}

std::optional<double> share_by_seconds(const Telemetry& telemetry, std::size_t gpu,
                                       std::span<const TimeSpan> spans) {
  const std::vector<Point> sums = gpu_seconds(telemetry, gpu);
  if (sums.size() < 2) return std::nullopt;
  double used = 0;
  double length = 0;
  for (const TimeSpan& span : spans) {
    const Micros begin = std::max(span.begin, sums.front().at);
    const Micros end = std::min(span.end, sums.back().at);
    if (end <= begin) continue;
    used += value_at(sums, end) - value_at(sums, begin);
    length += seconds(end - begin);
  }
  if (length <= 0) return std::nullopt;
  return std::clamp(used / length, 0.0, 1.0);  // several queues can add up to more than the time
}

std::optional<double> share_by_percent(const Telemetry& telemetry, std::size_t gpu,
                                       std::span<const TimeSpan> spans) {
  double sum = 0;
  int count = 0;
  for (const ProcessSample& sample : telemetry.processes) {
    if (!within(sample.at, spans)) continue;
    std::optional<double> percent;
    for (const GpuProcessUse& use : sample.use) {
      if (use.device != static_cast<int>(gpu) || !use.busy_percent) continue;
      percent = percent.value_or(0) + *use.busy_percent;
    }
    if (!percent) continue;
    sum += std::min(*percent, 100.0);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count / 100;
}

/// True where the meter can tell processes apart, was asked, and named none of ours.
bool known_to_have_none(const Telemetry& telemetry, std::size_t gpu,
                        std::span<const TimeSpan> spans, GpuFigure figure) {
  if (gpu >= telemetry.gpus.size() || why_missing(telemetry.gpus[gpu], figure) != nullptr) {
    return false;
  }
  int looks = 0;
  for (const ProcessSample& sample : telemetry.processes) {
    if (!within(sample.at, spans)) continue;
    ++looks;
    for (const GpuProcessUse& use : sample.use) {
      if (use.device == static_cast<int>(gpu)) return false;
    }
  }
  return looks > 0;
}

std::optional<std::int64_t> most_bytes(const Telemetry& telemetry, std::size_t gpu,
                                       std::span<const TimeSpan> spans,
                                       std::optional<std::int64_t> GpuProcessUse::* bytes) {
  std::optional<std::int64_t> most;
  for (const ProcessSample& sample : telemetry.processes) {
    if (!within(sample.at, spans)) continue;
    std::optional<std::int64_t> sum;
    for (const GpuProcessUse& use : sample.use) {
      const std::optional<std::int64_t> value = use.*bytes;
      if (use.device != static_cast<int>(gpu) || !value) continue;
      sum = std::min(sum.value_or(0) + *value, kMostBytes);
    }
    if (sum) most = std::max(most.value_or(0), *sum);
  }
  return most;
}

}  // namespace

const MissingFigure* why_missing(const MeteredGpu& gpu, GpuFigure figure) {
  const auto found = std::ranges::find(gpu.missing, figure, &MissingFigure::figure);
  return found == gpu.missing.end() ? nullptr : &*found;
}

Stretch stretch_of(const Telemetry& telemetry, std::size_t gpu, std::span<const TimeSpan> spans) {
  Stretch out;
  std::vector<double> busy;
  std::vector<double> watts;
  std::vector<std::int64_t> memory;
  for (const GpuSample& sample : telemetry.samples) {
    const GpuReading* reading = reading_at(sample, gpu);
    if (reading == nullptr || !within(sample.at, spans)) continue;
    if (!reading->lost.empty()) {
      out.lost = reading->lost;
      continue;
    }
    if (reading->asleep) {
      ++out.asleep;
      continue;
    }
    ++out.samples;
    if (reading->busy_percent) busy.push_back(*reading->busy_percent);
    if (reading->power_watts) watts.push_back(*reading->power_watts);
    if (reading->memory_bytes) memory.push_back(*reading->memory_bytes);
    if (!reading->throttling) continue;
    if (reading->throttling->thermal || reading->throttling->hardware) ++out.throttled;
    if (reading->throttling->power_cap) ++out.power_capped;
  }
  if (!busy.empty()) out.busy_peak = std::ranges::max(busy);
  if (!memory.empty()) {
    out.memory_peak = std::ranges::max(memory);
    std::ranges::sort(memory);
    const std::int64_t above = memory[memory.size() / 2];
    const std::int64_t below = memory[(memory.size() - 1) / 2];
    out.memory_median = below + (above - below) / 2;
  }
  out.busy_median = median_of(std::move(busy));
  out.watts_median = median_of(std::move(watts));
  return out;
}

std::optional<Energy> energy_of(const Telemetry& telemetry, std::size_t gpu, TimeSpan span) {
  if (span.end <= span.begin) return std::nullopt;
  const std::optional<double> counted = by_counter(telemetry, gpu, span);
  const std::optional<double> area = by_power(telemetry, gpu, span);
  const bool agree =
      counted && area && *counted <= *area * kCountersApart && *counted * kCountersApart >= *area;
  if (counted && (agree || !area)) return Energy{*counted, true};
  if (area) return Energy{*area, false};
  return std::nullopt;
}

std::optional<double> tree_share(const Telemetry& telemetry, std::size_t gpu,
                                 std::span<const TimeSpan> spans) {
  if (const auto share = share_by_seconds(telemetry, gpu, spans)) return share;
  if (const auto share = share_by_percent(telemetry, gpu, spans)) return share;
  if (known_to_have_none(telemetry, gpu, spans, GpuFigure::process_busy)) return 0.0;
  return std::nullopt;
}

std::optional<std::int64_t> tree_memory(const Telemetry& telemetry, std::size_t gpu,
                                        std::span<const TimeSpan> spans) {
  if (const auto most = most_bytes(telemetry, gpu, spans, &GpuProcessUse::memory_bytes)) {
    return most;
  }
  if (known_to_have_none(telemetry, gpu, spans, GpuFigure::process_memory)) return 0;
  return std::nullopt;
}

std::optional<std::int64_t> tree_evicted(const Telemetry& telemetry, std::size_t gpu,
                                         std::span<const TimeSpan> spans) {
  return most_bytes(telemetry, gpu, spans, &GpuProcessUse::evicted_bytes);
}

}  // namespace picchio
