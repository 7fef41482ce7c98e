#include "verdict/judge_servers.h"

#include "base/text.h"
#include "verdict/gpu_meter.h"
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
// Of the weights, in GPU memory of the server's processes: the embedding stays on the host.
constexpr double kMostOfTheWeights = 0.85;

bool nothing_tells_bytes(const Hearing& h) {
  return h.measured && h.run.raw.server && h.run.placement.shape == Shape::unknown &&
         !failed_load(h);
}

/// Of all GPUs together.
std::int64_t tree_memory(const Run& run) {
  std::int64_t out = 0;
  for (const GpuUse& use : run.gpu_use) out += use.tree_memory.value_or(0);
  return out;
}

std::optional<double> decode_busy(const Run& run) {
  std::optional<double> out;
  for (const GpuUse& use : run.gpu_use) {
    if (use.decode.busy_median && (!out || *use.decode.busy_median > *out)) {
      out = use.decode.busy_median;
    }
  }
  return out;
}

bool holds_the_weights(const Run& run) {
  const std::optional<std::int64_t> weights = served_bytes(run);
  return weights &&
         static_cast<double>(tree_memory(run)) >= kMostOfTheWeights * static_cast<double>(*weights);
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
  // A CPU that works has a part of the layers, and the card's work may be somebody else's.
  const std::optional<double> cores = decode_cores(h.run);
  if (cores && *cores > kWaitingCores) return std::nullopt;
  const std::optional<double> busy = decode_busy(h.run);
  const bool all_the_time = busy && *busy >= kNearlyAllTheTime;
  const bool claimed = h.says(Witness::claim, Word::gpu);
  // A large cache beside half of the weights is as large; then the CPU would be at work.
  const bool holds = holds_the_weights(h.run) && cores;
  if (!claimed && !all_the_time && !holds) return std::nullopt;
  std::string sentence = "The GPU did the work: its meter saw it";
  if (holds) {
    sentence +=
        fmt::format(", with {} of the server's in its memory", format_bytes(tree_memory(h.run)));
  } else if (busy) {
    sentence += fmt::format(" {:.0f}% busy in decode", *busy);
  }
  sentence += claimed ? ", as the server says." : ".";
  return Finding{State::healthy, sentence + number_to_quote(h.run)};
}

std::optional<Finding> claim_alone(const Hearing& h) {
  if (!nothing_tells_bytes(h) || !h.of(Witness::claim).word) return std::nullopt;
  return Finding{State::no_placement_evidence,
                 fmt::format("That is the server's own word alone: {}. Nothing else could testify.",
                             h.of(Witness::claim).sentence)};
}

}  // namespace picchio
