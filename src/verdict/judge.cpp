#include "verdict/judge.h"

#include "base/text.h"
#include "evidence/metered_gpu.h"
#include "verdict/account.h"
#include "verdict/cards_in_use.h"
#include "verdict/causes/causes.h"
#include "verdict/gpu_meter.h"
#include "verdict/hearing.h"
#include "verdict/judge_servers.h"
#include "verdict/roofline.h"
#include "verdict/witnesses.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

// For a device whose peak is not known. The fastest memory of one device in 2026 reads 8 TB/s
// (B200, MI355X). Half as much again is beyond any doubt about its clock.
constexpr double kGpuBytesPerSecond = 12e12;
// For a machine whose RAM was not measured. Two sockets of twelve DDR5-6400 channels read 1.2 TB/s,
// Xeon Max 1.6 TB/s.
constexpr double kHostBytesPerSecond = 2e12;
// Of a GPU's time in decode.
constexpr double kMostOfTheTime = 0.5;

// The rules, in the order of the table below.

std::optional<Finding> passes_disagree(const Hearing& h) {
  if (h.run.disagreement.empty()) return std::nullopt;
  return Finding{State::conflicting_evidence, h.run.disagreement + ". Neither is believed."};
}

std::optional<Finding> remote_cpu(const Hearing& h) {
  const DeviceAccount* worker = biggest(h.run.placement, DeviceKind::remote);
  if (h.run.placement.shape != Shape::cpu || worker == nullptr) return std::nullopt;
  return Finding{State::silent_cpu_fallback,
                 fmt::format("Remote {} is a CPU. It holds {} of the weights.", label(*worker),
                             share_of(h.run.placement, *worker))};
}

bool renders_in_software(const Hearing& h) {
  return h.measured && !h.run.raw.passes.empty() && h.says(Witness::process, Word::cpu) &&
         !h.run.raw.passes.front().process.renderer.empty();
}

std::optional<Finding> software_device(const Hearing& h) {
  if (h.run.placement.shape == Shape::unknown && renders_in_software(h)) {
    return Finding{State::silent_cpu_fallback,
                   fmt::format("{} is a CPU, not a GPU, and the only device that was opened.",
                               plain(h.run.raw.passes.front().process.renderer))};
  }
  if (h.run.placement.shape != Shape::software_device) return std::nullopt;
  const DeviceAccount* device = biggest(h.run.placement, DeviceKind::software);
  return Finding{State::silent_cpu_fallback,
                 fmt::format("{} is a CPU, not a GPU. This machine's processor did the work.",
                             device == nullptr ? "Its device" : short_label(*device))};
}

std::optional<Finding> host_too_fast(const Hearing& h) {
  if (!ran_on_cpu(h) || !h.run.roofline || !h.run.roofline->bytes_uncertain.empty()) {
    return std::nullopt;
  }
  const Roofline& roof = *h.run.roofline;
  const double gb = roof.bytes_per_second() / 1e9;
  if (roof.weight_bytes >= kBeyondCaches && roof.bytes_per_second() >= kHostBytesPerSecond) {
    return Finding{
        State::conflicting_evidence,
        fmt::format("The bytes say CPU, but decode reads {:.0f} GB/s: no host memory gives that.",
                    gb)};
  }
  // Without a card the RAM was measured at a bad moment, which is more likely than a miracle.
  if (!roof.beyond_host() || !has_discrete_gpu(h.run)) return std::nullopt;
  const double ram = h.run.raw.machine.ram_bytes_per_second.value_or(0) / 1e9;
  return Finding{
      State::conflicting_evidence,
      fmt::format(
          "The bytes say CPU, but decode reads {:.0f} GB/s ({:.1f} tok/s x {:.2f} GB). This "
          "machine's RAM gives {:.0f}.",
          gb, roof.tokens_per_second, static_cast<double>(roof.bytes_per_token()) / 1e9, ram)};
}

std::optional<Finding> cpu_only_machine(const Hearing& h) {
  if (!ran_on_cpu(h) || !machine_without_gpu(h) || log_lists_hardware(h)) return std::nullopt;
  if (!has_rates(h)) {
    return Finding{State::no_timing_evidence,
                   "All on the CPU of a machine without a GPU, and no rates to read."};
  }
  return Finding{State::cpu_only_machine,
                 "This machine has no GPU that the engine could use. The rates are its CPU's."};
}

