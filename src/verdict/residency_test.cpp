#include "verdict/residency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace picchio {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kMiB = 1024.0 * 1024;
constexpr std::int64_t kWeights = std::int64_t{5} << 30;

using Curve = std::function<double(double)>;  // bytes at 0 (the beginning) to 1 (the end)

ResidencyPoint point(std::size_t i, double bytes, std::optional<double> decode = {}) {
  return {Micros{30'000'000} * static_cast<std::int64_t>(i), static_cast<std::int64_t>(bytes),
          decode};
}

ResidencySeries series_of(std::size_t size, const Curve& curve, double noise = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> spread(-noise, noise);
  ResidencySeries out;
  for (std::size_t i = 0; i < size; ++i) {
    const double where = static_cast<double>(i) / static_cast<double>(size - 1);
    out.add(point(i, curve(where) + spread(random)));
  }
  return out;
}

double ramp(double from, double to, double where) {
  return from + (to - from) * std::clamp(where, 0.0, 1.0);
}

struct Case {
  const char* shows;
  ResidencyShape shape;
  Curve curve;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"fully resident", ResidencyShape::flat, [](double) { return 5.2 * kGiB; }},
      {"in a GPU's memory", ResidencyShape::flat, [](double) { return 0.6 * kGiB; }},
      {"cold weights are read bit by bit", ResidencyShape::rising,
       [](double w) { return ramp(0.3 * kGiB, 5 * kGiB, w); }},
      {"cold weights that are warm soon", ResidencyShape::plateau,
       [](double w) { return ramp(0.3 * kGiB, 5.1 * kGiB, 5 * w); }},
      {"warm after two thirds", ResidencyShape::plateau,
       [](double w) { return ramp(0.3 * kGiB, 5.1 * kGiB, 1.5 * w); }},
      {"pages go under pressure", ResidencyShape::falling,
       [](double w) { return ramp(5 * kGiB, 1.5 * kGiB, w); }},
      {"they go at once and stay away", ResidencyShape::falling,
       [](double w) { return w < 0.5 ? 5 * kGiB : 2 * kGiB; }},
      {"warmed up, then pushed out", ResidencyShape::falling,
       [](double w) { return w < 0.5 ? ramp(kGiB, 5 * kGiB, 4 * w) : 2 * kGiB; }},
      {"pushed out and read again", ResidencyShape::oscillating,
       [](double w) { return (3.5 + 1.5 * std::cos(w * 6 * std::numbers::pi)) * kGiB; }},
      {"loaded again in the middle", ResidencyShape::plateau,
       [](double w) { return w < 0.5 ? 5 * kGiB : ramp(0.1 * kGiB, 5 * kGiB, 6 * (w - 0.5)); }},
      {"loaded again, still warming", ResidencyShape::rising,
       [](double w) { return w < 0.5 ? 5 * kGiB : ramp(0.1 * kGiB, 5 * kGiB, 2 * (w - 0.5)); }},
  };
  return all;
}

TEST(Residency, ShapesAtEveryLengthAndWithNoise) {
  for (const Case& each : cases()) {
    for (const std::size_t size : {20U, 60U, 513U, 2000U, 10'000U}) {
      for (const double noise : {0.0, 5 * kMiB}) {
        const auto report = judge_residency(series_of(size, each.curve, noise), kWeights);
        EXPECT_EQ(report.shape, each.shape)
            << each.shows << ", " << size << " points, noise " << noise << ": " << report.sentence;
      }
    }
  }
}

TEST(Residency, NoWeightsOnDiskKnown) {
  for (const Case& each : cases()) {
    const auto report = judge_residency(series_of(200, each.curve, 5 * kMiB), std::nullopt);
    EXPECT_EQ(report.shape, each.shape) << each.shows << ": " << report.sentence;
    EXPECT_FALSE(report.sentence.contains("weights")) << report.sentence;
  }
}

TEST(Residency, TooFew) {
  EXPECT_EQ(judge_residency({}, kWeights).shape, ResidencyShape::too_few);
  EXPECT_TRUE(judge_residency({}, kWeights).sentence.contains("No probe"));
  for (const std::size_t size : {1U, 2U, 4U}) {
    ResidencySeries series;
    for (std::size_t i = 0; i < size; ++i) series.add(point(i, static_cast<double>(i) * kGiB));
    const auto report = judge_residency(series, kWeights);
    EXPECT_EQ(report.shape, ResidencyShape::too_few);
    EXPECT_EQ(report.last, static_cast<std::int64_t>(static_cast<double>(size - 1) * kGiB));
  }
  EXPECT_EQ(judge_residency(series_of(5, [](double) { return kGiB; }), kWeights).shape,
            ResidencyShape::flat);
}

TEST(Residency, SmallModelsAndSmallMoves) {
  // A model of 14 MB: all that moves is the heap.
  const auto tiny = judge_residency(
      series_of(300, [](double) { return 100 * kMiB; }, 6 * kMiB), std::int64_t{14'212'736});
  EXPECT_EQ(tiny.shape, ResidencyShape::flat) << tiny.sentence;
  // A slow leak is more than noise in the end.
  const auto leak = judge_residency(
      series_of(5000, [](double w) { return ramp(5 * kGiB, 7 * kGiB, w); }, 5 * kMiB), kWeights);
  EXPECT_EQ(leak.shape, ResidencyShape::rising) << leak.sentence;
}

TEST(Residency, HugeAndSenselessValues) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  ResidencySeries series;
  for (int i = 0; i < 4000; ++i) {
    series.add({Micros{0}, i % 2 == 0 ? kMost : 0, std::nullopt});
    series.add({Micros{kMost}, -5, 1.0});
  }
  for (const std::int64_t weights : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, kMost}) {
    const auto report = judge_residency(series, weights);
    EXPECT_EQ(report.shape, ResidencyShape::oscillating);
    EXPECT_EQ(report.low, 0);
    EXPECT_EQ(report.high, kMost);
  }
}

