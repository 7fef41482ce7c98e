#include "report/gpu_use.h"

#include "base/text.h"
#include "evidence/metered_gpu.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::report {
namespace {

void take_most(std::optional<double>& most, std::optional<double> value) {
  if (value && (!most || *value > *most)) most = value;
}

/// Adds, and makes the sum absent for good where one value is.
template <class T>
class Sum {
 public:
  void add(std::optional<T> value) {
    whole_ = whole_ && value.has_value();
    if (value) sum_ += *value;
    any_ = true;
  }
  [[nodiscard]] std::optional<T> get() const {
    return whole_ && any_ ? std::optional<T>(sum_) : std::nullopt;
  }

 private:
  T sum_{};
  bool whole_ = true;
  bool any_ = false;
};

Json phase_json(const GpuPhase& phase) {
  return {{"looks", phase.samples},
          {"seconds", phase.seconds},
          {"tokens", phase.tokens},
          {"busy_median", value_or_null(phase.busy_median)},
          {"busy_peak", value_or_null(phase.busy_peak)},
          {"watts", value_or_null(phase.watts)},
          {"joules", value_or_null(phase.joules)},
          {"joules_per_token", value_or_null(phase.joules_per_token())},
          {"joules_from_counter", phase.joules ? Json(phase.joules_from_counter) : Json(nullptr)},
          {"engine_share", value_or_null(phase.tree_share)}};
}

Json gpu_json(const Telemetry& telemetry, const GpuUse& use) {
  const MeteredGpu& gpu = telemetry.gpus[static_cast<std::size_t>(use.gpu)];
  Json missing = Json::object();
  for (const MissingFigure& figure : gpu.missing) {
    missing[std::string(name_of(figure.figure))] = figure.reason;
  }
  return {{"index", use.gpu},
          {"name", text_or_null(gpu.name)},
          {"address", text_or_null(gpu.address)},
          {"meter", text_or_null(gpu.meter)},
          {"driver", text_or_null(gpu.driver)},
          {"total_bytes", value_or_null(gpu.memory_bytes)},
          {"unified_memory", gpu.unified_memory},
          {"power_is_package", gpu.power_is_package},
          {"in_use", use.in_use},
          {"idle",
           {{"looks", use.idle_samples},
            {"busy_median", value_or_null(use.idle_busy)},
            {"watts", value_or_null(use.idle_watts)}}},
          {"prefill", phase_json(use.prefill)},
          {"decode", phase_json(use.decode)},
          {"work", phase_json(use.work)},
          {"memory_step_bytes", value_or_null(use.memory_step)},
          {"engine_bytes", value_or_null(use.tree_memory)},
          {"engine_evicted_bytes", value_or_null(use.tree_evicted)},
          {"throttled_share", use.throttled_share},
          {"power_capped_share", use.power_capped_share},
          {"asleep", use.asleep},
          {"lost", text_or_null(use.lost)},
          {"missing", missing}};
}

std::string phase_text(std::string_view name, const GpuPhase& phase, std::string_view token) {
  std::vector<std::string> parts;
  if (phase.busy_median) {
    parts.push_back(fmt::format("busy {:.0f}%", *phase.busy_median));
    if (phase.busy_peak) parts.push_back(fmt::format("peak {:.0f}%", *phase.busy_peak));
  }
  if (phase.tree_share) {
    parts.push_back(fmt::format("the engine's share {:.0f}%", 100 * *phase.tree_share));
  }
  if (phase.watts) parts.push_back(fmt::format("{:.1f} W", *phase.watts));
  if (const auto joules = phase.joules_per_token()) {
    parts.push_back(fmt::format("{:.3f} J per {} token by {}", *joules, token,
                                phase.joules_from_counter ? "the counter" : "power readings"));
  }
  if (parts.empty()) return {};
  return fmt::format("{}: {}; {} looks", name, fmt::join(parts, ", "), phase.samples);
}

std::string memory_text(const GpuUse& use) {
  std::vector<std::string> parts;
  if (use.memory_step) {
    const bool more = *use.memory_step >= 0;
    parts.push_back(fmt::format("{}{} since the idle look", more ? "+" : "-",
                                format_bytes(more ? *use.memory_step : -*use.memory_step)));
  }
  if (use.tree_memory) {
    parts.push_back("the engine's processes held " + format_bytes(*use.tree_memory));
  }
  if (use.tree_evicted.value_or(0) > 0) {
    parts.push_back(format_bytes(*use.tree_evicted) + " of it pushed out");
  }
  return parts.empty() ? std::string() : fmt::format("memory: {}", fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> gpu_use_lines(const Run& run) {
  std::vector<std::string> out;
  for (const GpuUse& use : run.gpu_use) {
    const MeteredGpu& gpu = run.raw.telemetry.gpus[static_cast<std::size_t>(use.gpu)];
    out.push_back(fmt::format("{} {} ({}){}", use.gpu,
                              fit(plain(gpu.name.empty() ? "unnamed GPU" : gpu.name), 40),
                              plain(gpu.meter), use.in_use ? ", in use" : ""));
    std::vector<std::string> rows;
    if (use.idle_busy || use.idle_watts) {
      std::vector<std::string> parts;
      if (use.idle_busy) parts.push_back(fmt::format("busy {:.0f}%", *use.idle_busy));
      if (use.idle_watts) parts.push_back(fmt::format("{:.1f} W", *use.idle_watts));
      rows.push_back(fmt::format("idle: {}; {} looks", fmt::join(parts, ", "), use.idle_samples));
    }
    rows.push_back(phase_text("prefill", use.prefill, "prompt"));
    rows.push_back(phase_text("decode", use.decode, "generated"));
    rows.push_back(memory_text(use));
    if (use.throttled_share > 0) {
      rows.push_back(fmt::format("slowed by heat or its board at {:.0f}% of the looks",
                                 100 * use.throttled_share));
    }
    if (use.power_capped_share > 0) {
      rows.push_back(
          fmt::format("at its power limit at {:.0f}% of the looks", 100 * use.power_capped_share));
    }
    if (!use.lost.empty()) rows.push_back("lost: " + plain(use.lost));
    if (use.asleep) rows.emplace_back("powered down all the while");
    for (const std::string& row : rows) {
      if (!row.empty()) out.push_back("  " + row);
    }
  }
  return out;
}

std::vector<const GpuUse*> shown_gpus(const Run& run) {
  std::vector<const GpuUse*> out;
  for (const GpuUse& use : run.gpu_use) {
    if (use.in_use) out.push_back(&use);
  }
  if (!out.empty() || run.gpu_use.empty()) return out;
  out.push_back(&*std::ranges::max_element(
      run.gpu_use, {}, [](const GpuUse& use) { return use.work.busy_median.value_or(-1); }));
  return out;
}

std::string why_not_sampled(const Run& run) {
  const Telemetry& telemetry = run.raw.telemetry;
  if (!telemetry.none_because.empty()) return plain(telemetry.none_because);
  return telemetry.gpus.empty() ? "not recorded" : "no pass tells when it ran";
}

CombinedUse combined(const std::vector<const GpuUse*>& shown) {
  CombinedUse out;
  Sum<double> idle_watts;
  Sum<double> watts;
  Sum<double> decode_watts;
  Sum<double> decode_joules;
  Sum<double> prefill_joules;
  Sum<std::int64_t> memory;
  for (const GpuUse* use : shown) {
    take_most(out.idle_busy, use->idle_busy);
    take_most(out.work_busy, use->work.busy_median);
    out.work_looks = std::max(out.work_looks, use->work.samples);
    out.decode_looks = std::max(out.decode_looks, use->decode.samples);
    idle_watts.add(use->idle_watts);
    watts.add(use->work.watts);
    decode_watts.add(use->decode.watts);
    decode_joules.add(use->decode.joules_per_token());
    prefill_joules.add(use->prefill.joules_per_token());
    memory.add(use->memory_step);
    out.throttled = out.throttled || often_throttled(*use);
    if (out.lost.empty()) out.lost = use->lost;
  }
  out.idle_watts = idle_watts.get();
  out.watts = watts.get();
  out.decode_watts = decode_watts.get();
  out.joules_per_token = decode_joules.get();
  out.joules_per_prompt_token = prefill_joules.get();
  out.memory_step = memory.get();
  return out;
}

Json telemetry_json(const Run& run) {
  const std::vector<const GpuUse*> shown = shown_gpus(run);
  const Telemetry& telemetry = run.raw.telemetry;
  if (shown.empty()) return {{"off", why_not_sampled(run)}, {"news", telemetry.news}};
  const CombinedUse use = combined(shown);
  Json gpus = Json::array();
  for (const GpuUse& each : run.gpu_use) gpus.push_back(gpu_json(telemetry, each));
  const MeteredGpu& first = telemetry.gpus[static_cast<std::size_t>(shown.front()->gpu)];
  return {{"hz", telemetry.hz},
          {"n", telemetry.samples.size()},
          {"src", text_or_null(first.meter)},
          {"idle_med", value_or_null(use.idle_busy)},
          {"idle_w", value_or_null(use.idle_watts)},
          {"work_med", value_or_null(use.work_busy)},
          {"work_n", use.work_looks},
          {"mem_step", value_or_null(use.memory_step)},
          {"work_w", value_or_null(use.watts)},
          {"throttled", use.throttled},
          {"dec_w", value_or_null(use.decode_watts)},
          {"dec_n", use.decode_looks},
          {"joules_per_token", value_or_null(use.joules_per_token)},
          {"joules_per_prompt_token", value_or_null(use.joules_per_prompt_token)},
          {"halvings", telemetry.halvings},
          {"news", telemetry.news},
          {"gpus", gpus}};
}

}  // namespace picchio::report
