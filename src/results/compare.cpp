#include "results/compare.h"

#include "base/text.h"
#include "evidence/card.h"
#include "evidence/shard_name.h"
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

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string percent_of(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string placement_text(const RunFigures& run) {
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

std::optional<double> bits_of(const RunFigures& run) {
  if (run.more.bits_per_weight) return run.more.bits_per_weight;
  const double parameters = run.parameters.value_or(0);
  if (!run.weight_bytes || parameters <= 0) return std::nullopt;
  return kBitsPerByte * *run.weight_bytes / parameters;
}

std::string quant_of(const RunFigures& run) {
  return run.quant.empty() ? label_in_name(run.model) : run.quant;
}

std::string quant_text(const RunFigures& run) {
  const auto bits = bits_of(run);
  std::string out = quant_of(run);
  if (bits) out += fmt::format("{}{:.2f} bits per weight", out.empty() ? "" : ", ", *bits);
  return out;
}

bool quants_differ(const RunFigures& a, const RunFigures& b) {
  const auto x = bits_of(a);
  const auto y = bits_of(b);
  if (x && y) return std::abs(*x - *y) > kSameBits * std::max(*x, *y);
  const std::string p = lower(quant_of(a));
  const std::string q = lower(quant_of(b));
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

std::optional<int> threads_of(const RunFigures& run) {
  if (run.cold_pass && run.cold_pass->threads) return run.cold_pass->threads;
  return run.cpu.threads;
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
  const std::string device_a = device_of(a);
  const std::string device_b = device_of(b);
  const auto flash = [](const RunFigures& run) {
    return run.more.flash_attention ? std::string(*run.more.flash_attention ? "on" : "off") : "";
  };
  const auto build = [](const RunFigures& run) {
    return run.build.empty() ? "" : run.engine + " " + run.build;
  };
  return {
      rung("placement", placement_text(a), placement_text(b), placements_differ(a, b)),
      rung("device", device_a, device_b,
           device_a != device_b && !same_device_name(device_a, device_b)),
      rung("quant", quant_text(a), quant_text(b), quants_differ(a, b)),
      plain_rung("KV type", kv_text(a), kv_text(b)),
      plain_rung("flash attention", flash(a), flash(b)),
      plain_rung("context", number_text(a.context), number_text(b.context)),
      plain_rung("batch/ubatch", batch_text(a), batch_text(b)),
      plain_rung("threads", number_text(threads_of(a)), number_text(threads_of(b))),
      plain_rung("arguments", a.placement.arguments.empty() ? "none" : a.placement.arguments,
                 b.placement.arguments.empty() ? "none" : b.placement.arguments),
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
  out.warm = x.warm.value.has_value() || y.warm.value.has_value();
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
  if (!out.why_not.empty()) return out;
  const auto spread_a = out.warm ? spread_of(x) : std::nullopt;
  const auto spread_b = out.warm ? spread_of(y) : std::nullopt;
  // The sum of two ranges of two passes each covers 97 of 100 differences by chance.
  const double own = spread_a && spread_b ? *spread_a + *spread_b : kUnknownSpread;
  out.limit = tolerance.value_or(std::max(own, kLeastSpread));
  return out;
}

bool alike(std::optional<double> a, std::optional<double> b) {
  return a && b && std::abs(*a - *b) <= kSameBits * std::max(*a, *b);
}

/// Why their rates say nothing of each other; empty: they may be compared.
std::string not_one_model(const RunFigures& a, const RunFigures& b) {
  const bool other_size = a.parameters && b.parameters && !alike(a.parameters, b.parameters);
  const std::string x = model_core(a.model);
  const std::string y = model_core(b.model);
  const bool unnamed = x.empty() || y.empty();
  if (!other_size && (unnamed ? alike(a.parameters, b.parameters) : x == y)) return "";
  const auto shown = [](const RunFigures& run) {
    return run.model.empty() ? std::string("a model without a name") : run.model;
  };
  if (unnamed && !other_size) {
    return fmt::format("whether {} and {} are one model is not told", shown(a), shown(b));
  }
  return fmt::format("{} and {} are different models", shown(a), shown(b));
}

}  // namespace

std::string model_core(std::string_view name) {
  std::string base = lower(base_name(name));
  if (const auto shard = shard_name(base)) base = shard->prefix;
  if (base.ends_with(".gguf")) base.resize(base.size() - std::string_view(".gguf").size());
  if (base.ends_with(":latest")) base.resize(base.size() - std::string_view(":latest").size());
  const LabelPlace quant = label_place(base);
  base.erase(quant.begin, quant.size);
  if (quant.size > 0 && quant.begin <= base.size() && base.ends_with("ud-")) {
    base.resize(base.size() - 3);
  }
  std::erase_if(base, [](char c) { return !is_digit(c) && !is_letter(c); });
  const bool nameless = base == "model" || base == "ggmlmodel" || base.starts_with("sha256");
  return nameless ? "" : base;
}

Comparison compare(const RunFigures& a, const RunFigures& b, std::optional<double> tolerance) {
  Comparison out;
  out.model = a.model;
  if (b.model != a.model) out.other_model = b.model;
  out.tolerance = tolerance;
  out.not_comparable = not_one_model(a, b);
  out.conditions = ladder(a, b);
  for (const Lane lane : kLanes) out.lanes.push_back(compare_lane(lane, a, b, tolerance));
  if (!out.differs()) return out;
  const auto first = std::ranges::find(out.conditions, true, &ComparedCondition::differs);
  if (first != out.conditions.end()) {
    out.suspect = static_cast<std::size_t>(first - out.conditions.begin());
  }
  return out;
}

}  // namespace picchio::results
