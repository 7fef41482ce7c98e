#include "report/json.h"
#include "report/json_values.h"
#include "report/names.h"

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

Json claim_json(const Load* load) {
  if (load == nullptr || !load->claim) return nullptr;
  return {
      {"on_gpu", load->claim->on_gpu}, {"total", load->claim->total}, {"line", load->claim->line}};
}

Json enumerated_json(const EngineLog& log) {
  Json out = Json::array();
  for (const Device& device : log.devices) {
    out.push_back({{"name", device.name},
                   {"description", text_or_null(device.description)},
                   {"kind", name_of(device.kind)},
                   {"kind_reason", text_or_null(device.kind_reason)},
                   {"integrated", value_or_null(device.integrated)},
                   {"selected", device.selected},
                   {"total_bytes", value_or_null(device.total_bytes)},
                   {"free_bytes", value_or_null(device.free_bytes)}});
  }
  return out;
}

}  // namespace

std::string log_json(const EngineLog& log, const Placement& placement, const Verdict& verdict,
                     int exit_code) {
  const Load* load = main_load(log);
  const EngineTimings timings = log.timings.empty() ? EngineTimings{} : log.timings.back();
  Json out;
  out["schema"] = "picchio.explain-log.v1";
  out["version"] = PICCHIO_VERSION;
  out["engine"] = text_or_null(log.engine);
  out["engine_version"] = text_or_null(log.version);
  out["placement"] = name_of(placement.shape);
  out["reason"] = text_or_null(placement.reason);
  out["layers"] = report::layers_json(placement);
  out["weights_on_gpu_fraction"] = value_or_null(placement.weights_on_gpu_fraction);
  out["kv_on"] = placement.kv_on ? Json(name_of(*placement.kv_on)) : Json(nullptr);
  out["cause"] = report::verdict_cause_json(verdict);
  out["causes"] = report::causes_json(verdict);
  out["why"] = text_or_null(report::why_of(verdict));
  out["fix"] = text_or_null(report::fix_of(verdict));
  out["verdict"] = name_of(verdict.state);
  out["sentence"] = verdict.sentence;
  out["rule"] = text_or_null(verdict.rule);
  out["exit_code"] = exit_code;
  out["claim"] = claim_json(load);
  out["devices"] = report::accounts_json(placement);
  out["enumerated_devices"] = enumerated_json(log);
  out["host_by_design_bytes"] = value_or_null(placement.host_by_design_bytes);
  out["missing_bytes"] = value_or_null(placement.missing_bytes);
  out["graph_splits"] = report::graph_splits_json(load);
  out["rates"] = report::rates_json(timings);
  out["threads"] = value_or_null(log.threads);
  out["context"] = load == nullptr ? Json(nullptr) : value_or_null(load->n_ctx);
  out["model"] = load == nullptr
                     ? Json(nullptr)
                     : text_or_null(load->model_name.empty() ? load->model_path : load->model_name);
  out["testimonies"] = report::testimonies_json(verdict);
  out["notes"] = log.notes;
  return report::dump(out);
}

}  // namespace picchio
