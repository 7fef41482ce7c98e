#include "report/figures.h"

#include "base/text.h"
#include "report/block_parts.h"
#include "report/gpu_use.h"
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

void add_claim(PlacementFigures& out, const Run& run, const Verdict& verdict) {
  const ServerClaim* claim = least_claim(run);
  const auto share = claim == nullptr ? std::nullopt : claim->gpu_share();
  if (!share) return;
  out.claimed_share = std::clamp(*share, 0.0, 1.0);
  out.engagement = report::claimed_engagement(verdict.state, *share);
}

std::string note_of(const DeviceAccount& device, bool nothing_missing) {
  switch (device.kind) {
    case DeviceKind::software:
      return "software";
    case DeviceKind::remote:
      return "remote";
    case DeviceKind::host:
      return nothing_missing ? "embedding" : "";
    case DeviceKind::hardware_gpu:
      return "";
  }
  return "";
}

PlacementFigures placement_figures(const Run& run, const Verdict& verdict) {
  const Placement& placement = run.placement;
  PlacementFigures out;
  out.engagement = report::engagement_of(placement.shape);
  const bool untold = run.raw.server && placement.shape == Shape::unknown;
  if (untold) add_claim(out, run, verdict);
  if (out.engagement != Engagement::no_evidence) {
    out.layers_on_gpu = placement.layers_total ? placement.layers_on_gpu : std::nullopt;
    out.layers_total = placement.layers_on_gpu ? placement.layers_total : std::nullopt;
  }
  if (const DeviceAccount* leader = report::leading_device(placement)) {
    out.backend = report::kind_of_device(leader->name);
    out.device = report::without_vendor(leader->description);
    out.device_count = std::max(1, static_cast<int>(report::count_like(placement, *leader)));
  }
  for (const std::string& word : run.raw.user_args) {
    if (!out.arguments.empty()) out.arguments += ' ';
    out.arguments += plain(word);
  }
  out.gpu_share = report::weights_share(placement);
  if (placement.kv_on) out.kv = name_of(*placement.kv_on);
  for (const DeviceAccount& device : placement.devices) {
    const std::int64_t bytes = device.weights_bytes.value_or(0);
    if (bytes <= 0) continue;
    const bool host = device.kind == DeviceKind::host;
    out.devices.push_back({host ? "host" : plain(device.name), static_cast<double>(bytes),
                           note_of(device, out.gpu_share == 1.0)});
  }
  return out;
}

MeterFigures meter_figures(const Run& run) {
  MeterFigures out;
  const std::vector<const GpuUse*> shown = report::shown_gpus(run);
  if (shown.empty()) {
    out.not_sampled = report::why_not_sampled(run);
    return out;
  }
  const report::CombinedUse use = report::combined(shown);
  out.not_sampled = use.lost.empty() ? "" : "lost during the run: " + plain(use.lost);
  if (!use.lost.empty()) return out;
  out.idle_percent = use.idle_busy;
  out.work_percent = use.work_busy;
  if (use.memory_step) out.memory_bytes = static_cast<double>(*use.memory_step);
  out.watts = use.watts;
  out.joules_per_token = use.joules_per_token;
  out.throttled = use.throttled;
  return out;
}

ColdPassFigures cold_pass_figures(const Run& run, const Pass& pass) {
  ColdPassFigures out;
  out.seconds = pass.wall_seconds;
  out.threads = pass.log.threads;
  if (pass.log.threads) {
    out.cores = pass.log.cores ? pass.log.cores : run.raw.machine.logical_cores;
  }
  if (!run.raw.passes.empty()) out.cache = report::cache_note(run.raw.passes.front());
  const auto phase = [&](std::optional<double> seconds) {
    PhaseFigures figures{seconds, std::nullopt};
    if (seconds && pass.wall_seconds > 0) figures.percent = 100 * *seconds / pass.wall_seconds;
    return figures;
  };
  out.load = phase(pass.load_seconds);
  out.prefill = phase(pass.prefill_seconds);
  out.decode = phase(pass.decode_seconds);
  if (pass.load_seconds && pass.prefill_seconds && pass.decode_seconds) {
    out.misc = phase(std::max(0.0, pass.wall_seconds - *pass.load_seconds - *pass.prefill_seconds -
                                       *pass.decode_seconds));
  }
  return out;
}

void add_lanes(RunFigures& out, const Run& run) {
  const auto add = [&](Lane lane, std::optional<double> Lanes::* cold, std::string Lanes::* abstain,
                       const LaneSummary& warm) {
    LaneFigures& figures = out.lane(lane);
    if (!run.passes.empty()) {
      const Lanes& lanes = run.passes.front().lanes;
      figures.cold = {lanes.*cold, !(lanes.*abstain).empty()};
    }
    // A server that had its weights has no cold row, unless that pass is the only one.
    if (out.server_was_warm && !out.only_one_pass) figures.cold = {};
    if (out.only_one_pass) return;
    figures.warm = {warm.median, !warm.abstain.empty()};
    if (!warm.abstain.empty()) return;
    figures.low = warm.low;
    figures.high = warm.high;
  };
  add(Lane::prefill, &Lanes::prefill, &Lanes::prefill_abstain, run.warm_prefill);
  add(Lane::decode, &Lanes::decode, &Lanes::decode_abstain, run.warm_decode);
  add(Lane::wallclock, &Lanes::wallclock, &Lanes::wallclock_abstain, run.warm_wallclock);
  for (LaneFigures& figures : out.lanes) {
    // What abstains has no figure to quote.
    if (figures.cold.abstains) figures.cold.value.reset();
    if (figures.warm.abstains) figures.warm.value.reset();
  }
}

