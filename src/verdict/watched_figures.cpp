#include "verdict/watched_figures.h"

#include "verdict/recording.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace picchio {
namespace {

// Below this a GPU does nothing that is worth a process's name.
constexpr double kNothing = 5;

TimeSpan whole(const WatchRecord& record) { return {Micros{0}, record.length}; }

/// What the device itself said closest before `at`.
std::optional<double> device_busy(const Telemetry& telemetry, std::size_t gpu, Micros at) {
  auto after = std::ranges::upper_bound(telemetry.samples, at, {}, &GpuSample::at);
  if (after == telemetry.samples.begin()) return std::nullopt;
  const GpuSample& sample = *std::prev(after);
  if (gpu >= sample.readings.size()) return std::nullopt;
  return sample.readings[gpu].busy_percent;
}

/// Sums rows of one look into a share.
class ShareSum {
 public:
  void add(const GpuProcessUse& use) {
    if (use.busy_percent) busy_ = busy_.value_or(0) + *use.busy_percent;
    if (use.memory_bytes) memory_ = memory_.value_or(0) + *use.memory_bytes;
    if (use.evicted_bytes) evicted_ = evicted_.value_or(0) + *use.evicted_bytes;
    there_ = true;
  }

  /// `quiet`: the whole device did nothing at this look, so neither did a part of it.
  void close(ProcessShare& into, double& busy_sum, bool quiet) const {
    if (!there_) return;
    ++into.looks;
    const std::optional<double> busy = busy_ || !quiet ? busy_ : std::optional(0.0);
    if (busy) {
      const double percent = std::min(*busy, 100.0);
      ++into.looks_told;
      if (percent >= kProcessWorking) ++into.looks_working;
      busy_sum += percent;
      into.busy_peak = std::max(into.busy_peak.value_or(0), percent);
    }
    if (memory_) into.memory_peak = std::max(into.memory_peak.value_or(0), *memory_);
    if (evicted_) into.evicted_peak = std::max(into.evicted_peak.value_or(0), *evicted_);
  }

 private:
  bool there_ = false;
  std::optional<double> busy_;
  std::optional<std::int64_t> memory_;
  std::optional<std::int64_t> evicted_;
};

void finish(ProcessShare& share, double busy_sum) {
  if (share.looks_told > 0) share.busy_mean = busy_sum / share.looks_told;
}

void add_processes(const WatchRecord& record, WatchedGpu& into) {
  const auto gpu = static_cast<std::size_t>(into.gpu);
  std::map<std::pair<int, bool>, std::pair<ProcessShare, double>> by_pid;
  double tree_sum = 0;
  for (const ProcessSample& sample : record.telemetry.processes) {
    ++into.process_looks;
    ShareSum tree;
    std::map<std::pair<int, bool>, ShareSum> here;
    for (const GpuProcessUse& use : sample.use) {
      if (use.device != into.gpu) continue;
      const bool mine = was_in_tree(record, use.pid, sample.at);
      here[{use.pid, mine}].add(use);
      if (mine || !record.target) tree.add(use);
    }
    const auto busy = device_busy(record.telemetry, gpu, sample.at);
    const bool quiet = busy && *busy < kNothing;
    tree.close(into.tree, tree_sum, quiet);
    for (const auto& [who, sum] : here) {
      auto& [share, busy_sum] = by_pid[who];
      sum.close(share, busy_sum, quiet);
    }
  }
  finish(into.tree, tree_sum);
  into.tree.in_tree = true;
  for (auto& [who, entry] : by_pid) {
    auto& [share, busy_sum] = entry;
    finish(share, busy_sum);
    std::tie(share.pid, share.in_tree) = who;
    share.name = process_name(record, share.pid);
    into.processes.push_back(std::move(share));
  }
  std::ranges::stable_sort(into.processes, [](const ProcessShare& a, const ProcessShare& b) {
    const auto key = [](const ProcessShare& share) {
      return std::tuple(!share.in_tree, -share.busy_mean.value_or(0),
                        -share.memory_peak.value_or(0));
    };
    return key(a) < key(b);
  });
}

void add_looks(const Telemetry& telemetry, WatchedGpu& into) {
  const auto gpu = static_cast<std::size_t>(into.gpu);
  for (const GpuSample& sample : telemetry.samples) {
    if (gpu >= sample.readings.size()) continue;
    const GpuReading& reading = sample.readings[gpu];
    if (reading.busy_percent && *reading.busy_percent >= kDeviceWorking) ++into.looks_working;
    if (!reading.lost.empty() && into.lost.empty()) {
      into.lost = reading.lost;
      into.lost_at = sample.at;
    }
  }
}

}  // namespace

void fill_in_busy(Telemetry& telemetry) {
  struct Last {
    Micros at{};
    double seconds = 0;
  };
  std::map<std::pair<int, int>, Last> last;  // by device and pid
  for (ProcessSample& sample : telemetry.processes) {
    for (GpuProcessUse& use : sample.use) {
      if (!use.gpu_seconds) continue;
      const auto [known, first] = last.try_emplace({use.device, use.pid});
      const double length = seconds(sample.at - known->second.at);
      const double gained = *use.gpu_seconds - known->second.seconds;
      // A counter that fell back is another process's.
      if (!first && !use.busy_percent && length > 0 && gained >= 0) {
        use.busy_percent = std::min(100.0, 100 * gained / length);
      }
      known->second = {sample.at, *use.gpu_seconds};
    }
  }
}

std::vector<WatchedGpu> watched_figures(const WatchRecord& record) {
  std::vector<WatchedGpu> out;
  const TimeSpan span = whole(record);
  for (std::size_t gpu = 0; gpu < record.telemetry.gpus.size(); ++gpu) {
    const Stretch stretch = stretch_of(record.telemetry, gpu, {&span, 1});
    WatchedGpu one;
    one.gpu = static_cast<int>(gpu);
    one.looks = stretch.samples;
    one.looks_asleep = stretch.asleep;
    one.busy_median = stretch.busy_median;
    one.busy_peak = stretch.busy_peak;
    one.watts = stretch.watts_median;
    one.memory_median = stretch.memory_median;
    one.memory_peak = stretch.memory_peak;
    one.looks_throttled = stretch.throttled;
    one.looks_power_capped = stretch.power_capped;
    if (!record.telemetry.samples.empty()) {
      // What lies before the first look nobody saw.
      const TimeSpan seen{record.telemetry.samples.front().at, span.end};
      if (const auto energy = energy_of(record.telemetry, gpu, seen)) one.joules = energy->joules;
    }
    add_looks(record.telemetry, one);
    add_processes(record, one);
    out.push_back(std::move(one));
  }
  return out;
}

std::optional<double> cores_of(const WatchRecord& record) {
  if (record.cpu.size() < 2) return std::nullopt;
  const CpuSample& first = record.cpu.front();
  const CpuSample& last = record.cpu.back();
  const double length = seconds(last.at - first.at);
  if (length <= 0) return std::nullopt;
  // A child that ended without being waited for takes its time along.
  return std::max(0.0, (last.cpu_seconds - first.cpu_seconds) / length);
}

}  // namespace picchio
