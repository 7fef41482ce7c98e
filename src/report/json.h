// The same results for programs. docs/json.md gives each field's unit and what its absence means;
// docs/schema/ holds the schemas. Fields are added, never renamed.
#pragma once

#include "evidence/run.h"
#include "evidence/stored_run.h"
#include "evidence/verdict.h"

#include <string>

namespace picchio {

/// Schema "picchio.diagnose.v1": the keys of the established tool of this kind, then our own. ASCII
/// only (other characters are \u escapes, bytes that are no UTF-8 become U+FFFD), no LF at the end.
/// An empty `evidence_directory` is null, and so is "history" of a run that the history does not
/// hold.
[[nodiscard]] std::string run_json(const Run& run, const Verdict& verdict, int exit_code,
                                   const std::string& evidence_directory = "",
                                   const Drift* drift = nullptr);

/// Schema "picchio.explain-log.v1": what one pasted log tells. Same text rules.
[[nodiscard]] std::string log_json(const EngineLog& log, const Placement& placement,
                                   const Verdict& verdict, int exit_code);

}  // namespace picchio
