// What this machine's meters can measure, and what they cannot and why: `picchio meters`.
#pragma once

#include "evidence/machine.h"
#include "evidence/telemetry.h"

#include <string>

namespace picchio {

/// One paragraph a GPU with its figures as of the last sample, then what is missing. Plain ASCII,
/// at most 66 columns, each line ending in LF. GPUs of `machine` that no meter reads are named.
[[nodiscard]] std::string meters_text(const Telemetry& telemetry, const Machine& machine);

/// Schema "picchio.meters.v1". Text rules as of run_json().
[[nodiscard]] std::string meters_json(const Telemetry& telemetry, const Machine& machine,
                                      int exit_code);

}  // namespace picchio