std::optional<Finding> gpu_stood_by(const Hearing& h) {
  if (!ran_on_cpu(h)) return std::nullopt;
  if (const MachineGpu* gpu = machine_gpu(h)) {
    return Finding{
        State::silent_cpu_fallback,
        fmt::format("The CPU did the work while {} stood by.", fit(plain(gpu->name), 40))};
  }
  if (!log_lists_hardware(h)) return std::nullopt;
  const auto& devices = h.run.passes.front().log.devices;
  const auto found = std::ranges::find(devices, DeviceKind::hardware_gpu, &Device::kind);
  const std::string& name = found->description.empty() ? found->name : found->description;
  return Finding{State::silent_cpu_fallback,
                 fmt::format("The CPU did the work while {} stood by.", fit(plain(name), 40))};
}

std::optional<Finding> cpu_without_inventory(const Hearing& h) {
  if (!ran_on_cpu(h)) return std::nullopt;
  return Finding{State::silent_cpu_fallback,
                 h.measured
                     ? "The CPU did the work. Whether this machine has a GPU could not be read."
                     : "The CPU did the work. Whether the machine has a GPU, no line tells."};
}

std::optional<Finding> gpu_that_is_not_there(const Hearing& h) {
  if (!bytes_on_hardware(h) || !known_backend(h.run.placement)) return std::nullopt;
  const DeviceAccount* device = biggest(h.run.placement, DeviceKind::hardware_gpu);
  if (device == nullptr) return std::nullopt;
  if (machine_without_gpu(h)) {
    return Finding{State::conflicting_evidence,
                   fmt::format("The log puts the weights on {}, yet this machine shows no GPU.",
                               label(*device))};
  }
  if (machine_gpu(h) == nullptr || !of_a_vendor_not_here(h, *device)) return std::nullopt;
  return Finding{State::conflicting_evidence,
                 fmt::format("The log puts the weights on {}, yet this machine's GPU is {}.",
                             label(*device), fit(plain(machine_gpu(h)->name), 40))};
}

std::optional<Finding> no_driver_open(const Hearing& h) {
  if (!bytes_on_hardware(h) || !h.says(Witness::process, Word::cpu)) return std::nullopt;
  if (!known_backend(h.run.placement)) return std::nullopt;
  return Finding{State::conflicting_evidence,
                 fmt::format("The log says: {}. The process says: {}.",
                             h.of(Witness::allocation).sentence, h.of(Witness::process).sentence)};
}

std::optional<Finding> cpu_burns(const Hearing& h) {
  if (h.run.placement.shape != Shape::gpu || !h.says(Witness::cpu_meter, Word::cpu)) {
    return std::nullopt;
  }
  return Finding{
      State::conflicting_evidence,
      fmt::format("The log says: {}. The CPU meter says: {}.", h.of(Witness::allocation).sentence,
                  h.of(Witness::cpu_meter).sentence)};
}

/// What the operating system saw of the claimed device speaks against the bytes: it stood idle, or
/// somebody else had it.
std::optional<Finding> meter_contradicts(const Hearing& h) {
  if (!bytes_on_hardware(h) || !h.says(Witness::gpu_meter, Word::cpu)) return std::nullopt;
  return Finding{
      State::conflicting_evidence,
      fmt::format("The log says: {}. The GPU meter says: {}.", h.of(Witness::allocation).sentence,
                  h.of(Witness::gpu_meter).sentence)};
}

std::optional<Finding> gpu_vanished(const Hearing& h) {
  if (!bytes_on_hardware(h) || lost_gpu(h.run) == nullptr) return std::nullopt;
  return Finding{
      State::conflicting_evidence,
      fmt::format("The log says: {}. The GPU meter says: {}.", h.of(Witness::allocation).sentence,
                  h.of(Witness::gpu_meter).sentence)};
}

