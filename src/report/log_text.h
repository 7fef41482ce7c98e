// What one pasted log tells, for people: the lines of the block that a log alone can fill.
#pragma once

#include "evidence/engine_log.h"
#include "evidence/placement.h"
#include "evidence/verdict.h"

#include <string>

namespace picchio {

/// Plain ASCII, labels in the columns of the block, at most 66 columns (the model line 160), each
/// line ending in LF. Unlike the block it has no limit of lines: WHY, FIX and notes stand in full.
[[nodiscard]] std::string log_text(const EngineLog& log, const Placement& placement,
                                   const Verdict& verdict);

}  // namespace picchio
