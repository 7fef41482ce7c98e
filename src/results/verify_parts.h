// The checks of verify(), by what they look at; private to results/.
#pragma once

#include "evidence/figures.h"
#include "results/verify.h"

#include <string>
#include <string_view>

namespace picchio::results {

/// Gathers what was checked.
class Findings {
 public:
  /// `text`: the arithmetic, told only where the check does not hold.
  void judge(std::string_view check, bool holds, std::string text);
  [[nodiscard]] Verification take();

 private:
  Verification found_;
};

/// Layers, bytes, arguments and devices of one placement against each other.
void check_placement(const RunFigures& run, Findings& out);
/// VERDICT, WHY and their sentence against the lines above.
void check_headline(const RunFigures& run, Findings& out);
/// Sizes, bandwidth and memory of what is named. `drafts`: several tokens come of one read of the
/// weights.
void check_physics(const RunFigures& run, bool drafts, Findings& out);

}  // namespace picchio::results