/// The bytes say CPU, and yet the driver counted most of a GPU's time for the engine's processes.
std::optional<Finding> gpu_worked_after_all(const Hearing& h) {
  if (!ran_on_cpu(h)) return std::nullopt;
  const MeterFinding meter = read_gpu_meter(h.run);
  if (meter.word != Word::gpu || !meter.attributed) return std::nullopt;
  // A draft model or a projector on the card has its share of a run whose main model is on the
  // host.
  const bool others = std::ranges::any_of(h.run.gpu_use, [](const GpuUse& use) {
    return use.decode.tree_share && *use.decode.tree_share < kMostOfTheTime;
  });
  if (others) return std::nullopt;
  return Finding{State::conflicting_evidence,
                 fmt::format("The bytes say CPU. The GPU meter says: {}.", meter.sentence)};
}

/// No line tells, but the GPU stood idle while every thread worked.
std::optional<Finding> meter_convicts(const Hearing& h) {
  if (h.run.placement.shape != Shape::unknown || !h.measured || failed_load(h)) return std::nullopt;
  if (asks_a_remote(h) || !h.says(Witness::gpu_meter, Word::cpu)) return std::nullopt;
  if (!h.says(Witness::cpu_meter, Word::cpu)) return std::nullopt;
  return Finding{State::silent_cpu_fallback,
                 "The log does not tell, but the GPU stood idle while every CPU thread worked."};
}

std::optional<Finding> clocks_disagree(const Hearing& h) {
  if (h.run.placement.shape != Shape::gpu) return std::nullopt;
  const std::optional<ClockGap> gap = clock_gap(h.run);
  if (!gap) return std::nullopt;
  return Finding{
      State::conflicting_evidence,
      fmt::format("The engine says {:.1f} tok/s decode, its text arrived at {:.1f} tok/s.",
                  gap->engine, gap->arrived)};
}

std::optional<Finding> gpu_too_fast(const Hearing& h) {
  if (!bytes_on_hardware(h) || !h.run.roofline || !h.run.roofline->bytes_uncertain.empty()) {
    return std::nullopt;
  }
  const Roofline& roof = *h.run.roofline;
  const double gb = roof.bytes_per_second() / 1e9;
  if (beyond_devices(roof)) {
    return Finding{
        State::conflicting_evidence,
        fmt::format("Decode would read {:.0f} GB/s ({:.1f} tok/s x {:.2f} GB), {:.0f}% of what the "
                    "memory of {} can: impossible.",
                    gb, roof.tokens_per_second, static_cast<double>(roof.bytes_per_token()) / 1e9,
                    100 * roof.share().value_or(0), owners_of(roof))};
  }
  if (roof.device_limit || roof.weight_bytes < kBeyondCaches) return std::nullopt;
  if (roof.bytes_per_second() < kGpuBytesPerSecond * std::max(1, gpus_in_use(h.run.placement))) {
    return std::nullopt;
  }
  return Finding{
      State::conflicting_evidence,
      fmt::format("Decode would read {:.0f} GB/s of memory, more than any device can.", gb)};
}

std::optional<Finding> cache_on_host(const Hearing& h) {
  const Placement& p = h.run.placement;
  if (p.shape != Shape::partial || p.kv_on == KvPlace::gpu || !p.kv_on) return std::nullopt;
  if (p.layers_on_gpu != p.layers_total || p.weights_on_gpu_fraction.value_or(0) < 0.8) {
    return std::nullopt;
  }
  return Finding{State::partial_offload,
                 p.kv_on == KvPlace::cpu
                     ? "The KV cache is in host memory: attention waits for it on every token."
                     : "Part of the KV cache is in host memory: attention waits for it."};
}

std::optional<Finding> weights_on_host(const Hearing& h) {
  const Placement& p = h.run.placement;
  if (p.shape != Shape::partial) return std::nullopt;
  if (p.weights_on_gpu_fraction) {
    const double percent = 100 * *p.weights_on_gpu_fraction;
    const bool fine = percent < 1 || percent > 99;
    return Finding{
        State::partial_offload,
        fmt::format("Only {}% of the weights are on the GPU; every token waits for the rest.",
                    fine ? fmt::format("{:.2f}", percent) : fmt::format("{:.0f}", percent))};
  }
  return Finding{State::partial_offload,
                 "Part of the model is in host memory; every token waits for it."};
}

std::optional<Finding> work_bounces(const Hearing& h) {
  if (h.run.placement.shape != Shape::gpu || !h.says(Witness::schedule, Word::partial)) {
    return std::nullopt;
  }
  return Finding{State::partial_offload,
                 "The bytes are on the GPU, but part of every layer runs on the CPU."};
}

