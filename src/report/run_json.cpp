#include "base/text.h"
#include "report/gpu_use.h"
#include "report/json.h"
#include "report/json_values.h"
#include "report/names.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

Json machine_json(const Machine& machine) {
  Json gpus = Json::array();
  for (const MachineGpu& gpu : machine.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"vendor", text_or_null(gpu.vendor)},
                    {"address", text_or_null(gpu.address)},
                    {"driver", text_or_null(gpu.driver)},
                    {"can_compute", gpu.can_compute},
                    {"no_compute_reason", text_or_null(gpu.no_compute_reason)}});
  }
  Json ram = nullptr;
  if (machine.ram_bytes) {
    ram = std::llround(static_cast<double>(*machine.ram_bytes) / 1073741824.0);
  }
  Json modules = nullptr;
  if (machine.memory_modules) {
    modules = {{"slots", machine.memory_modules->slots},
               {"filled", machine.memory_modules->filled}};
  }
  return {{"os", text_or_null(machine.os)},
          {"distribution", text_or_null(machine.distribution)},
          {"memory_modules", modules},
          {"chip", text_or_null(machine.chip)},
          {"ram_gb", ram},
          {"ram_bytes", value_or_null(machine.ram_bytes)},
          {"logical_cores", value_or_null(machine.logical_cores)},
          {"gpus", gpus},
          {"gpus_known", machine.gpus_known},
          {"gpus_unknown_reason", text_or_null(machine.gpus_unknown_reason)},
          {"ram_bytes_per_second", value_or_null(machine.ram_bytes_per_second)},
          {"last_level_cache_bytes", value_or_null(machine.last_level_cache_bytes)}};
}

Json tensor_types_json(const std::optional<ModelFile>& model) {
  if (!model) return nullptr;
  std::map<std::string, std::int64_t> counts;
  for (const TensorInfo& tensor : model->tensors) ++counts[tensor.type];
  return counts;
}

Json kv_types_json(const Load* load) {
  if (load == nullptr || (load->kv_type_k.empty() && load->kv_type_v.empty())) return nullptr;
  return Json::array({text_or_null(load->kv_type_k), text_or_null(load->kv_type_v)});
}

Json first_init_failure(const EngineLog& log) {
  for (const LogEvent& event : log.events) {
    if (event.kind == LogEventKind::backend_init_failed) return event.text;
  }
  return nullptr;
}

Json lanes_abstain_json(const Lanes& lanes) {
  return {{"prefill", text_or_null(lanes.prefill_abstain)},
          {"decode", text_or_null(lanes.decode_abstain)},
          {"wallclock", text_or_null(lanes.wallclock_abstain)}};
}

// What only the log of this pass tells.
void add_log_facts(Json& out, const Run& run, const Pass& pass) {
  const Load* load = main_load(pass.log);
  const DeviceAccount* device = report::leading_device(run.placement);
  // Only the first pass has an account; where passes differ no figure stands for all of them.
  const bool accounted = run.disagreement.empty();
  out["offload_n"] = accounted ? value_or_null(run.placement.layers_on_gpu) : Json(nullptr);
  out["offload_total"] = accounted ? value_or_null(run.placement.layers_total) : Json(nullptr);
  out["offload_claimed"] = load != nullptr && load->claim
                               ? Json::array({load->claim->on_gpu, load->claim->total})
                               : Json(nullptr);
  out["gpu_device"] =
      device == nullptr ? Json(nullptr) : text_or_null(report::without_vendor(device->description));
  out["gpu_kind"] =
      device == nullptr ? Json(nullptr) : text_or_null(report::kind_of_device(device->name));
  Json parameters = load == nullptr ? Json(nullptr) : value_or_null(load->parameters);
  Json bytes = load == nullptr ? Json(nullptr) : value_or_null(load->weight_bytes);
  if (parameters.is_null() && run.raw.model) parameters = run.raw.model->parameters;
  if (bytes.is_null() && run.raw.model) bytes = run.raw.model->tensor_bytes;
  out["model_params"] = parameters.is_null()
                            ? Json(nullptr)
                            : text_or_null(format_parameters(parameters.get<double>()));
  out["model_size"] =
      bytes.is_null() ? Json(nullptr) : Json(format_bytes(bytes.get<std::int64_t>()));
  out["model_bytes"] = bytes;
  out["threads"] = value_or_null(pass.log.threads);
  out["cores"] = value_or_null(pass.log.cores);
  out["vram_frac"] =
      accounted ? value_or_null(run.placement.weights_on_gpu_fraction) : Json(nullptr);
  out["n_expert"] = run.raw.model ? value_or_null(run.raw.model->expert_count) : Json(nullptr);
  out["kv_types"] = kv_types_json(load);
  out["kv_source"] = out["kv_types"].is_null() ? Json(nullptr) : Json("engine log");
  out["tensor_types"] = tensor_types_json(run.raw.model);
  Json free_mib = nullptr;
  if (device != nullptr && device->free_bytes) free_mib = *device->free_bytes / (1 << 20);
  out["free_mib"] = free_mib;
  out["fit_seen"] = pass.log.fit.has_value();
  out["init_fail"] = first_init_failure(pass.log);
  out["graph_splits"] = report::graph_splits_json(load);
}