std::optional<std::int64_t> prompt_tokens_of(const Pass& pass) {
  if (!pass.answer) return pass.timings.prompt_tokens;
  return pass.answer->prompt_tokens ? pass.answer->prompt_tokens : pass.answer->evaluated_tokens;
}

/// Nothing of what the engine's log has no line for: a sum of some of it would be no sum.
void add_allocated(BuildFigures& out, const Run& run) {
  const auto add = [](std::optional<double>& sum, const std::optional<std::int64_t>& bytes) {
    if (bytes) sum = sum.value_or(0) + static_cast<double>(*bytes);
  };
  std::optional<double> output;
  std::optional<double> weights;
  double on_gpu = 0;
  for (const DeviceAccount& device : run.placement.devices) {
    add(weights, device.weights_bytes);
    add(out.cache_bytes, device.kv_bytes);
    add(out.compute_bytes, device.compute_bytes);
    add(output, device.output_bytes);
    if (device.kind != DeviceKind::hardware_gpu) continue;
    for (const auto& part :
         {device.weights_bytes, device.kv_bytes, device.compute_bytes, device.output_bytes}) {
      on_gpu += static_cast<double>(part.value_or(0));
    }
  }
  if (weights && out.cache_bytes && out.compute_bytes) {
    out.allocated_bytes = *weights + *out.cache_bytes + *out.compute_bytes + output.value_or(0);
    out.gpu_allocated_bytes = on_gpu;
    return;
  }
  const ServerClaim* claim = least_claim(run);
  if (claim == nullptr || claim->bytes <= 0) return;
  out.allocated_bytes = static_cast<double>(claim->bytes);
  out.gpu_allocated_bytes = static_cast<double>(claim->gpu_bytes);
}

BuildFigures build_figures(const Run& run, const Load* load) {
  BuildFigures out;
  if (!run.passes.empty()) out.filled_tokens = prompt_tokens_of(run.passes.back());
  add_allocated(out, run);
  if (load != nullptr) {
    out.kv_type_k = plain(load->kv_type_k);
    out.kv_type_v = plain(load->kv_type_v);
    out.flash_attention = load->flash_attention;
  }
  for (const MeteredGpu& gpu : run.raw.telemetry.gpus) {
    if (out.driver.empty()) out.driver = plain(gpu.driver);
  }
  const auto& model = run.raw.model;
  if (model && model->parameters > 0) {
    constexpr double kBits = 8;
    out.bits_per_weight =
        kBits * static_cast<double>(model->tensor_bytes) / static_cast<double>(model->parameters);
  }
  return out;
}

}  // namespace

RunFigures figures_of(const Run& run, const Verdict& verdict) {
  const EngineLog* log = report::first_log(run);
  const Load* load = log == nullptr ? nullptr : main_load(*log);
  RunFigures out;
  out.model = report::model_label(run);
  if (out.model == "model name unknown") out.model.clear();
  out.parameters = report::parameters_of(run, load);
  if (const auto& server = run.raw.server) out.quant = plain(server->quant);
  if (const auto bytes = report::weight_bytes_of(run, load)) {
    out.weight_bytes = static_cast<double>(*bytes);
  }
  const std::string engine = report::engine_label(run);
  // "LM Studio" is two words.
  const std::size_t blank =
      run.raw.server ? name_of(run.raw.server->kind).size() : engine.find(' ');
  out.engine = engine.substr(0, blank);
  if (out.engine == "engine") out.engine.clear();
  out.build = blank >= engine.size() ? "" : engine.substr(blank + 1);
  if (out.build == "(version unknown)") out.build.clear();
  out.placement = placement_figures(run, verdict);
  out.meter = meter_figures(run);
  out.cpu = {report::busy_cores(run), std::nullopt, std::nullopt};
  if (out.cpu.busy_cores) {
    out.cpu.cores = run.raw.machine.logical_cores;
    if (log != nullptr) out.cpu.threads = log->threads;
  }
  out.sampling = report::sampling_of(run);
  out.context = run.context;
  out.only_one_pass = run.passes.size() < 2;
  out.server_was_warm = report::never_cold(run);
  add_lanes(out, run);
  if (!run.passes.empty() && !out.server_was_warm) {
    out.cold_pass = cold_pass_figures(run, run.passes.front());
  }
  out.state = verdict.state;
  out.sentence = plain(verdict.sentence);
  out.why = report::why_of(run, verdict);
  out.fix = report::fix_of(verdict);
  out.version = plain(run.raw.picchio_version);
  out.protocol = plain(run.raw.protocol);
  const report::CountedName gpu = report::footer_gpu(run);
  const Machine& machine = run.raw.machine;
  out.machine.chip = plain(machine.chip);
  out.machine.gpu = gpu.name == out.machine.chip ? "" : gpu.name;
  out.machine.gpu_count = out.machine.gpu.empty() ? 0 : gpu.count;
  if (machine.ram_bytes) {
    out.machine.ram_gib = static_cast<double>(*machine.ram_bytes) / 1073741824.0;
  }
  out.machine.os = plain(machine.os);
  out.more = build_figures(run, load);
  return out;
}

}  // namespace picchio
