#include "verdict/judge_servers.h"

#include "base/text.h"
#include "verdict/arguments.h"
#include "verdict/hearing.h"
#include "verdict/server_claim.h"
#include "verdict/witnesses.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

// In decode. A run with part of its layers on the host leaves the card idle while the CPU is at
// them, and a CPU takes as long for one layer as a card for several: full offloads were at 96 to
// 99 percent on machines whose meter counts all of the time.
constexpr double kNearlyAllTheTime = 90;
// The same with the server's own word beside it.
constexpr double kMostOfTheTime = 80;

bool nothing_tells_bytes(const Hearing& h) {
  return h.measured && h.run.raw.server && h.run.placement.shape == Shape::unknown &&
         !failed_load(h);
}

/// The share of the server's own processes where the driver tells it, summed over the cards that
/// take turns; else the utilisation of the busiest. Of the two the smaller, since only our own work
/// counts.
std::optional<double> decode_busy(const Run& run) {
  std::optional<double> own;
  std::optional<double> whole;
  for (const GpuUse& use : run.gpu_use) {
    if (use.decode.tree_share) own = own.value_or(0) + 100 * *use.decode.tree_share;
    if (use.decode.busy_median && (!whole || *use.decode.busy_median > *whole)) {
      whole = use.decode.busy_median;
    }
  }
  if (own && *own < 100 && run.gpu_use.size() == 1 && whole) return std::min(*own, *whole);
  return own ? std::min(*own, 100.0) : whole;
}

/// The most that any pass kept busy in decode: an acquittal rests on the worst of them.
std::optional<double> most_cores(const Run& run) {
  std::optional<double> out;
  for (const Pass& pass : run.passes) {
    if (pass.cpu.decode_cores && (!out || *pass.cpu.decode_cores > *out)) {
      out = pass.cpu.decode_cores;
    }
  }
  return out;
}

/// Somebody asked for a part of the model on the host.
bool asked_for_host(const Run& run) {
  const PlacementSettings asked =
      placement_settings(engine_arguments(run.raw), run.raw.environment);
  const auto few_layers = [](const Setting& setting) {
    constexpr std::int64_t kAllLayers = 99;
    const auto number = parse_int(setting.value);
    return number && *number >= 0 && *number < kAllLayers;
  };
  return (asked.gpu_layers && few_layers(*asked.gpu_layers)) || asked.cpu_moe || asked.n_cpu_moe ||
         asked.kv_offload_off || !asked.override_tensor.empty() ||
         (asked.device && asked.device->value == "none");
}

}  // namespace

std::optional<Finding> claim_contradicted(const Hearing& h) {
  if (!nothing_tells_bytes(h) || !h.of(Witness::claim).word) return std::nullopt;
  const bool claims_gpu = !h.says(Witness::claim, Word::cpu);
  for (const Witness meter : {Witness::gpu_meter, Witness::cpu_meter}) {
    if (!h.says(meter, claims_gpu ? Word::cpu : Word::gpu)) continue;
    return Finding{State::conflicting_evidence, fmt::format("The server says: {}. The {} says: {}.",
                                                            h.of(Witness::claim).sentence,
                                                            name_of(meter), h.of(meter).sentence)};
  }
  return std::nullopt;
}

std::optional<Finding> claim_partial(const Hearing& h) {
  if (!nothing_tells_bytes(h) || !h.says(Witness::claim, Word::partial)) return std::nullopt;
  return Finding{State::partial_offload,
                 fmt::format("By the server's own word: {}. Every token waits for the rest.",
                             h.of(Witness::claim).sentence)};
}

std::optional<Finding> meter_acquits(const Hearing& h) {
  if (!nothing_tells_bytes(h) || !h.says(Witness::gpu_meter, Word::gpu)) return std::nullopt;
  if (h.says(Witness::process, Word::cpu) || h.says(Witness::cpu_meter, Word::cpu)) {
    return std::nullopt;
  }
  // A CPU that works has a part of the layers, and the card's work may be somebody else's. One that
  // waits for the card cannot be told from one whose single thread computes, so the card has to
  // have worked nearly all the time, and nobody may have asked for less.
  const std::optional<double> cores = most_cores(h.run) ? most_cores(h.run) : pass_cores(h.run);
  if ((cores && *cores > kWaitingCores) || asked_for_host(h.run)) return std::nullopt;
  // A card that works for nobody by name may work for anybody: beside a server here whose one core
  // computes, it would acquit. Of a run that others kept neither was recorded.
  const bool own = std::ranges::any_of(
      h.run.gpu_use, [](const GpuUse& use) { return use.decode.tree_share.value_or(0) > 0; });
  if (h.run.raw.server->local && (!cores || !own)) return std::nullopt;
  const std::optional<double> busy = decode_busy(h.run);
  const bool claimed = h.says(Witness::claim, Word::gpu);
  if (!busy || *busy < (claimed ? kMostOfTheTime : kNearlyAllTheTime)) return std::nullopt;
  return Finding{State::healthy,
                 fmt::format("The GPU did the work: its meter saw it {:.0f}% busy in decode{}.",
                             *busy, claimed ? ", as the server says" : "") +
                     number_to_quote(h.run)};
}

std::optional<Finding> claim_denies_bytes(const Hearing& h) {
  if (!h.measured || !h.run.raw.server || h.run.placement.shape != Shape::gpu) return std::nullopt;
  const Testimony claim = server_claim_testimony(h.run);
  if (claim.word != Word::partial && claim.word != Word::cpu) return std::nullopt;
  return Finding{State::conflicting_evidence,
                 fmt::format("The log says: {}. The server says: {}.",
                             h.of(Witness::allocation).sentence, claim.sentence)};
}

std::optional<Finding> claim_alone(const Hearing& h) {
  if (!nothing_tells_bytes(h) || !h.of(Witness::claim).word) return std::nullopt;
  return Finding{
      State::no_placement_evidence,
      fmt::format("That is the server's own word alone: {}. Nobody else could confirm it.",
                  h.of(Witness::claim).sentence)};
}

}  // namespace picchio