Json answer_json(const Pass& pass);

Json pass_json(const Run& run, std::size_t index) {
  const Pass& pass = run.passes[index];
  const RawPass* raw = index < run.raw.passes.size() ? &run.raw.passes[index] : nullptr;
  Json out = {{"wall_s", pass.wall_seconds},
              {"load_ms", value_or_null(pass.timings.load_ms)},
              {"prompt_ms", value_or_null(pass.timings.prompt_ms)},
              {"prompt_tokens", value_or_null(pass.timings.prompt_tokens)},
              {"eval_ms", value_or_null(pass.timings.eval_ms)},
              {"eval_tokens", value_or_null(pass.timings.eval_runs)}};
  add_log_facts(out, run, pass);
  out["prefill_toks"] = value_or_null(pass.lanes.prefill);
  out["decode_toks"] = value_or_null(pass.lanes.decode);
  out["wallclock_toks"] = value_or_null(pass.lanes.wallclock);
  out["abstain"] = lanes_abstain_json(pass.lanes);
  out["sampling"] = report::sampling_json(pass.log.sampling);
  out["nonce"] = raw == nullptr ? Json(nullptr) : text_or_null(raw->prompt_prefix);
  out["load_s"] = value_or_null(pass.load_seconds);
  out["prefill_s"] = value_or_null(pass.prefill_seconds);
  out["decode_s"] = value_or_null(pass.decode_seconds);
  out["prefill_cpu_cores"] = value_or_null(pass.cpu.prefill_cores);
  out["decode_cpu_cores"] = value_or_null(pass.cpu.decode_cores);
  out["cached_fraction"] = raw == nullptr ? Json(nullptr) : value_or_null(raw->cached_fraction);
  out["cache_dropped"] = raw == nullptr ? Json(nullptr) : Json(raw->cache_dropped);
  out["repeats"] = raw == nullptr ? Json(nullptr) : Json(raw->repeats);
  out["exit_code"] = raw == nullptr ? Json(nullptr) : Json(raw->exit_code);
  out["remarks"] = pass.remarks;
  out["answer"] = answer_json(pass);
  return out;
}

Json lane_json(const LaneSummary& lane) {
  const bool counts = lane.abstain.empty();
  return {{"median", counts ? value_or_null(lane.median) : Json(nullptr)},
          {"low", counts ? value_or_null(lane.low) : Json(nullptr)},
          {"high", counts ? value_or_null(lane.high) : Json(nullptr)},
          {"abstain", text_or_null(lane.abstain)}};
}

Json median_json(const LaneSummary& lane) {
  return lane.abstain.empty() ? value_or_null(lane.median) : Json(nullptr);
}