std::optional<Finding> remote_unseen(const Hearing& h) {
  if (h.run.placement.shape != Shape::remote) return std::nullopt;
  const DeviceAccount* worker = biggest(h.run.placement, DeviceKind::remote);
  if (worker == nullptr) {
    return Finding{State::no_placement_evidence,
                   "The KV cache lies on a remote device, which cannot be seen from here."};
  }
  return Finding{State::no_placement_evidence,
                 fmt::format("{} of the weights lie on {}, which cannot be seen from here.",
                             share_of(h.run.placement, *worker), label(*worker))};
}

std::optional<Finding> load_failed(const Hearing& h) {
  if (h.run.placement.shape != Shape::unknown || !failed_load(h)) return std::nullopt;
  return Finding{State::no_placement_evidence,
                 h.run.passes.empty() ? "Nothing was run." : "The model was not loaded."};
}

std::optional<Finding> no_rates(const Hearing& h) {
  if (!h.measured || has_rates(h)) return std::nullopt;
  return Finding{State::no_timing_evidence,
                 "The engine ran but printed no rates that can be read."};
}

std::optional<Finding> device_unnamed(const Hearing& h) {
  if (h.run.placement.shape != Shape::gpu || h.of(Witness::device).word) return std::nullopt;
  return Finding{State::no_placement_evidence, h.of(Witness::device).sentence + "."};
}

/// The cache is allocated after the weights: a log that ends between them does not say where it
/// went.
std::optional<Finding> cut_before_cache(const Hearing& h) {
  if (h.run.placement.shape != Shape::gpu || h.run.placement.kv_on) return std::nullopt;
  const EngineLog& log = h.run.passes.front().log;
  const Load* load = main_load(log);
  const bool went_on =
      !log.timings.empty() ||
      (load != nullptr && (load->splits || !load->breakdown.empty() ||
                           std::ranges::any_of(load->buffers, [](const BufferLine& b) {
                             return b.use == BufferUse::compute;
                           })));
  if (went_on) return std::nullopt;
  return Finding{State::no_placement_evidence,
                 "The weights are on the GPU, but the log ends before the KV cache."};
}

std::optional<Finding> died(const Hearing& h) {
  if (h.run.passes.empty() || !died_on_gpu(h.run.passes.front().log)) return std::nullopt;
  if (h.run.placement.shape != Shape::gpu) return std::nullopt;
  return Finding{State::no_placement_evidence,
                 "The weights were put on the GPU, and the engine died there before it answered."};
}

/// What kept the GPU below what it can do, as a sentence; empty: nothing that was seen.
std::string held_back(const Run& run) {
  for (const GpuUse& use : run.gpu_use) {
    if (!use.in_use) continue;
    if (often_throttled(use)) {
      return fmt::format(" Heat or its board slowed the GPU at {:.0f}% of the looks.",
                         100 * use.throttled_share);
    }
    if (overflowed(use)) {
      return fmt::format(" {} did not fit its memory and went out to the host's.",
                         format_bytes(use.tree_evicted.value_or(0)));
    }
  }
  return {};
}

std::optional<Finding> healthy(const Hearing& h) {
  if (h.run.placement.shape != Shape::gpu) return std::nullopt;
  if (!h.says(Witness::allocation, Word::gpu) || !h.says(Witness::device, Word::gpu)) {
    return std::nullopt;
  }
  std::string sentence = "The GPU did the work.";
  sentence += number_to_quote(h.run);
  const std::optional<Roofline>& roofline = h.run.roofline;
  const std::optional<double> share = roofline ? roofline->share() : std::nullopt;
  if (roofline && share && below_usual(*roofline)) {
    sentence += fmt::format(" Suspicious: that reads only {:.0f}% of what the memory of {} can.",
                            100 * *share, owners_of(*roofline));
  }
  const std::vector<Cause> causes =
      find_causes(h.run.passes.front().log, h.run.placement, h.measured ? &h.run : nullptr);
  if (std::ranges::find(causes, "vram_overcommit", &Cause::id) != causes.end()) {
    sentence = "The GPU did the work, with its memory overbooked. Expect it to swap.";
  }
  // What does not touch the main model's placement, and is no health either.
  for (const Cause& cause : causes) {
    const bool beside = cause.id == "draft_model_on_cpu" || cause.id == "mmproj_on_cpu" ||
                        cause.id == "wrong_device_igpu";
    if (beside) sentence += fmt::format(" But {}.", cause.why);
  }
  sentence += held_back(h.run);
  return Finding{State::healthy, sentence};
}

