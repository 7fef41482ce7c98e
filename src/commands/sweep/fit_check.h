// Whether a context goes in, as `picchio plan` sees it.
#pragma once

#include "commands/header_source.h"
#include "commands/plan/room.h"
#include "commands/sweep/subject.h"
#include "gguf/memory/context.h"
#include "os/signals.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// Of one model and the settings that an engine gets. What it cannot judge it lets pass: then the
/// engine tells.
class FitCheck {
 public:
  /// `model`: anything that has headers. `environment`: as the engine will see it.
  FitCheck(std::string model, std::vector<std::string> arguments,
           std::map<std::string, std::string> environment, gguf::Program program,
           os::Interrupts& interrupts);

  [[nodiscard]] TierOutlook outlook(std::int64_t context);

 private:
  bool load();

  std::string model_;
  std::vector<std::string> arguments_;
  std::map<std::string, std::string> environment_;
  gguf::Program program_;
  os::Interrupts& interrupts_;
  bool loaded_ = false;
  std::optional<ModelHeaders> headers_;
  std::optional<PlanRoom> room_;
};

}  // namespace picchio
