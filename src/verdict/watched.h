// What a watch shows: did the watched process work on a GPU? An ordered table of named rules, like
// the judge's. Pure.
#pragma once

#include "evidence/watched.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// One GPU as the rules see it.
struct WatchedScene {
  const WatchRecord& record;
  const MeteredGpu& gpu;
  const WatchedGpu& figures;
};

struct WatchFinding {
  Activity activity = Activity::not_sure;
  std::string sentence;
};

struct WatchRule {
  std::string_view name;
  std::optional<WatchFinding> (*find)(const WatchedScene&);
};

/// First match wins; the last row always matches. One table for a target and one for the whole
/// machine.
[[nodiscard]] std::span<const WatchRule> watch_rules(bool has_target);

/// BUSY for a target when it was so on one GPU; IDLE when it was so on all, and no GPU is left that
/// nobody meters.
[[nodiscard]] WatchVerdict judge_watch(const WatchRecord& record);

}  // namespace picchio
