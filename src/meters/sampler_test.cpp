// The set of meters and the thread that reads them, on meters made up here.
#include "meters/sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>

namespace picchio::meters {
namespace {

/// Counts its looks; device i is `i` percent busy.
class MadeUp : public Meter {
 public:
  MadeUp(std::string name, std::vector<std::string> addresses, std::atomic<int>* looks)
      : looks_(looks) {
    for (std::string& address : addresses) {
      MeteredGpu gpu;
      gpu.meter = name;
      gpu.index = static_cast<int>(gpus_.size());
      gpu.address = std::move(address);
      gpus_.push_back(std::move(gpu));
    }
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return gpus_; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    ++*looks_;
    std::vector<GpuReading> out(gpus_.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i].busy_percent = static_cast<double>(i);
    return out;
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(std::span<const int> pids) override {
    if (gpus_.front().meter == "mute") return fail(ErrorKind::denied, "needs the same user");
    std::vector<GpuProcessUse> out;
    for (const int pid : pids) {
      GpuProcessUse use;
      use.pid = pid;
      use.device = static_cast<int>(gpus_.size()) - 1;
      out.push_back(use);
    }
    return out;
  }

 private:
  std::vector<MeteredGpu> gpus_;
  std::atomic<int>* looks_;
};

std::atomic<int> looks{0};

Result<std::unique_ptr<Meter>> first(const Place&) {
  return std::make_unique<MadeUp>("first", std::vector<std::string>{"0000:01:00.0", ""}, &looks);
}
Result<std::unique_ptr<Meter>> second(const Place&) {
  return std::make_unique<MadeUp>(
      "second", std::vector<std::string>{"0000:01:00.0", "0000:02:00.0", ""}, &looks);
}
Result<std::unique_ptr<Meter>> mute(const Place&) {
  return std::make_unique<MadeUp>("mute", std::vector<std::string>{"0000:09:00.0"}, &looks);
}
Result<std::unique_ptr<Meter>> absent(const Place&) {
  return fail(ErrorKind::not_found, "no such card");
}
Result<std::unique_ptr<Meter>> broken(const Place&) {
  return fail(ErrorKind::failed, "driver and library do not match");
}

TEST(MeterSet, ACardThatTwoMetersKnowIsTheFirstOnes) {
  const Candidate from[] = {{"first", first}, {"second", second}};
  MeterSet set = MeterSet::open({}, from);
  ASSERT_EQ(set.gpus().size(), 4U);  // without an address nobody can tell whether it is the same
  EXPECT_EQ(set.gpus()[0].meter, "first");
  EXPECT_EQ(set.gpus()[2].meter, "second");
  EXPECT_EQ(set.gpus()[2].address, "0000:02:00.0");
  EXPECT_EQ(set.gpus()[2].index, 2);
  const auto readings = set.sample();
  ASSERT_EQ(readings.size(), 4U);
  EXPECT_EQ(readings[1].busy_percent, 1.0);
  EXPECT_EQ(readings[2].busy_percent, 1.0);
  EXPECT_EQ(readings[3].busy_percent, 2.0);
}

TEST(MeterSet, WhatIsMissingIsNewsOnlyWhereItShouldBeThere) {
  const Candidate from[] = {{"absent", absent}, {"broken", broken}};
  const MeterSet set = MeterSet::open({}, from);
  EXPECT_TRUE(set.gpus().empty());
  EXPECT_EQ(set.news(), std::vector<std::string>{"driver and library do not match"});
}

TEST(MeterSet, ProcessesOfAllMetersWithTheReasonOfTheOneThatCannotTell) {
  const Candidate from[] = {{"mute", mute}, {"second", second}};
  MeterSet set = MeterSet::open({}, from);
  const int pids[] = {42};
  std::vector<std::string> reasons;
  const auto use = set.process_use(pids, &reasons);
  (void)set.process_use(pids, &reasons);
  EXPECT_EQ(reasons, std::vector<std::string>{"needs the same user"});
  ASSERT_EQ(use.size(), 1U);
  EXPECT_EQ(use[0].pid, 42);
  EXPECT_EQ(set.gpus()[static_cast<std::size_t>(use[0].device)].meter, "second");
}

TEST(Sampler, RecordsUntilItIsStopped) {
  const Candidate from[] = {{"second", second}};
  Sampler sampler(MeterSet::open({}, from), {.hz = 500, .process_hz = 500},
                  [] { return std::vector<int>{7}; });
  while (sampler.so_far().samples.size() < 5) std::this_thread::yield();
  const Telemetry told = sampler.stop();
  EXPECT_EQ(told.gpus.size(), 3U);
  EXPECT_EQ(told.hz, 500);
  EXPECT_TRUE(told.none_because.empty());
  EXPECT_FALSE(told.processes.empty());
  for (std::size_t i = 1; i < told.samples.size(); ++i) {
    EXPECT_LE(told.samples[i - 1].at, told.samples[i].at);
  }
  const int before = looks;
  EXPECT_EQ(sampler.stop().samples.size(), told.samples.size());
  EXPECT_EQ(looks, before);
}

TEST(Sampler, WithoutAMeterItSaysSoAndTakesNoTime) {
  const Candidate none[] = {{"absent", absent}};
  Sampler quiet(MeterSet::open({}, none), {}, {});
  EXPECT_EQ(quiet.stop().none_because, "no GPU meter on this machine");
  const Candidate bad[] = {{"broken", broken}};
  Sampler news(MeterSet::open({}, bad), {}, {});
  EXPECT_EQ(news.stop().none_because, "driver and library do not match");
}

TEST(Sampler, MemoryIsBoundedByHalvingTheRate) {
  std::vector<GpuSample> samples;
  for (int i = 0; i < 11; ++i) samples.push_back({Micros(i), {}});
  EXPECT_FALSE(halve_when_full(samples, 11));
  EXPECT_TRUE(halve_when_full(samples, 10));
  ASSERT_EQ(samples.size(), 6U);
  EXPECT_EQ(samples[1].at, Micros(2));
  EXPECT_EQ(samples.back().at, Micros(10));
}

TEST(Sampler, HalvingLeavesTheFirstSampleWhole) {
  std::vector<GpuSample> samples;
  for (int i = 0; i < 4; ++i) samples.push_back({Micros(i), std::vector<GpuReading>(2)});
  EXPECT_TRUE(halve_when_full(samples, 3));
  for (const GpuSample& sample : samples) EXPECT_EQ(sample.readings.size(), 2U);
}

TEST(Sampler, TheRecentPartIsTheEndOfAll) {
  const Candidate from[] = {{"first", first}};
  Sampler sampler(MeterSet::open({}, from), {.hz = 1000, .process_hz = 1000},
                  [] { return std::vector<int>{1}; });
  while (sampler.so_far().samples.size() < 20) std::this_thread::yield();
  const Telemetry recent = sampler.recent(std::chrono::milliseconds(5));
  const Telemetry all = sampler.stop();
  EXPECT_EQ(recent.gpus.size(), all.gpus.size());
  EXPECT_EQ(recent.hz, all.hz);
  ASSERT_FALSE(recent.samples.empty());
  ASSERT_FALSE(recent.processes.empty());
  EXPECT_LT(recent.samples.size(), all.samples.size());
  EXPECT_LE(recent.samples.back().at - recent.samples.front().at, std::chrono::milliseconds(5));
  EXPECT_TRUE(sampler.recent(std::chrono::hours(1)).samples.front().at == all.samples.front().at);
}

TEST(Sampler, EndlessRecordingsKeepTheLatestAtTheFullRate) {
  std::vector<GpuSample> samples;
  for (int i = 0; i < 11; ++i) samples.push_back({Micros(i), {}});
  forget_when_full(samples, 11);
  EXPECT_EQ(samples.size(), 11U);
  forget_when_full(samples, 10);
  ASSERT_EQ(samples.size(), 5U);
  EXPECT_EQ(samples.front().at, Micros(6));
  EXPECT_EQ(samples.back().at, Micros(10));

  const Candidate from[] = {{"first", first}};
  Sampler sampler(MeterSet::open({}, from),
                  {.hz = 2000, .process_hz = 1, .most = 8, .latest = true}, {});
  const auto begun = [&] {
    const Telemetry told = sampler.so_far();
    return !told.samples.empty() && told.samples.front().at > std::chrono::milliseconds(20);
  };
  while (!begun()) std::this_thread::yield();
  const Telemetry told = sampler.stop();
  EXPECT_LE(told.samples.size(), 8U);
  EXPECT_EQ(told.halvings, 0);
}

TEST(Sampler, LongRecordingsHoldNoMoreThanTheBound) {
  const Candidate from[] = {{"first", first}};
  Sampler sampler(MeterSet::open({}, from), {.hz = 2000, .process_hz = 1, .most = 8}, {});
  while (sampler.so_far().halvings < 3) std::this_thread::yield();
  const Telemetry told = sampler.stop();
  EXPECT_LE(told.samples.size(), 8U);
  EXPECT_GE(told.halvings, 3);
}

}  // namespace
}  // namespace picchio::meters
