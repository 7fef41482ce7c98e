#include "commands/surroundings.h"

#include "engines/llama_cpp/invocation.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <thread>

namespace picchio {
namespace {

// Twenty looks: enough for a median that single peaks of a desktop do not move.
constexpr Micros kIdleBaseline{2'000'000};

}  // namespace

std::map<std::string, std::string> placement_environment(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> out;
  for (const std::string& entry : entries) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool kept =
        std::ranges::any_of(llama_cpp::placement_variables(), [&](std::string_view pattern) {
          if (pattern.ends_with('*'))
            return name.starts_with(pattern.substr(0, pattern.size() - 1));
          return name == pattern;
        });
    // A server's key may stand in LLAMA_ARG_API_KEY or LLAMA_ARG_HF_TOKEN: kept runs get shared.
    const bool secret =
        name.find("KEY") != std::string::npos || name.find("TOKEN") != std::string::npos;
    if (kept && !secret) out.emplace(name, entry.substr(std::min(name.size() + 1, entry.size())));
  }
  return out;
}

std::optional<double> cached_share(const ModelFile& model) {
  double sum = 0;
  for (const std::string& shard : model.shards) {
    const auto share = os::cached_fraction(shard);
    if (!share) return std::nullopt;
    sum += *share;
  }
  return model.shards.empty() ? std::nullopt
                              : std::optional(sum / static_cast<double>(model.shards.size()));
}

bool watch_idle_gpus(const os::Interrupts& interrupts, const MeterRecorder& meters,
                     Progress& progress) {
  if (!meters.watches()) return !interrupts.caught();
  progress.note(fmt::format("looking at the idle {} for {:.0f} s",
                            meters.gpus().size() == 1 ? "GPU" : "GPUs", seconds(kIdleBaseline)));
  constexpr Micros kStep{20'000};
  const Micros until = meters.now() + kIdleBaseline;
  while (meters.now() < until && !interrupts.caught()) std::this_thread::sleep_for(kStep);
  return !interrupts.caught();
}

}  // namespace picchio
