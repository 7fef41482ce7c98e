// When a run is called out of the ordinary, and what is named for it.
#include "history/drift.h"

#include "history/sample_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio::history {
namespace {

struct Earlier {
  double median;
  std::optional<double> low;
  std::optional<double> high;
};

StoredRow row_of(const Earlier& run) {
  StoredRow out;
  for (StoredLane& lane : out.lanes) lane = {100.0, 99.0, 101.0};
  out.lanes[static_cast<std::size_t>(Lane::decode)] = {run.median, run.low, run.high};
  return out;
}

RunFigures now_of(std::optional<double> decode) {
  RunFigures out;
  for (LaneFigures& lane : out.lanes) lane.warm.value = 100;
  out.lane(Lane::decode).warm.value = decode;
  return out;
}

struct Case {
  const char* what;
  std::vector<Earlier> earlier;
  std::optional<double> now;
  bool outside;
};

TEST(Drift, ALaneOutsideTheSpreadOfEarlierRuns) {
  const std::optional<double> none;
  const std::vector<Earlier> wide = {{20, 18, 22}, {20, 19, 21}, {21, 20, 21.5}};  // 18 to 22
  const std::vector<Earlier> equal = {{20, none, none}, {20, none, none}, {20, none, none}};
  const Case cases[] = {
      {"no earlier run", {}, 5, false},
      {"two are too few", {{20, 20, 20}, {20, 20, 20}}, 5, false},
      {"inside", wide, 20.5, false},
      {"at the lower edge", wide, 18, false},
      {"half a width below is not yet outside", wide, 16, false},
      {"more than that is", wide, 15.9, true},
      {"half a width above is not yet outside", wide, 24, false},
      {"faster is outside too", wide, 24.1, true},
      {"half as fast", wide, 10, true},
      {"nothing to compare", wide, std::nullopt, false},
      {"a percent beside equal runs is a clock's step", equal, 19.81, false},
      {"two percent are not", equal, 19.6, true},
      {"a range that leaves out its median",
       {{20, 30, 10}, {20, 20, 20}, {20, 20, 20}},
       19.9,
       false},
  };
  for (const Case& each : cases) {
    std::vector<StoredRow> earlier;
    for (const Earlier& run : each.earlier) earlier.push_back(row_of(run));
    const auto outside = drifted_lanes(earlier, now_of(each.now));
    EXPECT_EQ(outside.size(), each.outside ? 1U : 0U) << each.what;
    if (each.outside && !outside.empty()) {
      EXPECT_EQ(outside.front().lane, Lane::decode) << each.what;
    }
  }
}

TEST(Drift, TellsTheSpreadItself) {
  std::vector<StoredRow> earlier;
  for (const Earlier& run : {Earlier{20, 18, 22}, {20, 19, 21}, {21, 20, 21.5}}) {
    earlier.push_back(row_of(run));
  }
  const auto outside = drifted_lanes(earlier, now_of(9));
  ASSERT_EQ(outside.size(), 1U);
  EXPECT_EQ(outside.front(), (DriftedLane{Lane::decode, 9, 18, 22}));
}

TEST(Drift, RowsWithoutTheLaneAreNoRuns) {
  std::vector<StoredRow> earlier(3, row_of({20, 20, 20}));
  earlier[1].lanes[1] = {};
  EXPECT_TRUE(drifted_lanes(earlier, now_of(5)).empty());
  earlier.push_back(row_of({20, 20, 20}));
  EXPECT_EQ(drifted_lanes(earlier, now_of(5)).size(), 1U);
  earlier.back().one_pass = true;
  EXPECT_TRUE(drifted_lanes(earlier, now_of(5)).empty());
}

TEST(Drift, ARunOfOnePassIsNotComparedWithWarmOnes) {
  const std::vector<StoredRow> earlier(5, row_of({20, 20, 20}));
  RunFigures now = now_of(5);
  ASSERT_EQ(drifted_lanes(earlier, now).size(), 1U);
  now.only_one_pass = true;
  EXPECT_TRUE(drifted_lanes(earlier, now).empty());
}

TEST(Drift, AllLanesInTheirOrder) {
  const std::vector<StoredRow> earlier(3, row_of({100, 99, 101}));
  RunFigures now = now_of(50);
  for (LaneFigures& lane : now.lanes) lane.warm.value = 200;
  const auto outside = drifted_lanes(earlier, now);
  ASSERT_EQ(outside.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outside[i].lane, kLanes[i]);
}

TEST(Drift, CausesStandBeforeWhatTheyCause) {
  using Conditions = std::vector<ComparedCondition>;
  const ComparedCondition placement{"placement", "100%", "0%", true};
  const ComparedCondition engine{"engine", "b1", "b2", true};
  const ComparedCondition driver{"driver", "550", "560", true};
  const ComparedCondition os{"OS", "6.1", "6.2", true};
  const ComparedCondition same{"engine", "b1", "b1", false};
  const ComparedCondition unknown{"later rung", "a", "b", true};
  EXPECT_FALSE(first_change(Conditions{}));
  EXPECT_FALSE(first_change(Conditions{same}));
  const std::pair<Conditions, std::string> cases[] = {
      {{placement, engine, driver, os}, "engine"},
      {{placement, os, driver, same}, "driver"},
      {{placement, os}, "OS"},
      {{unknown, placement}, "placement"},
      {{unknown, same}, "later rung"},
  };
  for (const auto& [conditions, name] : cases) {
    const auto first = first_change(conditions);
    ASSERT_TRUE(first) << name;
    EXPECT_EQ(first->name, name);
  }
}

}  // namespace
}  // namespace picchio::history