std::optional<Finding> nothing_tells(const Hearing&) {
  return Finding{State::no_placement_evidence, "Nothing tells where the model ran."};
}

constexpr JudgeRule kRules[] = {
    {"passes-disagree", passes_disagree},
    {"remote-cpu", remote_cpu},
    {"software-device", software_device},
    {"cpu-too-fast", host_too_fast},
    {"gpu-worked-after-all", gpu_worked_after_all},
    {"cpu-only-machine", cpu_only_machine},
    {"gpu-stood-by", gpu_stood_by},
    {"cpu-inventory-unknown", cpu_without_inventory},
    {"gpu-not-in-machine", gpu_that_is_not_there},
    {"process-without-gpu", no_driver_open},
    {"cpu-burns", cpu_burns},
    {"gpu-vanished", gpu_vanished},
    {"meter-contradicts", meter_contradicts},
    {"claim-denies-bytes", claim_denies_bytes},
    {"clocks-disagree", clocks_disagree},
    {"gpu-too-fast", gpu_too_fast},
    {"kv-on-host", cache_on_host},
    {"weights-on-host", weights_on_host},
    {"work-bounces", work_bounces},
    {"remote-unseen", remote_unseen},
    {"load-failed", load_failed},
    {"meter-convicts", meter_convicts},
    {"claim-contradicted", claim_contradicted},
    {"no-rates", no_rates},
    {"claim-partial", claim_partial},
    {"meter-acquits", meter_acquits},
    {"claim-alone", claim_alone},
    {"device-unnamed", device_unnamed},
    {"cut-before-cache", cut_before_cache},
    {"died-on-the-gpu", died},
    {"healthy", healthy},
    {"nothing-tells", nothing_tells},
};

/// Also of a healthy run (its memory may be overbooked) and of a log that tells nothing (why it
/// does not); a CPU-only machine needs no excuse, only what slows it, and of witnesses who disagree
/// neither is explained.
void explain(const Hearing& hearing, Verdict& verdict) {
  if (verdict.state == State::conflicting_evidence || verdict.state == State::no_timing_evidence) {
    return;
  }
  Placement judged = hearing.run.placement;
  // Another witness than the bytes may have proven it; the causes of a CPU run are to be asked.
  if (ran_on_cpu(hearing)) judged.shape = Shape::cpu;
  const EngineLog& log = hearing.run.passes.front().log;
  const Run* measured = hearing.measured ? &hearing.run : nullptr;
  std::vector<Cause> causes = find_causes(log, judged, measured);
  if (verdict.state == State::cpu_only_machine) {
    std::erase_if(causes, [](const Cause& cause) { return !only_slows(cause); });
  } else if (!causes.empty()) {
    verdict.cause = std::move(causes.front());
    causes.erase(causes.begin());
  } else {
    verdict.suspicion = suspicion(log, judged, measured);
  }
  verdict.further_causes = std::move(causes);
}

Verdict decide(const Hearing& hearing) {
  Verdict verdict;
  verdict.testimonies = hearing.testimonies;
  for (const JudgeRule& rule : kRules) {
    std::optional<Finding> finding = rule.find(hearing);
    if (!finding) continue;
    verdict.rule = rule.name;
    verdict.state = finding->state;
    verdict.sentence = std::move(finding->sentence);
    break;
  }
  if (!hearing.run.passes.empty()) explain(hearing, verdict);
  return verdict;
}

}  // namespace

std::span<const JudgeRule> judge_rules() { return kRules; }

Verdict judge(const Run& run) {
  return decide({.run = run, .measured = true, .testimonies = hear_all(run)});
}

Verdict judge_load(const Run& run) {
  return decide({.run = run, .measured = true, .timed = false, .testimonies = hear_all(run)});
}

Verdict judge_log(const EngineLog& log, const Placement& placement) {
  Run run;
  run.placement = placement;
  run.passes.emplace_back().log = log;
  return decide({.run = run, .measured = false, .testimonies = hear_all(run)});
}

}  // namespace picchio
