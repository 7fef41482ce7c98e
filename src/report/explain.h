// The reasoning behind a verdict, for --explain.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <string>

namespace picchio {

/// Plain ASCII, at most 80 columns, as many lines as it takes: each witness with its word or
/// "abstains" and its sentence, the rule that fired, the account's reason, WHY and FIX in full and
/// every remark, also those that the block had no room for. Every cause with evidence follows, with
/// what proves it.
[[nodiscard]] std::string explain(const Run& run, const Verdict& verdict);
/// The same of a log alone.
[[nodiscard]] std::string explain(const Placement& placement, const Verdict& verdict);

}  // namespace picchio
