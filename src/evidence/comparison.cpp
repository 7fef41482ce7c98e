#include "evidence/comparison.h"

#include <algorithm>
#include <cmath>

namespace picchio {

bool ComparedLane::differs() const {
  if (!a || !b || !limit) return false;
  const double larger = std::max(*a, *b);
  // What was printed with one digit may be off by half of it on either side.
  constexpr double kPrinted = 0.1;
  return std::abs(*a - *b) > *limit * larger + kPrinted;
}

bool Comparison::differs() const {
  if (!not_comparable.empty()) return false;
  const bool elsewhere = !conditions.empty() && conditions.front().differs;
  return elsewhere || verdicts.differs || std::ranges::any_of(lanes, &ComparedLane::differs);
}

bool Comparison::any_lane() const {
  return std::ranges::any_of(lanes, [](const ComparedLane& lane) { return lane.why_not.empty(); });
}

}  // namespace picchio
