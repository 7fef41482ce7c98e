// Recomputes what a block claims: figures that cannot all be true of one run. Pure.
#pragma once

#include "evidence/figures.h"
#include "results/block_reader.h"

#include <string>
#include <vector>

namespace picchio::results {

struct Contradiction {
  std::string check;  // "energy": of the table in docs/compare.md
  std::string text;   // one sentence with its arithmetic
};

struct Verification {
  std::vector<Contradiction> contradictions;
  std::vector<std::string> held;  // checks that could be made and hold
};

/// What a block prints is rounded, and clocks of an engine and of picchio are two: only what no
/// rounding and no such difference explains is a contradiction.
[[nodiscard]] Verification verify(const RunFigures& run);

/// The same of a pasted block, which may say two things where a run says one.
[[nodiscard]] Verification verify(const PastedBlock& block);

}  // namespace picchio::results
