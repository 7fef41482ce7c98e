#include "meters/amdgpu/gpu_metrics.h"

#include "meters/made_up_metrics.h"

#include <gtest/gtest.h>

namespace picchio::meters::amdgpu {
namespace {

TEST(GpuMetrics, ReadsEachVersionForWhatItHas) {
  constexpr std::uint64_t kEnergy = 0x0102'0304'0506'0708;
  struct Case {
    int format;
    int content;
    std::optional<double> busy;
    std::optional<std::uint64_t> energy;
    bool throttling;
  };
  const Case cases[] = {
      {1, 0, {}, {}, false},  // other layout
      {1, 1, 42.0, kEnergy, false}, {1, 2, 42.0, kEnergy, false}, {1, 3, 42.0, kEnergy, true},
      {1, 4, {}, kEnergy, false},   {1, 5, {}, {}, false},        {2, 2, {}, {}, false},
      {3, 0, {}, {}, false},
  };
  for (const Case& each : cases) {
    MadeUpMetrics made(each.format, each.content, 200);
    made.put<std::uint16_t>(16, 42).put<std::uint64_t>(24, kEnergy);
    const auto metrics = parse_gpu_metrics(made.bytes());
    ASSERT_TRUE(metrics);
    const auto version = ::testing::Message() << 'v' << each.format << '.' << each.content;
    EXPECT_EQ(metrics->format, each.format) << version;
    EXPECT_EQ(metrics->content, each.content) << version;
    EXPECT_EQ(metrics->busy_percent, each.busy) << version;
    EXPECT_EQ(metrics->energy_accumulator, each.energy) << version;
    EXPECT_EQ(metrics->throttling.has_value(), each.throttling) << version;
  }
}

TEST(GpuMetrics, AllOnesAndNonsenseAreAbsent) {
  const auto all_ones = parse_gpu_metrics(metrics_v1_3(~0ULL, ~0ULL, 0xffff).bytes());
  ASSERT_TRUE(all_ones);
  EXPECT_FALSE(all_ones->busy_percent || all_ones->energy_accumulator || all_ones->throttling);
  EXPECT_FALSE(parse_gpu_metrics(metrics_v1_3(1, 0, 101).bytes())->busy_percent);
}

TEST(GpuMetrics, NamesThrottling) {
  struct Case {
    int bit;
    Throttling expected;
  };
  const Case cases[] = {
      {0, {.power_cap = true, .thermal = false, .hardware = false}},    // PPT0
      {16, {.power_cap = true, .thermal = false, .hardware = false}},   // TDC of the graphics part
      {36, {.power_cap = false, .thermal = true, .hardware = false}},   // hot spot
      {44, {.power_cap = false, .thermal = true, .hardware = false}},   // VRHOT0
      {47, {.power_cap = false, .thermal = false, .hardware = true}},   // PROCHOT
      {57, {.power_cap = false, .thermal = false, .hardware = false}},  // FIT: no slowdown
  };
  for (const Case& each : cases) {
    const auto metrics = parse_gpu_metrics(metrics_v1_3(1, 1ULL << each.bit).bytes());
    ASSERT_TRUE(metrics && metrics->throttling) << each.bit;
    EXPECT_EQ(*metrics->throttling, each.expected) << each.bit;
  }
}

TEST(GpuMetrics, IsNeverReadPastItsEnd) {
  const std::string whole = metrics_v1_3(77, 1).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_gpu_metrics(std::string_view(whole).substr(0, size))) << size;
  }
  // One that says it is shorter than the page that it came in is as short as it says.
  for (std::uint16_t size = 0; size < whole.size(); ++size) {
    std::string shorter = metrics_v1_3(77, 1).put<std::uint16_t>(0, size).bytes();
    const auto metrics = parse_gpu_metrics(shorter);
    EXPECT_EQ(metrics.has_value(), size >= 4) << size;
    if (!metrics) continue;
    EXPECT_EQ(metrics->energy_accumulator.has_value(), size >= 32) << size;
    EXPECT_FALSE(metrics->throttling) << size;
  }
}

}  // namespace
}  // namespace picchio::meters::amdgpu
