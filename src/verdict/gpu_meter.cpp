#include "verdict/gpu_meter.h"

#include "base/text.h"
#include "verdict/cards_in_use.h"
#include "verdict/recording.h"
#include "verdict/server_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace picchio {
namespace {

// Fewer looks than this are an anecdote; also the established tool's count.
constexpr int kEnoughLooks = 6;
// A flat line without any reading of memory has to be longer: two seconds at ten looks a second.
constexpr int kManyLooks = 20;
// A desktop that draws was seen at up to 50 percent on a laptop, mostly below 10; above this what
// the engine adds can no longer be told from what was there.
constexpr double kBusyBefore = 25;
// Full offloads were at 65 to 99 percent, a CPU run at 0 to 8 with single peaks of 53.
constexpr double kAtWork = 50;
// A meter's noise around its idle value.
constexpr double kFlatAboveIdle = 15;
// Of the bytes that should be there: a context alone takes a tenth of a small model, and what else
// starts at that moment is smaller than the model.
constexpr double kModelStep = 0.5;
// Without a known size: a CUDA context is 300 to 450 MiB, so more than that is a model.
constexpr std::int64_t kStepOfUnknown = 1024LL * 1024 * 1024;
// Of those bytes: a driver's bookkeeping, or a neighbour's window.
constexpr double kNothingCame = 0.1;
constexpr int kSomeLooks = 3;
// Below this the log's own bytes are within what a driver's bookkeeping moves.
constexpr std::int64_t kTooLittleToSee = 128LL * 1024 * 1024;
// Of the device's time. One backend's share of a run whose layers are half on the host is above
// this, single operations of a CPU run are below.
constexpr double kTreeWorks = 0.25;
constexpr double kTreeIdle = 0.02;
// Watts: six recorded windows of a laptop drew 0 to 1.1 idle or drawing and 8.7 to 13.4 computing,
// cards 8 to 18 idle and 110 and more computing.
constexpr double kDrawTimes = 3;
constexpr double kDrawMore = 4;

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

std::string percent(double value) { return fmt::format("{:.0f}%", value); }

/// Of several devices the one that worked hardest: a flat line has to be flat everywhere.
std::optional<double> most(const MeteredWork& work,
                           std::optional<double> (*figure)(const GpuUse&)) {
  std::optional<double> out;
  for (const GpuUse* use : work.gpus) {
    const std::optional<double> value = figure(*use);
    if (value && (!out || *value > *out)) out = value;
  }
  return out;
}

const GpuPhase& told_phase(const GpuUse& use) {
  // Decode is where a run spends its time; a short one has too few looks of its own.
  return use.decode.samples >= kEnoughLooks ? use.decode : use.work;
}

std::optional<double> busy(const MeteredWork& work) {
  return most(work, [](const GpuUse& use) { return told_phase(use).busy_median; });
}

std::optional<double> prefill_busy(const MeteredWork& work) {
  return most(work, [](const GpuUse& use) {
    return use.prefill.samples >= kEnoughLooks ? use.prefill.busy_median : std::nullopt;
  });
}

std::optional<double> idle_busy(const MeteredWork& work) {
  return most(work, [](const GpuUse& use) { return use.idle_busy; });
}

std::optional<double> share(const MeteredWork& work) {
  return most(work, [](const GpuUse& use) {
    return use.decode.tree_share ? use.decode.tree_share : use.work.tree_share;
  });
}

int looks(const MeteredWork& work) {
  int out = 0;
  for (const GpuUse* use : work.gpus) out = std::max(out, use->work.samples);
  return out;
}

/// Over all devices; absent where one of them does not tell.
std::optional<std::int64_t> sum(const MeteredWork& work,
                                std::optional<std::int64_t> GpuUse::* bytes) {
  std::int64_t out = 0;
  for (const GpuUse* use : work.gpus) {
    const std::optional<std::int64_t> value = use->*bytes;
    if (!value) return std::nullopt;
    out += *value;
  }
  return out;
}

bool model_sized(const MeteredWork& work, std::optional<std::int64_t> bytes) {
  if (!bytes) return false;
  if (!work.expected) return *bytes >= kStepOfUnknown;
  return static_cast<double>(*bytes) >= kModelStep * static_cast<double>(*work.expected);
}

/// Some device drew clearly more at work than idle, and only its own power is in the figure.
bool draws_more(const MeteredWork& work) {
  return std::ranges::any_of(work.gpus, [&](const GpuUse* use) {
    const std::optional<double> watts = told_phase(*use).watts;
    if (!watts || !use->idle_watts || work.about(*use).power_is_package) return false;
    return *watts >= *use->idle_watts * kDrawTimes && *watts >= *use->idle_watts + kDrawMore;
  });
}

bool idle_before(const MeteredWork& work) {
  const std::optional<double> idle = idle_busy(work);
  return idle && *idle <= kBusyBefore;
}

bool upper_bound_only(const MeteredWork& work) {
  return std::ranges::all_of(
      work.gpus, [&](const GpuUse* use) { return work.about(*use).busy_is_upper_bound; });
}

/// What came with the engine's start. Absent too of a server that had its model before we looked.
std::optional<std::int64_t> bytes_that_came(const MeteredWork& work) {
  const auto& server = work.run.raw.server;
  if (server && !server->loads_on_request) return std::nullopt;
  return sum(work, &GpuUse::memory_step);
}

std::string busy_text(const MeteredWork& work) {
  const std::optional<double> now = busy(work);
  if (!now) return "utilisation not told";
  const std::optional<double> idle = idle_busy(work);
  return idle ? fmt::format("busy {}, idle {} before", percent(*now), percent(*idle))
              : fmt::format("busy {}", percent(*now));
}

std::string memory_text(const MeteredWork& work) {
  const auto step = sum(work, &GpuUse::memory_step);
  if (!step) return "memory not told";
  const double value = static_cast<double>(*step) / (1024.0 * 1024 * 1024);
  return fmt::format("memory {:+.1f} GiB", value);
}

// The rules, in the order of the table below.

std::optional<MeterFinding> nothing_recorded(const MeteredWork& work) {
  const Telemetry& telemetry = work.run.raw.telemetry;
  if (!work.run.gpu_use.empty()) return std::nullopt;
  if (!telemetry.gpus.empty()) {
    return MeterFinding{.sentence = "recorded, but no pass tells when it ran"};
  }
  return MeterFinding{.sentence = telemetry.none_because.empty() ? "no GPU meter was asked"
                                                                 : telemetry.none_because};
}

std::optional<MeterFinding> not_this_device(const MeteredWork& work) {
  if (work.unmetered.empty()) return std::nullopt;
  return MeterFinding{.sentence = fmt::format("no meter here knows {}", plain(work.unmetered))};
}

std::optional<MeterFinding> gpu_vanished(const MeteredWork& work) {
  const auto lost = std::ranges::find_if(
      work.gpus, [](const GpuUse* use) { return use->in_use && !use->lost.empty(); });
  if (lost == work.gpus.end()) return std::nullopt;
  const GpuUse* use = *lost;
  return MeterFinding{.sentence = fmt::format("the GPU vanished while the engine ran: {}",
                                              fit(plain(use->lost), 60))};
}

std::optional<MeterFinding> powered_down(const MeteredWork& work) {
  const bool all = std::ranges::all_of(work.gpus, [](const GpuUse* use) { return use->asleep; });
  if (!all) return std::nullopt;
  return MeterFinding{.word = Word::cpu, .sentence = "the GPU was powered down all the while"};
}

/// However short the work was, the model's bytes lay there from its load to its end.
std::optional<MeterFinding> nothing_came(const MeteredWork& work) {
  const bool short_work = looks(work) >= kSomeLooks && looks(work) < kEnoughLooks;
  const bool claimed =
      std::ranges::all_of(work.gpus, [](const GpuUse* use) { return use->in_use; });
  const auto step = bytes_that_came(work);
  if (!short_work || !claimed || !step || !work.expected || *work.expected < kStepOfUnknown) {
    return std::nullopt;
  }
  const auto own = sum(work, &GpuUse::tree_memory);
  const bool unified = std::ranges::any_of(
      work.gpus, [&](const GpuUse* use) { return work.about(*use).unified_memory; });
  const std::optional<double> peak =
      most(work, [](const GpuUse& use) { return use.work.busy_peak; });
  if (unified || own.value_or(0) > 0 || !peak || *peak >= kFlatAboveIdle || draws_more(work)) {
    return std::nullopt;
  }
  if (static_cast<double>(*step) >= kNothingCame * static_cast<double>(*work.expected)) {
    return std::nullopt;
  }
  return MeterFinding{
      .word = Word::cpu,
      .sentence = fmt::format("{} of weights should have come, and did not: {}; {}",
                              gib(*work.expected), memory_text(work), busy_text(work))};
}

std::optional<MeterFinding> too_few_looks(const MeteredWork& work) {
  if (looks(work) >= kEnoughLooks) return std::nullopt;
  return MeterFinding{.sentence =
                          fmt::format("only {} looks fell into prefill and decode", looks(work))};
}

std::optional<MeterFinding> own_time(const MeteredWork& work) {
  const std::optional<double> own = share(work);
  if (!own || *own < kTreeWorks) return std::nullopt;
  return MeterFinding{.word = Word::gpu,
                      .attributed = true,
                      .sentence = fmt::format("the engine's processes had {} of the GPU's time; {}",
                                              percent(100 * *own), memory_text(work))};
}

/// A driver that lists no process although the memory grew with the engine's start lists wrongly.
std::optional<MeterFinding> nothing_of_ours(const MeteredWork& work) {
  const auto memory = sum(work, &GpuUse::tree_memory);
  const std::optional<double> own = share(work);
  if (!memory || *memory > 0 || own.value_or(0) > kTreeIdle) return std::nullopt;
  const auto step = bytes_that_came(work);
  const double now = busy(work).value_or(0);
  if (model_sized(work, step) || (!step && now >= kAtWork)) return std::nullopt;
  return MeterFinding{
      .word = Word::cpu,
      .attributed = true,
      .sentence =
          now >= kAtWork
              ? fmt::format("busy {}, but not with the engine: its processes have nothing "
                            "on the GPU",
                            percent(now))
              : fmt::format("the engine's processes have nothing on the GPU; {}", busy_text(work))};
}

std::optional<MeterFinding> own_memory(const MeteredWork& work) {
  const auto memory = sum(work, &GpuUse::tree_memory);
  const std::optional<double> now = busy(work);
  if (!memory || !model_sized(work, memory) || share(work)) return std::nullopt;
  if (!now || *now < kAtWork || !idle_before(work) || upper_bound_only(work)) return std::nullopt;
  return MeterFinding{.word = Word::gpu,
                      .attributed = true,
                      .sentence = fmt::format("the engine's processes hold {} of it; {}",
                                              gib(*memory), busy_text(work))};
}

std::optional<MeterFinding> some_of_ours(const MeteredWork& work) {
  const std::optional<double> own = share(work);
  if (!own || *own <= kTreeIdle) return std::nullopt;
  return MeterFinding{
      .sentence = fmt::format("the engine's processes had {} of the GPU's time: too little to say "
                              "that it did the work",
                              percent(100 * *own))};
}

std::optional<MeterFinding> busy_before(const MeteredWork& work) {
  if (idle_before(work) || draws_more(work)) return std::nullopt;
  const std::optional<double> idle = idle_busy(work);
  const std::optional<double> now = busy(work);
  if (!idle && !now) return std::nullopt;  // nothing about utilisation: memory may tell
  // What never rises needs nothing to compare with.
  if (!idle && now && *now < kFlatAboveIdle && looks(work) >= kManyLooks) return std::nullopt;
  return MeterFinding{.sentence = idle
                                      ? fmt::format("the GPU was {} busy before the run, and it is "
                                                    "not told with what",
                                                    percent(*idle))
                                      : "no look at the idle GPU before the run"};
}

std::optional<MeterFinding> at_work(const MeteredWork& work) {
  const std::optional<double> now = busy(work);
  if (!now || *now < kAtWork || upper_bound_only(work)) return std::nullopt;
  // Our own processes are known to have none of it.
  if (share(work) || sum(work, &GpuUse::tree_memory) == 0) return std::nullopt;
  return MeterFinding{.word = Word::gpu,
                      .sentence = fmt::format("{}; {}", busy_text(work), memory_text(work))};
}

std::optional<MeterFinding> others_at_work(const MeteredWork& work) {
  const std::optional<double> now = busy(work);
  const std::optional<double> own = share(work);
  if (!now || *now < kAtWork || !own) return std::nullopt;
  return MeterFinding{.sentence = fmt::format("busy {}, of which the engine's processes had {}",
                                              percent(*now), percent(100 * *own))};
}

/// Big batches of a prompt go to the card even of a run that keeps every layer on the host.
std::optional<MeterFinding> prefill_alone(const MeteredWork& work) {
  const std::optional<double> prompt = prefill_busy(work);
  const std::optional<double> now = busy(work);
  const double idle = idle_busy(work).value_or(0);
  if (!prompt || !now || *now >= idle + kFlatAboveIdle || *prompt < idle + kFlatAboveIdle) {
    return std::nullopt;
  }
  if (model_sized(work, bytes_that_came(work)) || draws_more(work)) return std::nullopt;
  return MeterFinding{.word = Word::cpu,
                      .sentence = fmt::format("busy {} in decode, though {} in prefill: prompt "
                                              "batches alone went to it",
                                              percent(*now), percent(*prompt))};
}

std::optional<MeterFinding> memory_vetoes(const MeteredWork& work) {
  const auto step = bytes_that_came(work);
  const auto own = sum(work, &GpuUse::tree_memory);
  if (!model_sized(work, step) && !model_sized(work, own)) return std::nullopt;
  return MeterFinding{.sentence = fmt::format("{}, yet {}: short kernels slip between looks",
                                              busy_text(work), memory_text(work))};
}

std::optional<MeterFinding> power_vetoes(const MeteredWork& work) {
  if (!draws_more(work)) return std::nullopt;
  return MeterFinding{
      .sentence = fmt::format("{}, yet it drew several times its idle power", busy_text(work))};
}

std::optional<MeterFinding> flat(const MeteredWork& work) {
  const std::optional<double> now = busy(work);
  if (!now || *now >= idle_busy(work).value_or(0) + kFlatAboveIdle) return std::nullopt;
  if (work.expected && *work.expected < kTooLittleToSee) {
    return MeterFinding{.sentence =
                            fmt::format("{}: too little lies on it to be seen", busy_text(work))};
  }
  const auto step = bytes_that_came(work);
  if (!step && looks(work) < kManyLooks) return std::nullopt;
  return MeterFinding{.word = Word::cpu,
                      .sentence = fmt::format("flat: {}; {}", busy_text(work), memory_text(work))};
}

std::optional<MeterFinding> in_between(const MeteredWork& work) {
  const std::optional<double> now = busy(work);
  if (now && *now < idle_busy(work).value_or(0) + kFlatAboveIdle) {
    return MeterFinding{.sentence = fmt::format("{}; {}: too few looks to call that idle",
                                                busy_text(work), memory_text(work))};
  }
  return MeterFinding{.sentence = fmt::format("{}; {}: neither idle nor at work", busy_text(work),
                                              memory_text(work))};
}

constexpr MeterRule kRules[] = {
    {"nothing-recorded", nothing_recorded},
    {"not-this-device", not_this_device},
    {"gpu-vanished", gpu_vanished},
    {"powered-down", powered_down},
    {"nothing-came", nothing_came},
    {"too-few-looks", too_few_looks},
    {"own-time", own_time},
    {"nothing-of-ours", nothing_of_ours},
    {"own-memory", own_memory},
    {"some-of-ours", some_of_ours},
    {"busy-before", busy_before},
    {"at-work", at_work},
    {"others-at-work", others_at_work},
    {"prefill-alone", prefill_alone},
    {"memory-vetoes", memory_vetoes},
    {"power-vetoes", power_vetoes},
    {"flat", flat},
    {"in-between", in_between},
};

/// The bytes that the log puts on a card, or the whole model where it names none.
MeteredWork work_of(const Run& run) {
  MeteredWork out{run, {}, {}, std::nullopt};
  std::int64_t expected = 0;
  for (const DeviceAccount& device : run.placement.devices) {
    expected += device.weights_bytes.value_or(0);
  }
  if (expected == 0) expected = served_bytes(run).value_or(0);
  if (expected > 0) out.expected = expected;
  for (const GpuUse& use : run.gpu_use) out.gpus.push_back(&use);
  return out;
}

/// One work for each card in use; of devices that no meter knows one without a card.
std::vector<MeteredWork> works_of(const Run& run) {
  std::vector<MeteredWork> out;
  for (const CardInUse& card : cards_in_use(run)) {
    MeteredWork work{run, {}, {}, card.weights_bytes};
    if (card.gpu) work.gpus.push_back(&run.gpu_use[*card.gpu]);
    if (!card.gpu && !run.gpu_use.empty()) work.unmetered = card.device;
    out.push_back(std::move(work));
  }
  if (out.empty()) out.push_back(work_of(run));
  return out;
}

MeterFinding find_by_rules(const MeteredWork& work) {
  for (const MeterRule& rule : kRules) {
    std::optional<MeterFinding> finding = rule.find(work);
    if (!finding) continue;
    finding->rule = rule.name;
    return *std::move(finding);
  }
  return {};
}

/// Of several cards the one that speaks for the run: one that contradicts, then one that abstains.
int weight_of(const MeterFinding& finding) {
  if (finding.word == Word::cpu) return 2;
  return finding.word ? 0 : 1;
}

}  // namespace

const MeteredGpu& MeteredWork::about(const GpuUse& use) const {
  return run.raw.telemetry.gpus[static_cast<std::size_t>(use.gpu)];
}

std::span<const MeterRule> meter_rules() { return kRules; }

MeterFinding read_gpu_meter(const Run& run) {
  const std::vector<MeteredWork> works = works_of(run);
  std::optional<MeterFinding> out;
  for (const MeteredWork& work : works) {
    MeterFinding finding = find_by_rules(work);
    if (works.size() > 1 && work.gpus.size() == 1) {
      finding.sentence = fmt::format("gpu {}: {}", work.gpus.front()->gpu, finding.sentence);
    }
    if (!out || weight_of(finding) > weight_of(*out)) out = std::move(finding);
  }
  return out.value_or(MeterFinding{});
}

void mark_gpus_in_use(Run& run) {
  for (const CardInUse& card : cards_in_use(run)) {
    if (card.gpu) run.gpu_use[*card.gpu].in_use = true;
  }
}

const GpuUse* lost_gpu(const Run& run) {
  for (const GpuUse& use : run.gpu_use) {
    if (use.in_use && !use.lost.empty()) return &use;
  }
  return nullptr;
}

}  // namespace picchio
