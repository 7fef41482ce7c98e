#include "report/json_values.h"
#include "report/sweep.h"

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

Json bytes_json(const std::optional<double>& bytes) { return value_or_null(whole_bytes(bytes)); }

Json slope_json(const std::optional<DepthSlope>& slope) {
  if (!slope) return nullptr;
  return {{"ms_per_token_at_zero", slope->ms_at_zero},
          {"ms_per_token_per_1000", slope->ms_per_thousand},
          {"uncertainty_95", value_or_null(slope->uncertainty)},
          {"shallowest_tokens", slope->shallowest},
          {"deepest_tokens", slope->deepest},
          {"shallowest_toks", slope->rate_shallowest},
          {"deepest_toks", slope->rate_deepest},
          {"passes", slope->passes}};
}

Json tier_json(const SweepTier& tier) {
  Json out = {{"n_ctx_asked", tier.context},
              {"end", name_of(tier.end)},
              {"why_not", text_or_null(tier.why)},
              {"note", text_or_null(tier.note)},
              {"history_id", tier.id == 0 ? Json(nullptr) : Json(tier.id)}};
  if (!tier.has_figures()) {
    out["result"] = nullptr;
    return out;
  }
  const RunFigures& figures = tier.figures;
  const BuildFigures& more = figures.more;
  Json rates = Json::object();
  for (const Lane lane : kLanes) rates[std::string(name_of(lane))] = tier.passes(lane);
  out["result"] = {{"n_ctx", value_or_null(figures.context)},
                   {"prompt_tokens", value_or_null(more.filled_tokens)},
                   {"toks", std::move(rates)},
                   {"cache_bytes", bytes_json(more.cache_bytes)},
                   {"compute_buffer_bytes", bytes_json(more.compute_bytes)},
                   {"allocated_bytes", bytes_json(more.allocated_bytes)},
                   {"gpu_allocated_bytes", bytes_json(more.gpu_allocated_bytes)},
                   {"gpu_meter_bytes", bytes_json(figures.meter.memory_bytes)},
                   {"layers_on_gpu", value_or_null(figures.placement.layers_on_gpu)},
                   {"layers_total", value_or_null(figures.placement.layers_total)},
                   {"gpu_share", value_or_null(figures.placement.gpu_share)},
                   {"kv", text_or_null(figures.placement.kv)},
                   {"state", figures.state ? Json(name_of(*figures.state)) : Json(nullptr)},
                   {"sentence", text_or_null(figures.sentence)},
                   {"why", text_or_null(figures.why)},
                   {"fix", text_or_null(figures.fix)}};
  return out;
}

}  // namespace

std::string sweep_json(const Sweep& sweep, int exit_code) {
  Json tiers = Json::array();
  for (const SweepTier& tier : sweep.tiers) tiers.push_back(tier_json(tier));
  const SweepTier* tier = worst_tier(sweep);
  const std::optional<State> worst = tier == nullptr ? std::nullopt : tier->figures.state;
  return report::dump({{"schema", "picchio.sweep.v1"},
                       {"version", PICCHIO_VERSION},
                       {"exit_code", exit_code},
                       {"model", sweep.model},
                       {"engine", text_or_null(sweep.engine)},
                       {"arguments", text_or_null(sweep.arguments)},
                       {"machine", text_or_null(sweep.machine)},
                       {"passes", sweep.passes},
                       {"context_is_fixed", sweep.context_is_fixed},
                       {"worst_state", worst ? Json(name_of(*worst)) : Json(nullptr)},
                       {"tiers", std::move(tiers)},
                       {"decode_slope", slope_json(sweep.decode)},
                       {"prefill_slope", slope_json(sweep.prefill)},
                       {"placed_otherwise_from", value_or_null(sweep.placed_otherwise_from)}});
}

}  // namespace picchio
