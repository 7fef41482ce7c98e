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
#include <string>
#include <vector>

namespace picchio {

/// In order of how directly they explain; the first with evidence is the WHY.
[[nodiscard]] std::span<const CauseRow> cause_rows();

/// All that have evidence, the strongest first; none: unknown. A placement that is gpu can still
/// have one: more memory asked than there is. `run` is null for a pasted log.
[[nodiscard]] std::vector<Cause> find_causes(const EngineLog& log, const Placement& placement,
                                             const Run* run);

/// The engine loaded the model and died of its GPU before it answered: no rates, and a backend's
/// fatal error after the load began.
[[nodiscard]] bool died_on_gpu(const EngineLog& log);

/// It explains no placement: heat, threads, one memory channel.
[[nodiscard]] bool only_slows(const Cause& cause);

/// Of a CPU run with no proven cause: what its log fits, for a WHY that says that it is not known.
/// Empty: nothing to say.
[[nodiscard]] std::string suspicion(const EngineLog& log, const Placement& placement,
                                    const Run* run);

}  // namespace picchio
