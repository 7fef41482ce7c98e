#include "verdict/depth_slope.h"

#include <gtest/gtest.h>

#include <vector>

namespace picchio {
namespace {

/// A pass of an engine that takes 10 ms a token and 0.5 ms more for each 1,000 of depth.
DepthRate pass(std::int64_t depth, double off_ms = 0) {
  return {depth, 1000 / (10 + 0.5 * static_cast<double>(depth) / 1000 + off_ms)};
}

TEST(DepthSlope, FindsTheLine) {
  const std::vector<DepthRate> passes = {pass(4000), pass(4000), pass(16000), pass(32000)};
  const auto slope = depth_slope(passes);
  ASSERT_TRUE(slope);
  EXPECT_NEAR(slope->ms_at_zero, 10, 1e-9);
  EXPECT_NEAR(slope->ms_per_thousand, 0.5, 1e-9);
  ASSERT_TRUE(slope->uncertainty);
  EXPECT_NEAR(*slope->uncertainty, 0, 1e-6);
  EXPECT_EQ(slope->shallowest, 4000);
  EXPECT_EQ(slope->deepest, 32000);
  EXPECT_NEAR(slope->rate_shallowest, 1000 / 12.0, 1e-9);
  EXPECT_EQ(slope->passes, 4U);
  EXPECT_TRUE(slope->certain());
}

// By hand: residuals +-0.1 at three depths of two passes each; the variance is 0.06 / 4 = 0.015,
// Sxx = 2 x (12^2 + 0 + 12^2) thousand^2 = 576, so the error is sqrt(0.015 / 576) = 0.0051 and t(4)
// = 2.776.
TEST(DepthSlope, TellsHowCertainItIs) {
  const std::vector<DepthRate> passes = {pass(4000, 0.1),   pass(4000, -0.1), pass(16000, 0.1),
                                         pass(16000, -0.1), pass(28000, 0.1), pass(28000, -0.1)};
  const auto slope = depth_slope(passes);
  ASSERT_TRUE(slope);
  ASSERT_TRUE(slope->uncertainty);
  EXPECT_NEAR(*slope->uncertainty, 2.776 * 0.0051031, 1e-5);
}

TEST(DepthSlope, NoiseIsNoSlope) {
  const std::vector<DepthRate> passes = {{4000, 100}, {4000, 90}, {16000, 101}, {16000, 91}};
  const auto slope = depth_slope(passes);
  ASSERT_TRUE(slope);
  EXPECT_FALSE(slope->certain());
}

TEST(DepthSlope, TwoPassesHaveNoUncertaintyAndOneDepthNoSlope) {
  const auto two = depth_slope(std::vector<DepthRate>{pass(4000), pass(8000)});
  ASSERT_TRUE(two);
  EXPECT_FALSE(two->uncertainty);
  EXPECT_FALSE(two->certain());
  EXPECT_FALSE(depth_slope(std::vector<DepthRate>{pass(4000), pass(4000)}));
  EXPECT_FALSE(depth_slope({}));
  // No rate at all is no pass.
  EXPECT_FALSE(depth_slope(std::vector<DepthRate>{pass(4000), {8000, 0}}));
}

SweepTier tier(std::int64_t context, int layers, std::vector<double> decode) {
  SweepTier out;
  out.context = context;
  out.end = TierEnd::measured;
  out.figures.more.filled_tokens = context - 150;
  out.figures.placement.layers_on_gpu = layers;
  out.figures.placement.layers_total = 29;
  out.rates[static_cast<std::size_t>(Lane::decode)] = std::move(decode);
  return out;
}

TEST(AddSlopes, LeavesOutWhatIsPlacedOtherwise) {
  Sweep sweep;
  sweep.tiers = {tier(4096, 29, {100, 101}), tier(8192, 29, {90, 91}), tier(16384, 20, {12, 12})};
  add_slopes(sweep);
  EXPECT_EQ(sweep.placed_otherwise_from, 16384);
  ASSERT_TRUE(sweep.decode);
  EXPECT_EQ(sweep.decode->deepest, 8192 - 150);
  EXPECT_EQ(sweep.decode->passes, 4U);
  EXPECT_FALSE(sweep.prefill);
}

TEST(AddSlopes, TiersWithoutFiguresAreNotInIt) {
  Sweep sweep;
  sweep.tiers = {tier(4096, 29, {100}), tier(8192, 29, {90}), tier(16384, 29, {80})};
  sweep.tiers[1].end = TierEnd::skipped;
  add_slopes(sweep);
  ASSERT_TRUE(sweep.decode);
  EXPECT_EQ(sweep.decode->passes, 2U);
  EXPECT_FALSE(sweep.placed_otherwise_from);
  sweep.tiers[0].end = TierEnd::failed;
  add_slopes(sweep);
  EXPECT_FALSE(sweep.decode);
}

}  // namespace
}  // namespace picchio
