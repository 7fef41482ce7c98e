#include "results/run_json_reader.h"

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace picchio::results {
namespace {

using Json = nlohmann::json;

const Json* at(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const Json& object, const char* key) {
  const Json* found = at(object, key);
  return found != nullptr && found->is_string() ? plain(found->get_ref<const std::string&>()) : "";
}

std::optional<double> number(const Json& object, const char* key) {
  const Json* found = at(object, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<std::int64_t> whole(const Json& object, const char* key) {
  const Json* found = at(object, key);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<int> small(const Json& object, const char* key) {
  constexpr std::int64_t kMost = 1'000'000;
  const auto value = whole(object, key);
  return value && *value >= 0 && *value <= kMost ? std::optional(static_cast<int>(*value))
                                                 : std::nullopt;
}

std::optional<State> state_named(std::string_view name) {
  for (const State state : {State::healthy, State::cpu_only_machine, State::no_placement_evidence,
                            State::partial_offload, State::silent_cpu_fallback,
                            State::conflicting_evidence, State::no_timing_evidence}) {
    if (name == name_of(state)) return state;
  }
  return std::nullopt;
}

constexpr std::array kCells = {"prefill_toks", "decode_toks", "wallclock_toks"};
constexpr std::array kNames = {"prefill", "decode", "wallclock"};

void read_lanes(const Json& root, const Json& passes, RunFigures& out) {
  const Json* medians = at(root, "warm_median");
  const Json* warm = at(root, "warm");
  for (const Lane lane : kLanes) {
    const auto i = static_cast<std::size_t>(lane);
    LaneFigures& figures = out.lane(lane);
    if (!out.server_was_warm || out.only_one_pass) {
      const Json* reasons = at(passes.front(), "abstain");
      const bool abstains = reasons != nullptr && at(*reasons, kNames[i]) != nullptr;
      figures.cold = {abstains ? std::nullopt : number(passes.front(), kCells[i]), abstains};
    }
    if (out.only_one_pass) continue;
    if (medians != nullptr) figures.warm.value = number(*medians, kNames[i]);
    if (const Json* lane_json = warm == nullptr ? nullptr : at(*warm, kNames[i])) {
      figures.low = number(*lane_json, "low");
      figures.high = number(*lane_json, "high");
      figures.warm.abstains = at(*lane_json, "abstain") != nullptr;
      continue;
    }
    // The established tool gives the passes alone.
    for (std::size_t pass = 1; pass < passes.size(); ++pass) {
      const auto value = number(passes[pass], kCells[i]);
      if (!value) continue;
      figures.low = std::min(figures.low.value_or(*value), *value);
      figures.high = std::max(figures.high.value_or(*value), *value);
    }
  }
}

void read_placement(const Json& root, const Json& first, RunFigures& out) {
  PlacementFigures& place = out.placement;
  place.layers_on_gpu = small(first, "offload_n");
  place.layers_total = small(first, "offload_total");
  place.backend = text(first, "gpu_kind");
  place.device = text(first, "gpu_device");
  if (const Json* arguments = at(root, "engine_args");
      arguments != nullptr && arguments->is_array()) {
    for (const Json& word : *arguments) {
      if (!word.is_string()) continue;
      if (!place.arguments.empty()) place.arguments += ' ';
      place.arguments += plain(word.get_ref<const std::string&>());
    }
  }
  const Json* account = at(root, "placement");
  if (account != nullptr) {
    const std::string shape = text(*account, "shape");
    place.gpu_share = number(*account, "weights_on_gpu_fraction");
    if (shape == "gpu") place.gpu_share = 1.0;
    place.kv = text(*account, "kv_on");
    place.engagement = shape == "gpu"                                 ? Engagement::engaged
                       : shape == "partial"                           ? Engagement::partial
                       : shape == "cpu" || shape == "software-device" ? Engagement::not_engaged
                                                                      : Engagement::no_evidence;
    return;
  }
  if (!place.layers_total || !place.layers_on_gpu) return;
  place.engagement = *place.layers_on_gpu == 0                    ? Engagement::not_engaged
                     : *place.layers_on_gpu < *place.layers_total ? Engagement::partial
                                                                  : Engagement::engaged;
}

void read_machine(const Json& root, RunFigures& out) {
  const Json* machine = at(root, "machine");
  if (machine == nullptr) return;
  out.machine.chip = text(*machine, "chip");
  out.machine.os = text(*machine, "os");
  out.machine.ram_gib = number(*machine, "ram_gb");
}

void read_meter(const Json& root, RunFigures& out) {
  const Json* telemetry = at(root, "telemetry");
  if (telemetry == nullptr) return;
  out.meter.not_sampled = text(*telemetry, "off");
  out.meter.idle_percent = number(*telemetry, "idle_med");
  out.meter.work_percent = number(*telemetry, "work_med");
  out.meter.memory_bytes = number(*telemetry, "mem_step");
  out.meter.watts = number(*telemetry, "work_w");
  out.meter.joules_per_token = number(*telemetry, "joules_per_token");
  const Json* throttled = at(*telemetry, "throttled");
  out.meter.throttled = throttled != nullptr && throttled->is_boolean() && throttled->get<bool>();
}

void read_build(const Json& first, RunFigures& out) {
  if (const Json* types = at(first, "kv_types"); types != nullptr && types->is_array() &&
                                                 types->size() == 2 && types->front().is_string() &&
                                                 types->back().is_string()) {
    out.more.kv_type_k = plain(types->front().get_ref<const std::string&>());
    out.more.kv_type_v = plain(types->back().get_ref<const std::string&>());
  }
  out.cpu.threads = small(first, "threads");
  out.cpu.cores = small(first, "cores");
  out.weight_bytes = number(first, "model_bytes");
  // "8.95 B": rounded, as the engine prints it.
  const std::string parameters = text(first, "model_params");
  std::string_view rest = parameters;
  const auto count = take_double(rest);
  const std::string_view unit = trim(rest);
  const double scale = unit == "K"   ? 1e3
                       : unit == "M" ? 1e6
                       : unit == "B" ? 1e9
                       : unit == "T" ? 1e12
                                     : 0;
  if (count && scale > 0) out.parameters = *count * scale;
}

}  // namespace

Result<RunFigures> read_run_json(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  if (!root.is_object()) return fail(ErrorKind::malformed, "it is not a JSON object");
  const Json* passes = at(root, "passes");
  if (text(root, "schema") != "picchio.diagnose.v1" || passes == nullptr || !passes->is_array() ||
      passes->empty()) {
    return with_hint(
        fail(ErrorKind::malformed, "it is JSON, but not what 'picchio MODEL --json' prints"),
        "give a block, a kept folder, or the JSON of a run");
  }
  RunFigures out;
  out.model = text(root, "model");
  const std::string engine = text(root, "engine");
  const std::size_t blank = engine.rfind(' ');
  out.engine = engine.substr(0, blank);
  out.build = blank == std::string::npos ? "" : engine.substr(blank + 1);
  if (engine.ends_with("(version unknown)")) {
    out.engine = engine.substr(0, engine.find(" (version"));
    out.build.clear();
  }
  out.protocol = text(root, "protocol");
  out.version = text(root, "version");
  out.state = state_named(text(root, "state"));
  out.why = text(root, "why");
  out.sentence = text(root, "sentence");
  out.context = whole(root, "context");
  out.only_one_pass = passes->size() < 2;
  const Json* server = at(root, "server");
  const Json* loads = server == nullptr ? nullptr : at(*server, "loads_on_request");
  out.server_was_warm = loads != nullptr && loads->is_boolean() && !loads->get<bool>();
  read_build(passes->front(), out);
  read_lanes(root, *passes, out);
  read_placement(root, passes->front(), out);
  read_machine(root, out);
  read_meter(root, out);
  return out;
}

}  // namespace picchio::results
