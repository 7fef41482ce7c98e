// What a model would take of this machine's memory, for people and programs. Pure.
#pragma once

#include "evidence/plan.h"

#include <string>
#include <vector>

namespace picchio {

/// Ends in a newline.
[[nodiscard]] std::string plan_text(const Plan& plan);

/// Which memory lacks how much for what was asked: "RTX 4090 lacks 3.10 GiB; host lacks 1.00 GiB".
[[nodiscard]] std::string shortfall(const Plan& plan);

/// "-ngl 37 -c 4096 --n-cpu-moe 12": what llama.cpp's programs take.
[[nodiscard]] std::string llama_cpp_flags(const PlannedSetting& setting);

/// "num_gpu 37, num_ctx 4096": ollama's parameters of a request or a Modelfile.
[[nodiscard]] std::string ollama_parameters(const PlannedSetting& setting);

/// "what 2 runs on this machine's CPU gave: 14.8 GB/s and 31 billion weights a second, give or take
/// 15 %". Names of GPUs are as they came.
[[nodiscard]] std::string own_speed_text(const OwnSpeed& own);

/// A model that could not be planned, in a table of several.
struct UnplannedModel {
  std::string model;
  std::string reason;
};

/// One row for each, best fit first.
[[nodiscard]] std::string plan_table(const std::vector<Plan>& plans,
                                     const std::vector<UnplannedModel>& others);

/// A document of one or several plans; docs/json.md.
[[nodiscard]] std::string plan_json(const std::vector<Plan>& plans,
                                    const std::vector<UnplannedModel>& others, int exit_code);

}  // namespace picchio
