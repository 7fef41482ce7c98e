#include "results/compare.h"

#include "base/text.h"
#include "results/model_names.h"
#include "verdict/arguments.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace picchio::results {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kSameBits = 0.01;    // sizes are printed with three digits
constexpr double kSameShare = 0.011;  // of weights: percent are printed whole
constexpr double kSamePower = 0.10;   // watts of one card wander by some percent

std::string percent_of(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string weights_text(const RunFigures& run) {
  const PlacementFigures& place = run.placement;
  if (place.gpu_share && place.layers_total) {
    return fmt::format("{} of weights on GPU, {}/{} layers", percent_of(*place.gpu_share),
                       place.layers_on_gpu.value_or(0), *place.layers_total);
  }
  if (place.gpu_share) return percent_of(*place.gpu_share) + " of weights on GPU";
  if (place.layers_total) {
    return fmt::format("{}/{} layers on GPU", place.layers_on_gpu.value_or(0), *place.layers_total);
  }
  if (place.claimed_share && place.engagement != Engagement::no_evidence) {
    return percent_of(*place.claimed_share) + " of weights on GPU, as claimed";
  }
  if (run.state == State::silent_cpu_fallback || run.state == State::cpu_only_machine) {
    return "on the CPU";
  }
  if (run.state == State::healthy) return "on the GPU";
  return "";
}

std::string placement_text(const RunFigures& run) {
  std::string out = weights_text(run);
  if (!out.empty() && !run.placement.kv.empty()) out += ", KV cache " + run.placement.kv;
  return out;
}

/// "gpu", "cpu", "remote"; "mixed" for whatever is in parts; empty: not told.
std::string_view kv_place(const RunFigures& run) {
  const std::string_view told = run.placement.kv;
  for (const std::string_view whole : {"gpu", "cpu", "remote", ""}) {
    if (told == whole) return whole;
  }
  return "mixed";
}

/// The share of the weights, or of the layers, that are on a GPU.
std::optional<double> share_of(const RunFigures& run) {
  const PlacementFigures& place = run.placement;
  if (place.gpu_share) return place.gpu_share;
  if (const int total = place.layers_total.value_or(0); total > 0) {
    return static_cast<double>(place.layers_on_gpu.value_or(0)) / total;
  }
  if (place.claimed_share && place.engagement != Engagement::no_evidence) {
    return place.claimed_share;
  }
  if (run.state == State::silent_cpu_fallback || run.state == State::cpu_only_machine) return 0.0;
  if (run.state == State::healthy) return 1.0;
  return std::nullopt;
}

bool placements_differ(const RunFigures& a, const RunFigures& b) {
  const auto on_gpu = [](const RunFigures& run) {
    return run.placement.engagement == Engagement::engaged || run.state == State::healthy;
  };
  if (!kv_place(a).empty() && !kv_place(b).empty() && kv_place(a) != kv_place(b)) return true;
  const auto x = share_of(a);
  const auto y = share_of(b);
  if (!x || !y) return false;
  // 33 of 33 layers is 100 % of what belongs there; bytes and layers of one partial load differ.
  const bool like_with_like =
      a.placement.gpu_share.has_value() == b.placement.gpu_share.has_value();
  if (!like_with_like && on_gpu(a) == on_gpu(b) && (*x > 0) == (*y > 0)) return false;
  return std::abs(*x - *y) > kSameShare;
}

std::string device_of(const RunFigures& run) {
  const PlacementFigures& place = run.placement;
  if (place.engagement == Engagement::not_engaged) return "CPU";
  if (!place.device.empty()) {
    return place.device + (place.device_count > 1 ? fmt::format(" x{}", place.device_count) : "");
  }
  // A footer's GPU is one that could have done it.
  return place.engagement == Engagement::engaged ? run.machine.gpu : "";
}

/// "CUDA" and "Vulkan" on one card are two runs; a CPU has none.
bool backends_differ(const RunFigures& a, const RunFigures& b) {
  const std::string x = lower(a.placement.backend);
  const std::string y = lower(b.placement.backend);
  const bool on_cpu = a.placement.engagement == Engagement::not_engaged ||
                      b.placement.engagement == Engagement::not_engaged;
  return !on_cpu && !x.empty() && !y.empty() && x != y;
}

std::string device_text(const RunFigures& run) {
  const std::string device = device_of(run);
  if (device.empty() || device == "CPU" || run.placement.backend.empty()) return device;
  return fmt::format("{} ({})", device, run.placement.backend);
}

bool devices_differ(const RunFigures& a, const RunFigures& b) {
  const std::string x = device_of(a);
  const std::string y = device_of(b);
  return backends_differ(a, b) || (x != y && !same_device_name(x, y));
}

/// What was put in: llama-bench's prompt, or a protocol.
std::string prompt_text(const RunFigures& run) {
  if (run.more.prompt_tokens) return fmt::format("{} tokens", *run.more.prompt_tokens);
  return run.protocol;
}

std::string arguments_text(const RunFigures& run) {
  return run.placement.arguments.empty() ? "none" : run.placement.arguments;
}

bool arguments_differ(const RunFigures& a, const RunFigures& b) {
  return settled_arguments(a.placement.arguments) != settled_arguments(b.placement.arguments);
}

std::optional<double> bits_of(const RunFigures& run) {
  if (run.more.bits_per_weight) return run.more.bits_per_weight;
  const double parameters = run.parameters.value_or(0);
  if (!run.weight_bytes || parameters <= 0) return std::nullopt;
  return kBitsPerByte * *run.weight_bytes / parameters;
}

std::string quant_text(const RunFigures& run) {
  const auto bits = bits_of(run);
  std::string out = run.quant_label();
  if (bits) out += fmt::format("{}{:.2f} bits per weight", out.empty() ? "" : ", ", *bits);
  return out;
}

bool quants_differ(const RunFigures& a, const RunFigures& b) {
  const auto x = bits_of(a);
  const auto y = bits_of(b);
  if (x && y) return std::abs(*x - *y) > kSameBits * std::max(*x, *y);
  const std::string p = lower(a.quant_label());
  const std::string q = lower(b.quant_label());
  return !p.empty() && !q.empty() && p != q;
}

std::string kv_text(const RunFigures& run) {
  if (run.more.kv_type_k.empty()) return "";
  const std::string& v = run.more.kv_type_v.empty() ? run.more.kv_type_k : run.more.kv_type_v;
  return run.more.kv_type_k + "/" + v;
}

std::string batch_text(const RunFigures& run) {
  if (!run.more.batch && !run.more.ubatch) return "";
  const auto text = [](std::optional<std::int64_t> value) {
    return value ? fmt::format("{}", *value) : std::string("?");
  };
  return text(run.more.batch) + "/" + text(run.more.ubatch);
}

std::string power_text(const RunFigures& run) {
  std::string out = run.meter.watts ? fmt::format("{:.1f} W", *run.meter.watts) : "";
  if (run.meter.throttled) out += out.empty() ? "throttled" : ", throttled";
  return out;
}

bool powers_differ(const RunFigures& a, const RunFigures& b) {
  if (a.meter.throttled != b.meter.throttled) return true;
  if (!a.meter.watts || !b.meter.watts) return false;
  const double larger = std::max(*a.meter.watts, *b.meter.watts);
  return std::abs(*a.meter.watts - *b.meter.watts) > kSamePower * larger;
}

std::string hardware_text(const RunFigures& run) {
  std::string out = run.machine.chip;
  if (!run.machine.gpu.empty()) out += " + " + run.machine.gpu;
  if (run.machine.gpu_count > 1) out += fmt::format(" x{}", run.machine.gpu_count);
  if (run.machine.ram_gib && !out.empty()) {
    out += fmt::format(", {:.0f} GB", std::round(*run.machine.ram_gib));
  }
  return out;
}

template <typename T>
std::string number_text(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

ComparedCondition plain_rung(std::string name, std::string a, std::string b) {
  ComparedCondition out{std::move(name), std::move(a), std::move(b), false};
  out.differs = out.judged() && out.a != out.b;
  return out;
}

ComparedCondition rung(std::string name, std::string a, std::string b, bool differs) {
  ComparedCondition out{std::move(name), std::move(a), std::move(b), false};
  out.differs = out.judged() && differs;
  return out;
}

std::vector<ComparedCondition> ladder(const RunFigures& a, const RunFigures& b) {
  const auto flash = [](const RunFigures& run) {
    return run.more.flash_attention ? std::string(*run.more.flash_attention ? "on" : "off") : "";
  };
  const auto build = [](const RunFigures& run) {
    return run.build.empty() ? "" : run.engine + " " + run.build;
  };
  return {
      rung("placement", placement_text(a), placement_text(b), placements_differ(a, b)),
      rung("device", device_text(a), device_text(b), devices_differ(a, b)),
      rung("quant", quant_text(a), quant_text(b), quants_differ(a, b)),
      plain_rung("KV type", kv_text(a), kv_text(b)),
      plain_rung("flash attention", flash(a), flash(b)),
      plain_rung("context", number_text(a.context), number_text(b.context)),
      plain_rung("prompt", prompt_text(a), prompt_text(b)),
      plain_rung("batch/ubatch", batch_text(a), batch_text(b)),
      plain_rung("threads", number_text(a.threads()), number_text(b.threads())),
      rung("arguments", arguments_text(a), arguments_text(b), arguments_differ(a, b)),
      plain_rung("engine", build(a), build(b)),
      plain_rung("driver", a.more.driver, b.more.driver),
      rung("power", power_text(a), power_text(b), powers_differ(a, b)),
      plain_rung("hardware", hardware_text(a), hardware_text(b)),
      plain_rung("OS", a.machine.os, b.machine.os),
  };
}

/// Absent: a single warm pass has none.
std::optional<double> spread_of(const LaneFigures& lane) {
  const double middle = lane.warm.value.value_or(0);
  if (!lane.low || !lane.high || middle <= 0 || *lane.high <= *lane.low) return std::nullopt;
  return (*lane.high - *lane.low) / middle;
}

/// Empty: both have a figure.
std::string why_no_ratio(const Rate& a, const Rate& b) {
  if (a.value && b.value) return "";
  if (!a.value && !b.value) return "no figure";
  const Rate& missing = a.value ? b : a;
  return fmt::format("{} {}", a.value ? "B" : "A", missing.abstains ? "abstains" : "has no figure");
}

ComparedLane compare_lane(Lane which, const RunFigures& a, const RunFigures& b,
                          std::optional<double> tolerance) {
  const LaneFigures& x = a.lane(which);
  const LaneFigures& y = b.lane(which);
  ComparedLane out;
  out.lane = which;
  const bool both_warm = x.warm.value && y.warm.value;
  // A first pass is held against a first pass, but not where a warm row was read and does not
  // count.
  const bool both_cold = x.cold.value && y.cold.value && !x.warm.abstains && !y.warm.abstains;
  out.warm = both_warm || (!both_cold && (x.warm.value || y.warm.value));
  const Rate& from_a = out.warm ? x.warm : x.cold;
  const Rate& from_b = out.warm ? y.warm : y.cold;
  out.a = from_a.value;
  out.b = from_b.value;
  out.why_not = why_no_ratio(from_a, from_b);
  // Wall-clock holds what a protocol asks for, so it compares with nothing else.
  if (out.why_not.empty() && which == Lane::wallclock && a.protocol != b.protocol) {
    out.why_not = fmt::format("A follows {}, B {}", a.protocol.empty() ? "no protocol" : a.protocol,
                              b.protocol.empty() ? "no protocol" : b.protocol);
  }
  if (out.why_not.empty() && which == Lane::prefill && a.more.prompt_tokens &&
      b.more.prompt_tokens && a.more.prompt_tokens != b.more.prompt_tokens) {
    out.why_not = fmt::format("A's prompt has {} tokens, B's {}", *a.more.prompt_tokens,
                              *b.more.prompt_tokens);
  }
  if (!out.why_not.empty()) return out;
  const auto spread_a = out.warm ? spread_of(x) : std::nullopt;
  const auto spread_b = out.warm ? spread_of(y) : std::nullopt;
  // The sum of two ranges of two passes each covers 97 of 100 differences by chance.
  const double own = spread_a && spread_b ? *spread_a + *spread_b : kUnknownSpread;
  out.spread_assumed = !tolerance && (!spread_a || !spread_b);
  out.limit = tolerance.value_or(std::max(own, kLeastSpread));
  return out;
}

bool alike(std::optional<double> a, std::optional<double> b) {
  return a && b && std::abs(*a - *b) <= kSameBits * std::max(*a, *b);
}

std::string shown_name(const RunFigures& run) {
  return run.model.empty() ? std::string("a model without a name") : run.model;
}

/// Why their rates say nothing of each other; empty: they may be compared.
std::string not_one_model(const RunFigures& a, const RunFigures& b) {
  const bool same_size = alike(a.parameters, b.parameters);
  if (a.parameters && b.parameters && !same_size) {
    return fmt::format("{} has {} parameters, {} {}: different models", shown_name(a),
                       format_parameters(*a.parameters), shown_name(b),
                       format_parameters(*b.parameters));
  }
  const std::string x = model_core(a.model);
  const std::string y = model_core(b.model);
  const bool unnamed = x.empty() || y.empty();
  const bool related = unnamed || names_are_related(a.model, b.model);
  if ((!unnamed && x == y) || (same_size && related)) return "";
  if (related) {
    return fmt::format("whether {} and {} are one model is not told", shown_name(a), shown_name(b));
  }
  return fmt::format("{} and {} are different models", shown_name(a), shown_name(b));
}

/// What a verdict says of the run itself, and not of the evidence there was.
std::string verdict_text(const RunFigures& run) {
  if (!run.state || *run.state == State::no_placement_evidence ||
      *run.state == State::no_timing_evidence) {
    return "";
  }
  return std::string(name_of(*run.state));
}

}  // namespace

Comparison compare(const RunFigures& a, const RunFigures& b, std::optional<double> tolerance) {
  Comparison out;
  out.model = a.model;
  if (b.model != a.model) out.other_model = b.model;
  out.tolerance = tolerance;
  out.not_comparable = not_one_model(a, b);
  out.conditions = ladder(a, b);
  out.verdicts = plain_rung("verdict", verdict_text(a), verdict_text(b));
  for (const Lane lane : kLanes) out.lanes.push_back(compare_lane(lane, a, b, tolerance));
  if (!out.differs()) return out;
  const auto first = std::ranges::find(out.conditions, true, &ComparedCondition::differs);
  if (first != out.conditions.end()) {
    out.suspect = static_cast<std::size_t>(first - out.conditions.begin());
  }
  return out;
}

}  // namespace picchio::results
