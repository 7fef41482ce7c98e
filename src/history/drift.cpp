#include "history/drift.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace picchio::history {
namespace {

// As compare's ladder calls them. What is set from outside stands before what follows from it; the
// rest keeps the ladder's order.
constexpr std::array<std::string_view, 14> kOrder = {
    "engine",  "driver",  "OS",           "placement", "device",          "quant",    "arguments",
    "context", "KV type", "batch/ubatch", "threads",   "flash attention", "hardware", "power"};

std::size_t rank_of(const ComparedCondition& condition) {
  const auto found = std::ranges::find(kOrder, condition.name);
  return static_cast<std::size_t>(found - kOrder.begin());
}

struct Spread {
  std::size_t runs = 0;
  double low = 0;
  double high = 0;
};

Spread spread_of(std::span<const StoredRow> earlier, Lane which) {
  Spread out;
  for (const StoredRow& row : earlier) {
    const StoredLane& lane = row.lane(which);
    if (row.one_pass || !lane.value) continue;
    // A range that leaves out its own median is no range.
    const double low = std::min(*lane.value, lane.low.value_or(*lane.value));
    const double high = std::max(*lane.value, lane.high.value_or(*lane.value));
    out.low = out.runs == 0 ? low : std::min(out.low, low);
    out.high = out.runs == 0 ? high : std::max(out.high, high);
    ++out.runs;
  }
  return out;
}

}  // namespace

std::vector<DriftedLane> drifted_lanes(std::span<const StoredRow> earlier, const RunFigures& now) {
  std::vector<DriftedLane> out;
  if (now.only_one_pass) return out;
  for (const Lane which : kLanes) {
    const std::optional<double> value = now.lane(which).warm.value;
    const Spread spread = spread_of(earlier, which);
    if (!value || spread.runs < kFewestEarlierRuns) continue;
    const double half = (spread.high - spread.low) / 2;
    const double above = std::max(half, kLeastDistance * spread.high);
    const double below = std::max(half, kLeastDistance * spread.low);
    if (*value > spread.high + above || *value < spread.low - below) {
      out.push_back({which, *value, spread.low, spread.high});
    }
  }
  return out;
}

std::optional<ComparedCondition> first_change(std::span<const ComparedCondition> conditions) {
  const ComparedCondition* first = nullptr;
  for (const ComparedCondition& condition : conditions) {
    if (!condition.differs) continue;
    if (first == nullptr || rank_of(condition) < rank_of(*first)) first = &condition;
  }
  if (first == nullptr) return std::nullopt;
  return *first;
}

}  // namespace picchio::history
