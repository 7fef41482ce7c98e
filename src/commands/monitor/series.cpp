#include "commands/monitor/series.h"

#include "base/text.h"
#include "version.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace picchio {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// A label from outside is cut here. Each one is kept by Prometheus for as long as its data.
constexpr std::size_t kMostLabelText = 120;
// Of one host; the rest is left out rather than letting a strange answer fill the database.
constexpr std::size_t kMostDevices = 32;

// By name. docs/fleet.md has them as a table, which a test compares with this one.
constexpr std::array kDescriptions = {
    MetricDescription{"picchio_baseline_probes", "lane", false,
                      "Probes that the baseline of a lane was made of"},
    MetricDescription{"picchio_baseline_spread_ratio", "lane", false,
                      "Robust standard deviation of the baseline, as a share of its median"},
    MetricDescription{"picchio_baseline_tokens_per_second", "lane", false,
                      "The server's own locked baseline; absent until it is locked"},
    MetricDescription{"picchio_build_info", "version, commit", false, "1; which picchio this is"},
    MetricDescription{"picchio_device_bytes", "device, description, kind, use", false,
                      "Bytes of the model on a device by the engine's account"},
    MetricDescription{"picchio_falls_total", "", true,
                      "Changes of the standing to slow, partial, fallen or conflicting"},
    MetricDescription{"picchio_first_token_seconds", "", false,
                      "Time to the first token of the last probe, by the monitor's clock"},
    MetricDescription{"picchio_gpu_busy_ratio", "gpu, name, pci", false,
                      "How busy the GPU was during the probe, 0 to 1"},
    MetricDescription{"picchio_gpu_memory_server_bytes", "gpu, name, pci", false,
                      "GPU memory that the server's processes hold"},
    MetricDescription{"picchio_gpu_memory_total_bytes", "gpu, name, pci", false,
                      "Memory of the GPU"},
    MetricDescription{"picchio_gpu_memory_used_bytes", "gpu, name, pci", false,
                      "GPU memory in use, of everybody"},
    MetricDescription{"picchio_gpu_power_watts", "gpu, name, pci", false,
                      "Power of the GPU during the probe"},
    MetricDescription{
        "picchio_gpu_probe_energy_joules_total", "gpu, name, pci", true,
        "Energy that the whole GPU used during probes; the time between is not in it"},
    MetricDescription{"picchio_gpu_server_ratio", "gpu, name, pci", false,
                      "Share of the GPU's time that the server's processes had, 0 to 1"},
    MetricDescription{"picchio_gpu_temperature_celsius", "gpu, name, pci", false,
                      "Temperature of the GPU"},
    MetricDescription{"picchio_gpu_throttled", "gpu, name, pci", false,
                      "1 when heat or the board held the GPU back during the probe"},
    MetricDescription{"picchio_last_answered_timestamp_seconds", "", false,
                      "Unix time of the last probe that was answered"},
    MetricDescription{"picchio_last_probe_timestamp_seconds", "", false,
                      "Unix time of the last probe, however it ended"},
    MetricDescription{"picchio_prefill_decode_ratio", "", false,
                      "Prefill rate over decode rate of the last probe"},
    MetricDescription{"picchio_probe_contended", "", false,
                      "1 when others' requests were at work beside the probe"},
    MetricDescription{"picchio_probe_duration_seconds", "", false,
                      "Length of the last probe's request"},
    MetricDescription{"picchio_probe_interval_seconds", "", false,
                      "Time between the beginnings of the last two probes"},
    MetricDescription{"picchio_probe_tokens_total", "kind", true,
                      "Tokens that probes cost the server"},
    MetricDescription{"picchio_probe_work_seconds_total", "", true,
                      "Time that the server worked for probes"},
    MetricDescription{"picchio_probes_total", "end", true, "Probes by how they ended"},
    MetricDescription{"picchio_reloads_total", "", true,
                      "Times that another process computed, or the model was loaded again"},
    MetricDescription{"picchio_server_cpu_cores", "", false,
                      "CPU cores that the server kept busy during decode"},
    MetricDescription{"picchio_server_resident_bytes", "", false,
                      "Resident memory of the process that computes"},
    MetricDescription{"picchio_server_resident_file_bytes", "", false,
                      "Of it, pages of files: mapped weights"},
    MetricDescription{"picchio_server_swapped_bytes", "", false,
                      "Swapped memory of the process that computes"},
    MetricDescription{"picchio_standing", "standing", false,
                      "1 for what the monitor holds of the server now, 0 for the others"},
    MetricDescription{"picchio_target_info", "target, server, server_version, model, mode", false,
                      "1; what is watched, and whether it is probed or read passively"},
    MetricDescription{"picchio_tokens_per_second", "lane", false,
                      "Rates of the last probe: prefill, decode, wallclock"},
    MetricDescription{"picchio_verdict", "verdict", false,
                      "1 for the last probe's verdict, 0 for the others; absent when it judged "
                      "nothing"},
    MetricDescription{"picchio_weights_gpu_ratio", "", false,
                      "Share of the weight bytes on hardware GPUs, 0 to 1"},
};