Json placement_json(const Run& run) {
  const Placement& placement = run.placement;
  return {{"shape", name_of(placement.shape)},
          {"reason", text_or_null(placement.reason)},
          {"layers", report::layers_json(placement)},
          {"layers_claimed", value_or_null(placement.layers_claimed)},
          {"weights_on_gpu_fraction", value_or_null(placement.weights_on_gpu_fraction)},
          {"kv_on", placement.kv_on ? Json(name_of(*placement.kv_on)) : Json(nullptr)},
          {"host_by_design_bytes", value_or_null(placement.host_by_design_bytes)},
          {"missing_bytes", value_or_null(placement.missing_bytes)},
          {"disagreement", text_or_null(run.disagreement)},
          {"devices", report::accounts_json(placement)}};
}

Json roofline_json(const std::optional<Roofline>& roofline) {
  if (!roofline) return nullptr;
  Json devices = Json::array();
  for (const RooflineDevice& device : roofline->devices) {
    devices.push_back({{"name", device.device},
                       {"label", device.label},
                       {"bytes_per_token", value_or_null(device.bytes_per_token)},
                       {"peak_bytes_per_second", value_or_null(device.peak_bytes_per_second)},
                       {"peak_from", text_or_null(device.peak_from)},
                       {"peak_is_upper_bound", device.peak_is_upper_bound},
                       {"own_memory", value_or_null(device.own_memory)}});
  }
  return {{"tokens_per_second", roofline->tokens_per_second},
          {"weight_bytes_per_token", roofline->weight_bytes},
          {"cache_bytes_per_token", value_or_null(roofline->cache_bytes)},
          {"mean_depth", value_or_null(roofline->depth)},
          {"bytes_per_second", roofline->bytes_per_second()},
          {"bytes_uncertain", text_or_null(roofline->bytes_uncertain)},
          {"devices", devices},
          {"device_limit_tokens_per_second", value_or_null(roofline->device_limit)},
          {"limit_is_upper_bound", roofline->limit_is_upper_bound},
          {"share_of_device_limit", value_or_null(roofline->share())},
          {"device_untested", text_or_null(roofline->device_untested)},
          {"host_limit_tokens_per_second", value_or_null(roofline->host_limit)},
          {"host_untested", text_or_null(roofline->host_untested)}};
}

Json answer_json(const Pass& pass) {
  if (!pass.answer) return nullptr;
  const ServerAnswer& answer = *pass.answer;
  const auto ms = [](std::optional<Micros> at) {
    return at ? Json(seconds(*at) * 1000) : Json(nullptr);
  };
  Json out = {{"ttft_ms", ms(answer.first_token)},
              {"last_token_ms", ms(answer.last_token)},
              {"pieces", answer.pieces},
              {"thinking_pieces", answer.thinking_pieces},
              {"prompt_tokens", value_or_null(answer.prompt_tokens)},
              {"cached_tokens", value_or_null(answer.cached_tokens)},
              {"generated_tokens", value_or_null(answer.generated_tokens)},
              {"generated_counted_by_us", answer.generated_counted_by_us},
              {"drafted", value_or_null(answer.drafted)},
              {"drafts_accepted", value_or_null(answer.drafts_accepted)},
              {"stop", text_or_null(answer.stop)},
              {"truncated", answer.truncated},
              {"prefill_source", name_of(answer.prefill_source)},
              {"decode_source", name_of(answer.decode_source)},
              {"claimed_bytes", nullptr},
              {"claimed_gpu_bytes", nullptr}};
  if (pass.claim) {
    out["claimed_bytes"] = pass.claim->bytes;
    out["claimed_gpu_bytes"] = pass.claim->gpu_bytes;
  }
  return out;
}

Json server_json(const std::optional<ServerFacts>& server) {
  if (!server) return nullptr;
  return {{"kind", name_of(server->kind)},
          {"url", text_or_null(server->url)},
          {"version", text_or_null(server->version)},
          {"model", text_or_null(server->model)},
          {"local", server->local},
          {"unseen_because", text_or_null(server->unseen_because)},
          {"process", text_or_null(server->process)},
          {"loads_on_request", server->loads_on_request},
          {"log_source", text_or_null(server->log_source)},
          {"no_log_because", text_or_null(server->no_log_because)}};
}

