#include "report/json_values.h"
#include "report/monitored.h"
#include "report/residency.h"

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

Json head(std::string_view type) {
  return {{"schema", "picchio.monitor.v1"}, {"version", PICCHIO_VERSION}, {"type", type}};
}

std::string line_of(const Json& document) {
  return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Json gpu_json(const ProbedGpu& gpu) {
  return {{"index", gpu.index},
          {"name", text_or_null(gpu.name)},
          {"pci", text_or_null(gpu.pci)},
          {"busy_percent", value_or_null(gpu.busy)},
          {"server_share", value_or_null(gpu.server_share)},
          {"watts", value_or_null(gpu.watts)},
          {"joules", value_or_null(gpu.joules)},
          {"memory_used_bytes", value_or_null(gpu.memory_used)},
          {"memory_total_bytes", value_or_null(gpu.memory_total)},
          {"server_memory_bytes", value_or_null(gpu.server_memory)},
          {"celsius", value_or_null(gpu.celsius)},
          {"throttled", gpu.throttled}};
}

Json baseline_json(const std::optional<Baseline>& baseline) {
  if (!baseline) return nullptr;
  return {{"median", baseline->median}, {"spread", baseline->spread}, {"probes", baseline->probes}};
}

}  // namespace

std::string probe_json(const Probe& probe, Standing standing) {
  Json out = head("probe");
  out["probe"] = probe.number;
  out["at"] = to_rfc3339(probe.at);
  out["since_s"] = seconds(probe.since);
  out["length_s"] = seconds(probe.length);
  out["passive"] = probe.passive;
  out["end"] = name_of(probe.end);
  out["why"] = text_or_null(probe.why);
  out["standing"] = name_of(standing);
  out["state"] = probe.state ? Json(name_of(*probe.state)) : Json(nullptr);
  out["rule"] = text_or_null(probe.rule);
  out["sentence"] = text_or_null(probe.sentence);
  out["cause"] = probe.cause ? Json(probe.cause->id) : Json(nullptr);
  out["cause_why"] = probe.cause ? text_or_null(probe.cause->why) : Json(nullptr);
  out["cause_fix"] = probe.cause ? text_or_null(probe.cause->fix) : Json(nullptr);
  out["tokens_per_second"] = {{"prefill", value_or_null(probe.prefill)},
                              {"decode", value_or_null(probe.decode)},
                              {"wallclock", value_or_null(probe.wallclock)}};
  out["prefill_abstain"] = text_or_null(probe.prefill_abstain);
  out["decode_abstain"] = text_or_null(probe.decode_abstain);
  out["ttft_s"] = value_or_null(probe.first_token_seconds);
  out["prompt_tokens"] = value_or_null(probe.prompt_tokens);
  out["cached_tokens"] = value_or_null(probe.cached_tokens);
  out["generated_tokens"] = value_or_null(probe.generated_tokens);
  out["contended"] = text_or_null(probe.contended);
  out["weights_on_gpu_fraction"] = value_or_null(probe.placement.weights_on_gpu_fraction);
  out["devices"] = report::accounts_json(probe.placement);
  out["gpus"] = Json::array();
  for (const ProbedGpu& gpu : probe.gpus) out["gpus"].push_back(gpu_json(gpu));
  out["cpu_cores"] = value_or_null(probe.cpu_cores);
  out["pid"] = value_or_null(probe.pid);
  out["model"] = text_or_null(probe.model);
  out["reload"] = text_or_null(probe.reload);
  out["resident_bytes"] = probe.residency ? Json(probe.residency->resident) : Json(nullptr);
  out["resident_file_bytes"] =
      probe.residency ? Json(probe.residency->resident_files) : Json(nullptr);
  out["swapped_bytes"] = probe.residency ? Json(probe.residency->swapped) : Json(nullptr);
  return line_of(out);
}

std::string event_json(const MonitorEvent& event) {
  Json out = head("event");
  out["event"] = name_of(event.kind);
  out["probe"] = event.probe;
  out["at"] = to_rfc3339(event.at);
  out["from"] = name_of(event.from);
  out["to"] = name_of(event.to);
  out["rule"] = text_or_null(event.rule);
  out["sentence"] = event.sentence;
  out["why"] = text_or_null(event.why);
  out["fix"] = text_or_null(event.fix);
  return line_of(out);
}

std::string monitor_summary_json(const MonitorStatus& status, const MonitorVerdict& verdict,
                                 int exit_code, const std::optional<ResidencyReport>& residency) {
  Json out = head("summary");
  out["target"] = status.target;
  out["server"] = name_of(status.kind);
  out["server_version"] = text_or_null(status.server_version);
  out["standing"] = name_of(status.standing);
  out["worst_state"] = status.worst_state ? Json(name_of(*status.worst_state)) : Json(nullptr);
  out["worst_standing"] = name_of(status.worst);
  out["verdict"] = verdict.word;
  out["sentence"] = verdict.sentence;
  out["length_s"] = seconds(status.running);
  out["probes"] = {{"answered", status.answered}, {"idle", status.idle},
                   {"busy", status.busy},         {"loading", status.loading},
                   {"failed", status.failed},     {"unreachable", status.unreachable}};
  out["falls"] = status.falls;
  out["reloads"] = status.reloads;
  out["cost"] = {{"prompt_tokens", status.prompt_tokens},
                 {"generated_tokens", status.generated_tokens},
                 {"asked_s", seconds(status.asked)}};
  out["baseline"] = {{"prefill", baseline_json(status.prefill)},
                     {"decode", baseline_json(status.decode)}};
  out["residency"] = residency ? residency_json(*residency) : Json(nullptr);
  out["exit_code"] = exit_code;
  return line_of(out);
}

}  // namespace picchio
