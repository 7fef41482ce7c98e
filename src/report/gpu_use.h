// What the meters saw of a run, as one figure each: for the block and for JSON. Pure.
#pragma once

#include "evidence/run.h"
#include "report/json_values.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio::report {

/// The GPUs in use; where the log names none, the one that worked hardest. Empty: nothing was
/// recorded.
[[nodiscard]] std::vector<const GpuUse*> shown_gpus(const Run& run);

/// Why there are none, cleaned for a terminal.
[[nodiscard]] std::string why_not_sampled(const Run& run);

/// Several GPUs as one: the hardest at work, the sum of what adds up. A sum is absent where one of
/// them does not tell.
struct CombinedUse {
  std::optional<double> idle_busy;
  std::optional<double> idle_watts;
  std::optional<double> work_busy;
  int work_looks = 0;
  int decode_looks = 0;
  std::optional<std::int64_t> memory_step;
  std::optional<double> watts;
  std::optional<double> decode_watts;
  std::optional<double> joules_per_token;  // generated
  std::optional<double> joules_per_prompt_token;
  bool throttled = false;
  std::string lost;
};
[[nodiscard]] CombinedUse combined(const std::vector<const GpuUse*>& shown);

/// A line for each GPU that was recorded and for each phase of it that has figures.
[[nodiscard]] std::vector<std::string> gpu_use_lines(const Run& run);

[[nodiscard]] Json telemetry_json(const Run& run);

}  // namespace picchio::report
