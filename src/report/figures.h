// What of a run travels, exact, as the block prints it rounded.
#pragma once

#include "evidence/figures.h"
#include "evidence/run.h"
#include "evidence/verdict.h"

namespace picchio {

/// The sentence is the verdict's alone, and nothing is cut.
[[nodiscard]] RunFigures figures_of(const Run& run, const Verdict& verdict);

}  // namespace picchio