constexpr std::array kStandings = {Standing::unknown, Standing::steady, Standing::slow,
                                   Standing::partial, Standing::fallen, Standing::conflicting,
                                   Standing::lost};
constexpr std::array kStates = {
    State::healthy,           State::cpu_only_machine,    State::no_placement_evidence,
    State::partial_offload,   State::silent_cpu_fallback, State::conflicting_evidence,
    State::no_timing_evidence};

std::string label_text(std::string_view from_outside) {
  return fit(plain(from_outside), kMostLabelText);
}

// "SILENT CPU FALLBACK" as the other words of labels are.
std::string label_of(State state) {
  std::string out = lower(name_of(state));
  std::ranges::replace(out, ' ', '_');
  return out;
}

double unix_seconds(Moment at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

std::optional<double> number(const std::optional<std::int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

// All families, filled by name. Values that are no numbers are taken as not told.
class Sheet {
 public:
  Sheet() {
    families_.reserve(kDescriptions.size());
    for (const MetricDescription& one : kDescriptions) {
      families_.push_back(
          {one.name, one.help, one.counter ? MetricType::Counter : MetricType::Gauge, {}});
    }
  }

  /// `labels` in the order of the description.
  void set(std::string_view name, const std::vector<std::string>& labels,
           const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return;
    const std::size_t row = row_of(name);
    std::vector<ClientMetric::Label> named;
    named.reserve(labels.size());
    const std::vector<std::string_view> keys = split(kDescriptions.at(row).labels, ',');
    for (std::size_t i = 0; i < labels.size(); ++i) {
      named.push_back({std::string(trim(keys.at(i))), labels[i]});
    }
    std::vector<ClientMetric>& there = families_[row].metric;
    // Two series of one name make Prometheus refuse the whole scrape: what cannot be told apart
    // by its labels is one.
    const auto same = std::ranges::find(there, named, &ClientMetric::label);
    if (same != there.end()) return;
    ClientMetric metric;
    metric.label = std::move(named);
    (kDescriptions.at(row).counter ? metric.counter.value : metric.gauge.value) = *value;
    there.push_back(std::move(metric));
  }

  [[nodiscard]] std::vector<MetricFamily> take() && {
    std::erase_if(families_, [](const MetricFamily& one) { return one.metric.empty(); });
    return std::move(families_);
  }

 private:
  static std::size_t row_of(std::string_view name) {
    const auto* const found = std::ranges::find_if(
        kDescriptions, [&](const MetricDescription& one) { return name == one.name; });
    return static_cast<std::size_t>(found - kDescriptions.begin());
  }

  std::vector<MetricFamily> families_;
};

std::vector<std::string> labels_of(const ProbedGpu& gpu) {
  return {std::to_string(gpu.index), label_text(gpu.name), label_text(gpu.pci)};
}

std::span<const ProbedGpu> bounded(const std::vector<ProbedGpu>& gpus) {
  return std::span(gpus).first(std::min(gpus.size(), kMostDevices));
}

void set_gpus(const Probe& probe, Sheet& sheet) {
  for (const ProbedGpu& gpu : bounded(probe.gpus)) {
    const std::vector<std::string> labels = labels_of(gpu);
    const auto ratio = gpu.busy ? std::optional(*gpu.busy / 100) : std::nullopt;
    sheet.set("picchio_gpu_busy_ratio", labels, ratio);
    sheet.set("picchio_gpu_server_ratio", labels, gpu.server_share);
    sheet.set("picchio_gpu_power_watts", labels, gpu.watts);
    sheet.set("picchio_gpu_memory_used_bytes", labels, number(gpu.memory_used));
    sheet.set("picchio_gpu_memory_total_bytes", labels, number(gpu.memory_total));
    sheet.set("picchio_gpu_memory_server_bytes", labels, number(gpu.server_memory));
    sheet.set("picchio_gpu_temperature_celsius", labels, gpu.celsius);
    sheet.set("picchio_gpu_throttled", labels, gpu.throttled ? 1 : 0);
  }
}

// Of devices that their labels do not tell apart the bytes are added up: none may go missing.
void set_devices(const Placement& placement, Sheet& sheet) {
  std::map<std::vector<std::string>, double> bytes;
  const auto add = [&](const DeviceAccount& device, const char* use,
                       const std::optional<std::int64_t>& value) {
    if (!value) return;
    bytes[{label_text(device.name), label_text(device.description),
           std::string(name_of(device.kind)), use}] += static_cast<double>(*value);
  };
  const std::size_t most = std::min(placement.devices.size(), kMostDevices);
  for (const DeviceAccount& device : std::span(placement.devices).first(most)) {
    add(device, "weights", device.weights_bytes);
    add(device, "kv", device.kv_bytes);
    add(device, "compute", device.compute_bytes);
    add(device, "output", device.output_bytes);
  }
  for (const auto& [labels, value] : bytes) sheet.set("picchio_device_bytes", labels, value);
}

void set_rates(const Probe& probe, Sheet& sheet) {
  sheet.set("picchio_tokens_per_second", {"prefill"}, probe.prefill);
  sheet.set("picchio_tokens_per_second", {"decode"}, probe.decode);
  sheet.set("picchio_tokens_per_second", {"wallclock"}, probe.wallclock);
  if (probe.prefill && probe.decode && *probe.decode > 0) {
    sheet.set("picchio_prefill_decode_ratio", {}, *probe.prefill / *probe.decode);
  }
  sheet.set("picchio_first_token_seconds", {}, probe.first_token_seconds);
  sheet.set("picchio_server_cpu_cores", {}, probe.cpu_cores);
  sheet.set("picchio_probe_contended", {}, probe.contended.empty() ? 0 : 1);
}

void set_verdict(const Probe& probe, Sheet& sheet) {
  if (!probe.state) return;
  for (const State state : kStates) {
    sheet.set("picchio_verdict", {label_of(state)}, state == *probe.state ? 1 : 0);
  }
}

void set_probe(const Probe& probe, Sheet& sheet) {
  // Of a server that did not do what it was asked for nothing stands as current, whatever was read
  // before it broke off.
  if (probe.end == ProbeEnd::answered) set_rates(probe, sheet);
  const bool there =
      probe.end == ProbeEnd::answered || probe.end == ProbeEnd::idle || probe.end == ProbeEnd::busy;
  if (there) {
    set_verdict(probe, sheet);
    sheet.set("picchio_weights_gpu_ratio", {}, probe.placement.weights_on_gpu_fraction);
    set_devices(probe.placement, sheet);
  }
  set_gpus(probe, sheet);
  if (probe.residency) {
    const Residency& memory = *probe.residency;
    sheet.set("picchio_server_resident_bytes", {}, number(memory.resident));
    sheet.set("picchio_server_resident_file_bytes", {}, number(memory.resident_files));
    sheet.set("picchio_server_swapped_bytes", {}, number(memory.swapped));
  }
  if (probe.length.count() > 0) {
    sheet.set("picchio_probe_duration_seconds", {}, seconds(probe.length));
  }
  sheet.set("picchio_last_probe_timestamp_seconds", {}, unix_seconds(probe.at));
}

void set_baseline(const char* lane, const std::optional<Baseline>& baseline, Sheet& sheet) {
  if (!baseline) return;
  sheet.set("picchio_baseline_tokens_per_second", {lane}, baseline->median);
  sheet.set("picchio_baseline_spread_ratio", {lane}, baseline->spread);
  sheet.set("picchio_baseline_probes", {lane}, baseline->probes);
}

void set_status(const MonitorStatus& status, Sheet& sheet) {
  for (const Standing standing : kStandings) {
    sheet.set("picchio_standing", {std::string(name_of(standing))},
              standing == status.standing ? 1 : 0);
  }
  set_baseline("prefill", status.prefill, sheet);
  set_baseline("decode", status.decode, sheet);
  const std::pair<ProbeEnd, std::int64_t> ends[] = {{ProbeEnd::answered, status.answered},
                                                    {ProbeEnd::idle, status.idle},
                                                    {ProbeEnd::busy, status.busy},
                                                    {ProbeEnd::loading, status.loading},
                                                    {ProbeEnd::unreachable, status.unreachable},
                                                    {ProbeEnd::failed, status.failed}};
  for (const auto& [end, count] : ends) {
    sheet.set("picchio_probes_total", {std::string(name_of(end))}, number(count));
  }
  sheet.set("picchio_falls_total", {}, number(status.falls));
  sheet.set("picchio_reloads_total", {}, number(status.reloads));
  sheet.set("picchio_probe_tokens_total", {"prompt"}, number(status.prompt_tokens));
  sheet.set("picchio_probe_tokens_total", {"generated"}, number(status.generated_tokens));
  sheet.set("picchio_probe_work_seconds_total", {}, seconds(status.asked));
}

}  // namespace

std::span<const MetricDescription> metric_descriptions() { return kDescriptions; }

void MonitorSeries::take(const Probe& probe, const MonitorStatus& status) {
  if (since_ && probe.since > *since_) interval_ = probe.since - *since_;
  since_ = probe.since;
  if (probe.end == ProbeEnd::answered) answered_ = probe.at;
  for (const ProbedGpu& gpu : bounded(probe.gpus)) {
    if (!gpu.joules || !std::isfinite(*gpu.joules) || *gpu.joules < 0) continue;
    const std::vector<std::string> labels = labels_of(gpu);
    if (joules_.size() < kMostDevices || joules_.contains(labels)) joules_[labels] += *gpu.joules;
  }
  probe_ = probe;
  status_ = status;
}

std::vector<MetricFamily> MonitorSeries::families() const {
  Sheet sheet;
  sheet.set("picchio_build_info", {kVersion, kCommit}, 1);
  if (!probe_) return std::move(sheet).take();
  sheet.set("picchio_target_info",
            {label_text(status_.target), std::string(name_of(status_.kind)),
             label_text(status_.server_version), label_text(probe_->model),
             probe_->passive ? "passive" : "probed"},
            1);
  set_probe(*probe_, sheet);
  set_status(status_, sheet);
  if (answered_) {
    sheet.set("picchio_last_answered_timestamp_seconds", {}, unix_seconds(*answered_));
  }
  if (interval_) sheet.set("picchio_probe_interval_seconds", {}, seconds(*interval_));
  for (const auto& [labels, joules] : joules_) {
    sheet.set("picchio_gpu_probe_energy_joules_total", labels, joules);
  }
  return std::move(sheet).take();
}

}  // namespace picchio