Json drift_json(const Drift* drift) {
  if (drift == nullptr) return nullptr;
  Json outside = Json::array();
  for (const DriftedLane& lane : drift->outside) {
    outside.push_back({{"lane", name_of(lane.lane)},
                       {"value", lane.value},
                       {"low", lane.low},
                       {"high", lane.high}});
  }
  Json changed = nullptr;
  if (drift->changed) {
    changed = {
        {"what", drift->changed->name}, {"from", drift->changed->a}, {"to", drift->changed->b}};
  }
  return {{"id", drift->id},
          {"earlier_runs", drift->earlier_runs},
          {"outside", outside},
          {"since", value_or_null(drift->since)},
          {"changed", changed}};
}

Json engine_program_json(const EngineProgram& engine) {
  return {{"name", text_or_null(engine.name)},
          {"path", text_or_null(engine.path)},
          {"version", text_or_null(engine.version)},
          {"build", text_or_null(engine.build)}};
}

}  // namespace

std::string run_json(const Run& run, const Verdict& verdict, int exit_code,
                     const std::string& evidence_directory, const Drift* drift) {
  Json passes = Json::array();
  for (std::size_t i = 0; i < run.passes.size(); ++i) passes.push_back(pass_json(run, i));
  const RawPass* cold = run.raw.passes.empty() ? nullptr : &run.raw.passes.front();
  Json out;
  out["schema"] = "picchio.diagnose.v1";
  out["version"] = run.raw.picchio_version;
  out["machine"] = machine_json(run.raw.machine);
  out["engine"] = report::engine_label(run);
  out["model"] = report::model_label(run);
  out["mode"] = !run.raw.server                              ? "llama.cpp"
                : run.raw.server->kind == ServerKind::ollama ? "ollama"
                                                             : "server";
  out["protocol"] = run.raw.protocol;
  out["passes"] = passes;
  out["warm_median"] = {{"prefill", median_json(run.warm_prefill)},
                        {"decode", median_json(run.warm_decode)},
                        {"wallclock", median_json(run.warm_wallclock)}};
  out["state"] = name_of(verdict.state);
  out["why"] = text_or_null(report::why_of(run, verdict));
  out["telemetry"] = report::telemetry_json(run);
  out["exitCode"] = exit_code;
  out["evidenceDirectory"] = text_or_null(evidence_directory);
  out["sentence"] = verdict.sentence;
  out["rule"] = text_or_null(verdict.rule);
  out["cause"] = report::verdict_cause_json(verdict);
  out["causes"] = report::causes_json(verdict);
  out["fix"] = text_or_null(report::fix_of(verdict));
  out["placement"] = placement_json(run);
  out["roofline"] = roofline_json(run.roofline);
  out["testimonies"] = report::testimonies_json(verdict);
  out["warm"] = {{"prefill", lane_json(run.warm_prefill)},
                 {"decode", lane_json(run.warm_decode)},
                 {"wallclock", lane_json(run.warm_wallclock)}};
  out["cold_cached_fraction"] =
      cold == nullptr ? Json(nullptr) : value_or_null(cold->cached_fraction);
  out["context"] = value_or_null(run.context);
  out["context_asked"] = run.raw.context_asked;
  out["tokens_asked"] = run.raw.tokens_asked;
  out["engine_program"] = engine_program_json(run.raw.engine);
  out["engine_args"] = run.raw.user_args;
  out["server"] = server_json(run.raw.server);
  out["environment"] = Json::object();
  for (const auto& [name, value] : run.raw.environment) out["environment"][name] = value;
  out["remarks"] = report::remarks_of(run, "");
  out["history"] = drift_json(drift);
  return report::dump(out);
}

}  // namespace picchio
