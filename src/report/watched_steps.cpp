#include "report/watched_steps.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace picchio::report {
namespace {

// How long a look at the processes stands for what comes after it; they are looked at every second.
constexpr Micros kStands{1'500'000};

class Mean {
 public:
  void add(const std::optional<double>& value) {
    if (!value) return;
    sum_ += *value;
    ++count_;
  }
  [[nodiscard]] std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / count_);
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

template <class Sample>
auto first_after(const std::vector<Sample>& samples, Micros from) {
  return std::ranges::upper_bound(samples, from, {}, [](const Sample& s) { return s.at; });
}

void add_tree(const WatchRecord& record, std::size_t gpu, Micros from, Micros to, GpuStep& step) {
  if (!record.target) return;
  const auto& all = record.telemetry.processes;
  auto first = first_after(all, from);
  // Processes are looked at less often than a short step: then the latest look still stands.
  const bool none = first == all.end() || first->at > to;
  if (none && first != all.begin() && to - std::prev(first)->at < kStands) --first;
  Mean busy;
  for (auto sample = first; sample != all.end() && sample->at <= to; ++sample) {
    std::optional<double> percent;
    std::optional<std::int64_t> bytes;
    for (const GpuProcessUse& use : sample->use) {
      if (use.device != static_cast<int>(gpu) || !was_in_tree(record, use.pid, sample->at))
        continue;
      if (use.busy_percent) percent = percent.value_or(0) + *use.busy_percent;
      if (use.memory_bytes) bytes = bytes.value_or(0) + *use.memory_bytes;
    }
    if (percent) percent = std::min(*percent, 100.0);
    busy.add(percent);
    step.tree_memory_bytes = bytes;
  }
  step.tree_busy = busy.value();
}

}  // namespace

GpuStep gpu_step(const WatchRecord& record, std::size_t gpu, Micros from, Micros to) {
  GpuStep step;
  const auto& all = record.telemetry.samples;
  Mean busy;
  Mean watts;
  for (auto sample = first_after(all, from); sample != all.end() && sample->at <= to; ++sample) {
    if (gpu >= sample->readings.size()) continue;
    const GpuReading& reading = sample->readings[gpu];
    busy.add(reading.busy_percent);
    watts.add(reading.power_watts);
    if (reading.memory_bytes) step.memory_bytes = reading.memory_bytes;
    if (reading.temperature_celsius) step.celsius = reading.temperature_celsius;
    step.asleep = reading.asleep;
    step.lost = reading.lost;
  }
  step.busy = busy.value();
  step.watts = watts.value();
  add_tree(record, gpu, from, to, step);
  return step;
}

std::optional<double> cpu_step(const WatchRecord& record, Micros from, Micros to) {
  // The looks at the tree do not fall on the edges: the last one before each stands for it.
  const auto before = [&](Micros at) {
    auto after = std::ranges::upper_bound(record.cpu, at, {}, &CpuSample::at);
    return after == record.cpu.begin() ? record.cpu.end() : std::prev(after);
  };
  auto first = before(from);
  if (first == record.cpu.end()) first = record.cpu.begin();
  const auto last = before(to);
  if (last == record.cpu.end() || first == record.cpu.end() || last->at <= first->at) {
    return std::nullopt;
  }
  return std::max(0.0, (last->cpu_seconds - first->cpu_seconds) / seconds(last->at - first->at));
}

std::vector<ProcessNow> processes_now(const WatchRecord& record) {
  std::vector<ProcessNow> out;
  if (record.telemetry.processes.empty()) return out;
  const ProcessSample& latest = record.telemetry.processes.back();
  for (const GpuProcessUse& use : latest.use) {
    out.push_back({use, process_name(record, use.pid), was_in_tree(record, use.pid, latest.at)});
  }
  std::ranges::stable_sort(out, {}, [](const ProcessNow& process) {
    return std::tuple(!process.in_tree, -process.use.busy_percent.value_or(0),
                      -process.use.memory_bytes.value_or(0));
  });
  return out;
}

int children_now(const WatchRecord& record) {
  Micros latest{-1};
  for (const WatchedProcess& process : record.processes) {
    if (process.in_tree) latest = std::max(latest, process.last);
  }
  const auto there = std::ranges::count_if(record.processes, [&](const WatchedProcess& process) {
    return process.in_tree && process.last == latest;
  });
  return std::max(0, static_cast<int>(there) - 1);
}

std::string target_text(const WatchRecord& record) {
  if (!record.target) return "the whole machine";
  const std::string name = fit(plain(record.target->name), 24);
  return name.empty() ? fmt::format("pid {}", record.target->pid)
                      : fmt::format("{} (pid {})", name, record.target->pid);
}

}  // namespace picchio::report
