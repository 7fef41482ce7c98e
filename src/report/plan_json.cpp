#include "report/json_values.h"
#include "report/plan.h"

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

Json memory_json(const PlannedMemory& memory) {
  return {{"name", memory.name},
          {"weights_bytes", memory.weights},
          {"kv_cache_bytes", memory.kv_cache},
          {"recurrent_state_bytes", memory.recurrent_state},
          {"compute_buffer_bytes", memory.compute_buffer},
          {"output_buffer_bytes", memory.output_buffer},
          {"total_bytes", memory.total()},
          {"free_bytes", value_or_null(memory.free)},
          {"fit", name_of(memory.fit)}};
}

PlannedMemory sum_of(const PlannedSetting& setting) {
  PlannedMemory out = setting.host;
  out.name = "total";
  out.free.reset();
  out.fit = setting.fit;
  for (const PlannedMemory& device : setting.devices) {
    out.weights += device.weights;
    out.kv_cache += device.kv_cache;
    out.recurrent_state += device.recurrent_state;
    out.compute_buffer += device.compute_buffer;
    out.output_buffer += device.output_buffer;
  }
  return out;
}

Json setting_json(const PlannedSetting& setting) {
  Json devices = Json::array();
  for (const PlannedMemory& device : setting.devices) devices.push_back(memory_json(device));
  return {{"fit", name_of(setting.fit)},
          {"n_ctx", setting.n_ctx},
          {"n_ctx_sequence", setting.n_ctx_sequence},
          {"sequences", setting.sequences},
          {"n_ubatch", setting.n_ubatch},
          {"n_gpu_layers", setting.n_gpu_layers},
          {"n_cpu_moe", setting.n_cpu_moe},
          {"op_offload", setting.op_offload},
          {"cache_type_k", setting.cache_type_k},
          {"cache_type_v", setting.cache_type_v},
          {"flash_attention", setting.flash_attention},
          {"devices", std::move(devices)},
          {"host", memory_json(setting.host)},
          {"total", memory_json(sum_of(setting))},
          {"llama_cpp", llama_cpp_flags(setting)},
          {"ollama", setting.n_cpu_moe > 0 ? Json(nullptr) : Json(ollama_parameters(setting))}};
}

Json setting_or_null(const std::optional<PlannedSetting>& setting) {
  return setting ? setting_json(*setting) : Json(nullptr);
}

Json rate_json(const DecodeRate& rate) {
  return {{"depth", rate.depth},
          {"least_toks", rate.least},
          {"most_toks", rate.most},
          {"bytes_per_token", rate.bytes_per_token}};
}

Json own_json(const OwnSpeed& own) {
  return {{"memory", text_or_null(own.memory)},
          {"runs", own.runs},
          {"models", own.models},
          {"bytes_per_second", value_or_null(own.bytes_per_second)},
          {"weights_per_second", value_or_null(own.weights_per_second)},
          {"seconds_besides", own.seconds_besides},
          {"error", own.error}};
}

Json decode_json(const Plan& plan) {
  if (!plan.decode) return nullptr;
  Json own = Json::array();
  for (const OwnSpeed& speed : plan.decode->own) own.push_back(own_json(speed));
  return {{"empty", rate_json(plan.decode->empty)},
          {"full", rate_json(plan.decode->full)},
          {"from", plan.decode->from},
          {"own_runs", std::move(own)}};
}

Json prefill_json(const Plan& plan) {
  if (!plan.prefill) return nullptr;
  return {{"least_toks", plan.prefill->least},
          {"most_toks", plan.prefill->most},
          {"from", own_speed_text(plan.prefill->own)},
          {"own_runs", Json::array({own_json(plan.prefill->own)})}};
}

Json extra_json(const PlannedExtra& extra) {
  Json devices = Json::array();
  for (const PlannedMemory& device : extra.devices) devices.push_back(memory_json(device));
  return {{"role", name_of(extra.role)},
          {"model", extra.model},
          {"devices", std::move(devices)},
          {"host", memory_json(extra.host)}};
}

Json extras_json(const std::vector<PlannedExtra>& extras) {
  Json out = Json::array();
  for (const PlannedExtra& extra : extras) out.push_back(extra_json(extra));
  return out;
}

Json plan_document(const Plan& plan) {
  return {{"model", plan.model},
          {"architecture", plan.architecture},
          {"tensor_bytes", plan.tensor_bytes},
          {"context_length", value_or_null(plan.trained_context)},
          {"layers", plan.layers},
          {"has_experts", plan.has_experts},
          {"margin_bytes", plan.margin},
          {"free_from", text_or_null(plan.room_from)},
          {"asked", setting_json(plan.asked)},
          {"best", setting_or_null(plan.best)},
          {"small_cache", setting_or_null(plan.small_cache)},
          {"longest_context", value_or_null(plan.longest_context)},
          {"decode_estimate", decode_json(plan)},
          {"no_decode_estimate", text_or_null(plan.no_decode)},
          {"prefill_estimate", prefill_json(plan)},
          {"extras", extras_json(plan.extras)},
          {"notes", plan.notes}};
}

}  // namespace

std::string plan_json(const std::vector<Plan>& plans, const std::vector<UnplannedModel>& others,
                      int exit_code) {
  Json documents = Json::array();
  for (const Plan& plan : plans) documents.push_back(plan_document(plan));
  Json not_planned = Json::array();
  for (const UnplannedModel& other : others) {
    not_planned.push_back({{"model", other.model}, {"reason", other.reason}});
  }
  return report::dump({{"schema", "picchio.plan.v1"},
                       {"version", PICCHIO_VERSION},
                       {"exit_code", exit_code},
                       {"plans", std::move(documents)},
                       {"not_planned", std::move(not_planned)}});
}

}  // namespace picchio
