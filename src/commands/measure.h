// Runs the passes of a protocol and records them; judges nothing.
#pragma once

#include "base/result.h"
#include "commands/engine_probe.h"
#include "commands/progress.h"
#include "engines/llama_cpp/prompt.h"
#include "evidence/run.h"
#include "os/signals.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// Looks at the GPUs in a second: an engine on a fast card decodes 128 tokens in half of one.
inline constexpr double kMeterHz = 10;

struct MeasureRequest {
  ModelFile model;
  ProbedEngine engine;
  std::vector<std::string> user_args;
  int passes = 3;
  Micros timeout{};
  bool drop_cache = false;
  std::optional<double> meter_hz = kMeterHz;                     // absent: --no-telemetry
  std::optional<llama_cpp::Prompting> prompting = std::nullopt;  // absent: mp1's, as far as it fits
};

/// Called with each finished pass (0-based); an error ends the run. --keep-logs writes here, so
/// that what was measured before a failure is not lost.
using PassSink = std::function<Result<void>(const RawRun& run, std::size_t pass)>;

/// A pass that fails ends the run with the engine's telling line; there is no second try.
/// Interrupted: ErrorKind::interrupted, and the engine is gone.
[[nodiscard]] Result<RawRun> measure(const MeasureRequest& request, os::Interrupts& interrupts,
                                     Progress& progress, const PassSink& sink);

}  // namespace picchio
