#include "verdict/decode_estimate.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

TEST(DecodeEstimate, OneMemoryByItsPeak) {
  const auto rate = decode_rate({{5'000'000'000, 1e12, false, ""}}, 100);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->least, 200 * kLeastOfPeak);
  EXPECT_DOUBLE_EQ(rate->most, 200 * kMostOfPeak);
  EXPECT_EQ(rate->depth, 100);
  EXPECT_EQ(rate->bytes_per_token, 5'000'000'000);
}

TEST(DecodeEstimate, MemoriesAreReadOneAfterTheOther) {
  const auto device = decode_rate({{4'000'000'000, 1e12, false, ""}}, 0);
  const auto host = decode_rate({{1'000'000'000, 5e10, true, ""}}, 0);
  const auto both = decode_rate({{4'000'000'000, 1e12, false}, {1'000'000'000, 5e10, true}}, 0);
  ASSERT_TRUE(device && host && both);
  EXPECT_DOUBLE_EQ(1 / both->most, 1 / device->most + 1 / host->most);
  EXPECT_DOUBLE_EQ(1 / both->least, 1 / device->least + 1 / host->least);
}

TEST(DecodeEstimate, NoGpuIsFasterThanItsLaunches) {
  const auto rate = decode_rate({{1'000'000, 1e12, false, ""}}, 0);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->most, 1000);
  EXPECT_DOUBLE_EQ(rate->least, 500);
}

TEST(DecodeEstimate, OwnRunsRuleOverThePeak) {
  FittedSpeed own;
  own.seconds_per_byte = 1e-10;
  own.seconds_per_weight = 2e-11;
  own.error = 0.1;
  const ReadMemory host{.bytes_per_token = 500'000'000,
                        .peak_bytes_per_second = 1e12,
                        .host = true,
                        .weights_per_token = 1'000'000'000,
                        .own = own};
  const auto rate = decode_rate({host}, 0);
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->most, 1.1 / 0.07);
  EXPECT_DOUBLE_EQ(rate->least, 1 / 0.07 / 1.1);
  const auto device = decode_rate({{4'000'000'000, 1e12, false, ""}}, 0);
  const auto both = decode_rate({host, {4'000'000'000, 1e12, false, ""}}, 0);
  ASSERT_TRUE(device && both);
  EXPECT_DOUBLE_EQ(1 / both->most, 1 / device->most + 1 / rate->most);
  const auto unknown_peak = decode_rate({{.bytes_per_token = 1, .own = own}}, 0);
  EXPECT_TRUE(unknown_peak);
}

TEST(DecodeEstimate, NoneWithoutASpeedOfWhatIsRead) {
  EXPECT_FALSE(decode_rate({{1, std::nullopt, false, ""}}, 0));
  EXPECT_FALSE(decode_rate({{1, 0.0, false, ""}}, 0));
  EXPECT_FALSE(decode_rate({}, 0));
  EXPECT_TRUE(decode_rate({{1, 1e9, false}, {0, std::nullopt, true}}, 0))
      << "nothing is read of it";
}

}  // namespace
}  // namespace picchio
