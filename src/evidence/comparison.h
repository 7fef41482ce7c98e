// Two runs side by side: what they were measured under, what they gave, and which difference is the
// suspect. Made by results/, printed by report/.
#pragma once

#include "evidence/figures.h"

#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// One rung of the ladder: a condition that moves rates.
struct ComparedCondition {
  std::string name;  // "placement", "KV type"
  std::string a;     // as people read it; empty: not told
  std::string b;
  bool differs = false;  // both are told, and they are not the same
  [[nodiscard]] bool judged() const { return !a.empty() && !b.empty(); }
};

struct ComparedLane {
  Lane lane = Lane::decode;
  bool warm = true;         // medians of the warm passes; false: first passes
  std::optional<double> a;  // tokens per second
  std::optional<double> b;
  std::optional<double> limit;  // relative difference that is still noise; absent: not compared
  bool spread_assumed = false;  // `limit` is of no run's own
  std::string why_not;          // not compared; empty: it is
  [[nodiscard]] double ratio() const { return a && b && *b > 0 ? *a / *b : 0; }
  [[nodiscard]] bool differs() const;
};

struct Comparison {
  std::string not_comparable;                 // the reason; empty: they are compared
  std::string model;                          // A's
  std::string other_model;                    // B's, where it is called otherwise
  std::vector<ComparedCondition> conditions;  // the ladder, in its order
  std::vector<ComparedLane> lanes;            // in the order of kLanes
  ComparedCondition verdicts;                 // no cause, but what followed
  std::optional<std::size_t> suspect;         // of `conditions`, where something differs
  std::optional<double> tolerance;            // as asked for; absent: the runs' own spread

  /// A lane is apart by more than its limit, or the verdicts or placements are not the same.
  [[nodiscard]] bool differs() const;
  /// A lane has a figure in both. Without one nothing was compared but what differs() found.
  [[nodiscard]] bool any_lane() const;
};

}  // namespace picchio
