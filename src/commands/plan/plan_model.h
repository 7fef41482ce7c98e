// One model's plan: from its headers and the room there is.
#pragma once

#include "base/result.h"
#include "commands/header_source.h"
#include "commands/plan/extras.h"
#include "commands/plan/room.h"
#include "evidence/plan.h"
#include "gguf/memory/fit.h"
#include "verdict/own_runs.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

struct PlanWish {
  gguf::Wish wish;  // its placement's devices are taken from the room
  std::int64_t margin = gguf::kUsualMargin;
  /// Bytes per second of this machine's RAM, asked for where an estimate needs it. Empty: not
  /// known.
  std::function<std::optional<double>()> ram_speed;
  /// Runs of this machine from one memory: of the GPU of this name, of the CPU where it is empty.
  /// Asked for where an estimate needs them. Empty: there are none.
  std::function<std::vector<OwnRun>(const std::string& memory)> own_runs;
  std::vector<ExtraModel> extras = {};  // loaded before it
  /// A model must not lie in them for that speed to say anything.
  std::optional<std::int64_t> cache_bytes;
};

/// Errors are the engine's refusals, naming the model.
[[nodiscard]] Result<Plan> plan_model(const std::string& name, const ModelHeaders& model,
                                      const PlanWish& wish, const PlanRoom& room);

}  // namespace picchio
