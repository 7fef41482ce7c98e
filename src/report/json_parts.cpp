#include "report/json_parts.h"

#include "report/json_values.h"
#include "report/names.h"

namespace picchio::report {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json layers_json(const Placement& placement) {
  if (!placement.layers_on_gpu || !placement.layers_total) return nullptr;
  return Json::array({*placement.layers_on_gpu, *placement.layers_total});
}

Json accounts_json(const Placement& placement) {
  Json out = Json::array();
  for (const DeviceAccount& device : placement.devices) {
    out.push_back({{"name", device.name},
                   {"description", text_or_null(device.description)},
                   {"kind", name_of(device.kind)},
                   {"weights_bytes", value_or_null(device.weights_bytes)},
                   {"kv_bytes", value_or_null(device.kv_bytes)},
                   {"compute_bytes", value_or_null(device.compute_bytes)},
                   {"output_bytes", value_or_null(device.output_bytes)},
                   {"total_bytes", value_or_null(device.total_bytes)},
                   {"free_bytes", value_or_null(device.free_bytes)}});
  }
  return out;
}

Json testimonies_json(const Verdict& verdict) {
  Json out = Json::array();
  for (const Testimony& testimony : verdict.testimonies) {
    out.push_back({{"witness", name_of(testimony.witness)},
                   {"word", testimony.word ? Json(name_of(*testimony.word)) : Json(nullptr)},
                   {"sentence", testimony.sentence}});
  }
  return out;
}

Json graph_splits_json(const Load* load) {
  if (load == nullptr || !load->splits) return nullptr;
  return {{"prefill", load->splits->prefill},
          {"decode", value_or_null(load->splits->decode)},
          {"nodes", value_or_null(load->splits->nodes)}};
}

Json rates_json(const EngineTimings& timings) {
  return {{"prefill", value_or_null(timings.prefill_tokens_per_second)},
          {"decode", value_or_null(timings.decode_tokens_per_second)},
          {"load_ms", value_or_null(timings.load_ms)},
          {"prompt_ms", value_or_null(timings.prompt_ms)},
          {"prompt_tokens", value_or_null(timings.prompt_tokens)},
          {"eval_ms", value_or_null(timings.eval_ms)},
          {"eval_tokens", value_or_null(timings.eval_runs)},
          {"total_ms", value_or_null(timings.total_ms)}};
}

Json verdict_cause_json(const Verdict& verdict) {
  return verdict.cause ? text_or_null(verdict.cause->id) : Json(nullptr);
}

Json causes_json(const Verdict& verdict) {
  Json out = Json::array();
  const auto add = [&out](const Cause& cause) {
    out.push_back({{"id", cause.id},
                   {"why", text_or_null(cause.why)},
                   {"fix", text_or_null(cause.fix)},
                   {"proof", text_or_null(cause.proof)},
                   {"effect", text_or_null(std::string(cause.effect))},
                   {"sentence", text_or_null(std::string(cause.sentence))},
                   {"reference", text_or_null(std::string(cause.reference))}});
  };
  if (verdict.cause) add(*verdict.cause);
  for (const Cause& cause : verdict.further_causes) add(cause);
  return out;
}

Json sampling_json(const Sampling& sampling) {
  return {{"temp", value_or_null(sampling.temperature)},
          {"top_k", value_or_null(sampling.top_k)},
          {"top_p", value_or_null(sampling.top_p)},
          {"min_p", value_or_null(sampling.min_p)},
          {"seed", value_or_null(sampling.seed)}};
}

std::string dump(const Json& document) {
  return document.dump(2, ' ', true, Json::error_handler_t::replace);
}

}  // namespace picchio::report
