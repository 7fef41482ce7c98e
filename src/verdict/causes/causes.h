// WHY and FIX: an ordered table of causes, each with the evidence that it needs in this very run or
// log. A cause without evidence is never named. Pure; docs/causes.md describes every id.
#pragma once

#include "evidence/engine_log.h"
#include "evidence/placement.h"
#include "evidence/run.h"
#include "evidence/verdict.h"
#include "verdict/causes/evidence.h"

#include <optional>
#include <span>

namespace picchio {

/// In order of how directly they explain; the first with evidence wins.
[[nodiscard]] std::span<const CauseRow> cause_rows();

/// Nullopt: unknown. A placement that is gpu can still have one: more memory asked than there is.
/// `run` is null for a pasted log.
[[nodiscard]] std::optional<Cause> find_cause(const EngineLog& log, const Placement& placement,
                                              const Run* run);

}  // namespace picchio