TEST(Residency, ASeriesOfWeeksStaysSmallAndKeepsItsEnds) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> bytes(1000, 2'000'000);
  ResidencySeries series;
  std::int64_t low = 500;
  for (std::int64_t i = 0; i < 300'000; ++i) {
    std::int64_t resident = bytes(random);
    if (i == 0) resident = 777'777;
    if (i == 777) resident = low;
    if (i == 123'456) resident = 5'000'000;
    series.add({Micros{i}, resident, std::nullopt});
    ASSERT_LE(series.points().size(), ResidencySeries::kMostPoints);
    ASSERT_EQ(series.points().back().since, Micros{i});
    ASSERT_EQ(series.points().front().resident, 777'777);
  }
  const auto report = judge_residency(series, std::nullopt);
  EXPECT_EQ(report.low, low);
  EXPECT_EQ(report.high, 5'000'000);
  EXPECT_GE(series.points().size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(series.points(), {}, &ResidencyPoint::since));
  // No part of the time is left out.
  for (std::size_t i = 1; i < series.points().size(); ++i) {
    EXPECT_LT((series.points()[i].since - series.points()[i - 1].since).count(), 10'000);
  }
}

TEST(Residency, WhatTheBytesBought) {
  ResidencySeries series;
  for (std::size_t i = 0; i < 60; ++i) {
    const bool out = i >= 30;
    series.add(point(i, (out ? 2 : 5) * kGiB, out ? 2.0 : 12.0));
  }
  const auto report = judge_residency(series, kWeights);
  EXPECT_EQ(report.decode_at_high, 12.0);
  EXPECT_EQ(report.decode_at_low, 2.0);
  EXPECT_EQ(report.sentence,
            "Resident memory fell from 5.00 GiB to 2.00 GiB, at most 40% of the 5.00 GiB of "
            "weights on disk; the rest is in a GPU's memory or is read from disk when needed. "
            "Decode was 12.0 tok/s with the most resident and 2.0 tok/s with the least: what was "
            "pushed out had to be read again.");
}

TEST(Residency, SteadyRatesBlameNothing) {
  ResidencySeries series;
  for (std::size_t i = 0; i < 60; ++i) series.add(point(i, (i < 30 ? 5 : 2) * kGiB, 40.0));
  EXPECT_FALSE(judge_residency(series, kWeights).sentence.contains("pushed out"));
}

TEST(Residency, FlatBytesHaveNoRatesToCompare) {
  ResidencySeries series;
  for (std::size_t i = 0; i < 60; ++i) {
    series.add(point(i, 5.5 * kGiB, static_cast<double>(10 + i % 3)));
  }
  const auto report = judge_residency(series, kWeights);
  EXPECT_FALSE(report.decode_at_high);
  EXPECT_FALSE(report.decode_at_low);
  EXPECT_EQ(report.sentence,
            "Resident memory stayed at 5.50 GiB, enough to hold all 5.00 GiB of the weights.");
}

TEST(Residency, OffloadedWeightsAreNoFault) {
  const auto report =
      judge_residency(series_of(50, [](double) { return 0.5 * kGiB; }, kMiB), kWeights);
  for (const char* word : {"fault", "missing", "only", "pushed out", "lost"}) {
    EXPECT_FALSE(report.sentence.contains(word)) << report.sentence;
  }
  EXPECT_TRUE(report.sentence.contains("at most 10% of the 5.00 GiB")) << report.sentence;
}

TEST(Residency, AReloadIsSaidAndManyAreACourse) {
  const auto once = judge_residency(
      series_of(60, [](double w) { return std::abs(w - 0.5) < 0.03 ? 0.1 * kGiB : 5 * kGiB; }),
      kWeights);
  EXPECT_EQ(once.shape, ResidencyShape::plateau) << once.sentence;
  EXPECT_TRUE(once.sentence.contains("fell to almost nothing once")) << once.sentence;
  const auto often = judge_residency(
      series_of(120, [](double w) { return std::fmod(w * 6, 1.0) < 0.2 ? 0.1 * kGiB : 5 * kGiB; }),
      kWeights);
  EXPECT_EQ(often.shape, ResidencyShape::oscillating) << often.sentence;
}

}  // namespace
}  // namespace picchio
