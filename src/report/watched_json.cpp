#include "report/json_values.h"
#include "report/watched.h"
#include "report/watched_steps.h"

#include <algorithm>

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

// Rows of the timeline; a day at one a second would be 86,400.
constexpr std::int64_t kMostRows = 4000;

Json share_json(const ProcessShare& share) {
  return {{"looks", share.looks},
          {"looks_told", share.looks_told},
          {"looks_working", share.looks_working},
          {"busy_mean_percent", value_or_null(share.busy_mean)},
          {"busy_peak_percent", value_or_null(share.busy_peak)},
          {"memory_peak_bytes", value_or_null(share.memory_peak)},
          {"evicted_peak_bytes", value_or_null(share.evicted_peak)}};
}

Json process_json(const ProcessShare& share) {
  Json out = {{"pid", share.pid}, {"name", text_or_null(share.name)}, {"watched", share.in_tree}};
  out.update(share_json(share));
  return out;
}

Json gpu_json(const MeteredGpu& about, const WatchedGpu& gpu) {
  Json missing = Json::object();
  for (const MissingFigure& figure : about.missing) {
    missing[std::string(name_of(figure.figure))] = figure.reason;
  }
  Json processes = Json::array();
  for (const ProcessShare& share : gpu.processes) processes.push_back(process_json(share));
  return {{"index", gpu.gpu},
          {"name", text_or_null(about.name)},
          {"address", text_or_null(about.address)},
          {"meter", about.meter},
          {"driver", text_or_null(about.driver)},
          {"total_bytes", value_or_null(about.memory_bytes)},
          {"unified_memory", about.unified_memory},
          {"power_is_package", about.power_is_package},
          {"busy_is_upper_bound", about.busy_is_upper_bound},
          {"missing", missing},
          {"activity", name_of(gpu.activity)},
          {"rule", gpu.rule},
          {"sentence", gpu.sentence},
          {"looks", gpu.looks},
          {"looks_working", gpu.looks_working},
          {"looks_asleep", gpu.looks_asleep},
          {"looks_throttled", gpu.looks_throttled},
          {"looks_power_capped", gpu.looks_power_capped},
          {"busy_median_percent", value_or_null(gpu.busy_median)},
          {"busy_peak_percent", value_or_null(gpu.busy_peak)},
          {"watts", value_or_null(gpu.watts)},
          {"joules", value_or_null(gpu.joules)},
          {"memory_median_bytes", value_or_null(gpu.memory_median)},
          {"memory_peak_bytes", value_or_null(gpu.memory_peak)},
          {"lost", text_or_null(gpu.lost)},
          {"lost_at_s", gpu.lost.empty() ? Json(nullptr) : Json(seconds(gpu.lost_at))},
          {"process_looks", gpu.process_looks},
          {"tree", share_json(gpu.tree)},
          {"processes", processes}};
}

Json step_json(const report::GpuStep& step) {
  return {{"busy_percent", value_or_null(step.busy)},
          {"memory_bytes", value_or_null(step.memory_bytes)},
          {"watts", value_or_null(step.watts)},
          {"tree_busy_percent", value_or_null(step.tree_busy)},
          {"tree_memory_bytes", value_or_null(step.tree_memory_bytes)}};
}

Json timeline_json(const WatchRecord& record, Micros every) {
  Json rows = Json::array();
  const Micros step = std::max({every, record.length / kMostRows, Micros{1000}});
  for (Micros from{0}; from < record.length;) {
    // A last sliver would hold next to no looks.
    const bool last = record.length - from < step + step / 2;
    const Micros to = last ? record.length : from + step;
    Json gpus = Json::array();
    for (std::size_t gpu = 0; gpu < record.telemetry.gpus.size(); ++gpu) {
      gpus.push_back(step_json(report::gpu_step(record, gpu, from, to)));
    }
    rows.push_back({{"at_s", seconds(to)},
                    {"cpu_cores", value_or_null(report::cpu_step(record, from, to))},
                    {"gpus", gpus}});
    from = to;
  }
  return rows;
}

Json tree_json(const WatchRecord& record) {
  Json out = Json::array();
  for (const WatchedProcess& process : record.processes) {
    if (!process.in_tree) continue;
    out.push_back({{"pid", process.pid},
                   {"name", text_or_null(process.name)},
                   {"first_s", seconds(process.first)},
                   {"last_s", seconds(process.last)}});
  }
  return out;
}

}  // namespace

std::string watch_json(const WatchRecord& record, const WatchVerdict& verdict, Micros every,
                       int exit_code) {
  Json target = nullptr;
  if (record.target) {
    target = {{"pid", record.target->pid},
              {"name", text_or_null(record.target->name)},
              {"found_by", text_or_null(record.target->found_by)}};
  }
  Json gpus = Json::array();
  for (const WatchedGpu& gpu : verdict.gpus) {
    gpus.push_back(gpu_json(record.telemetry.gpus[static_cast<std::size_t>(gpu.gpu)], gpu));
  }
  const bool nodes_known = record.target && record.tree_readable;
  return report::dump({{"schema", "picchio.watch.v1"},
                       {"version", PICCHIO_VERSION},
                       {"target", target},
                       {"length_s", seconds(record.length)},
                       {"ended", text_or_null(record.ended)},
                       {"activity", name_of(verdict.activity)},
                       {"rule", verdict.rule},
                       {"sentence", verdict.sentence},
                       {"cpu_cores", value_or_null(verdict.cpu_cores)},
                       {"logical_cores", value_or_null(record.logical_cores)},
                       {"gpus", gpus},
                       {"watched_processes", tree_json(record)},
                       {"device_nodes", nodes_known ? Json(record.device_nodes) : Json(nullptr)},
                       {"unmetered", record.unmetered},
                       {"none_because", text_or_null(record.telemetry.none_because)},
                       {"news", record.telemetry.news},
                       {"timeline", timeline_json(record, every)},
                       {"exit_code", exit_code}});
}

}  // namespace picchio
