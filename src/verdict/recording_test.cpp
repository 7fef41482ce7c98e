#include "verdict/recording.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace picchio {
namespace {

constexpr double kIdle = 18;

Micros at(double second) { return Micros(std::llround(second * 1e6)); }

// A card that idles, loads, computes a prompt, generates and goes back: watts over seconds.
double scripted_watts(double t) {
  if (t < 2) return kIdle;
  if (t < 3) return kIdle + 60 * (t - 2);
  if (t < 7) return 340 + 15 * std::sin(3 * t);
  if (t < 17) return 265 + 20 * std::sin(7 * t);
  return kIdle + 20 * std::exp(17 - t);
}

double exact_joules(double from, double to) {
  constexpr int kSteps = 200'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    sum += scripted_watts(from + (to - from) * (i + 0.5) / kSteps);
  }
  return sum * (to - from) / kSteps;
}

struct Script {
  const char* name;
  double counter_step = 0;  // seconds between the counter's moves; 0: it has none
  bool power = true;
  double look = 0.1;  // seconds between looks
  double jitter = 0;  // of a look, at most
};

Telemetry record(const Script& script) {
  Telemetry out;
  out.gpus.resize(1);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(-script.jitter, script.jitter);
  std::vector<double> energy = {1000};  // at each move of the counter
  for (double t = 0.037; t < 20; t += script.look) {
    const double now = t + jitter(random);
    GpuSample sample{at(now), {GpuReading{}}};
    if (script.power) sample.readings[0].power_watts = scripted_watts(now);
    if (script.counter_step > 0) {
      const auto moves = static_cast<std::size_t>(now / script.counter_step);
      while (energy.size() <= moves) {
        const double from = script.counter_step * static_cast<double>(energy.size() - 1);
        double sum = 0;
        for (int i = 0; i < 50; ++i) {
          sum += scripted_watts(from + script.counter_step * (i + 0.5) / 50);
        }
        energy.push_back(energy.back() + sum * script.counter_step / 50);
      }
      sample.readings[0].energy_joules = energy[moves];
    }
    out.samples.push_back(std::move(sample));
  }
  return out;
}

class EnergyOfAPhase : public testing::TestWithParam<Script> {};

TEST_P(EnergyOfAPhase, IsWithinOnePercentOfTheIntegral) {
  const Telemetry telemetry = record(GetParam());
  for (const auto& [begin, end] : {std::pair{3.0, 7.0}, std::pair{7.0, 17.0}, std::pair{2.5, 12.25},
                                   std::pair{4.111, 6.789}}) {
    const auto energy = energy_of(telemetry, 0, {at(begin), at(end)});
    ASSERT_TRUE(energy) << begin;
    EXPECT_EQ(energy->from_counter, GetParam().counter_step > 0);
    const double exact = exact_joules(begin, end);
    EXPECT_NEAR(energy->joules, exact, exact / 100) << begin << " to " << end;
  }
}

const Script kScripts[] = {
    {.name = "CounterAsFineAsTheLooks", .counter_step = 0.1},
    {.name = "CounterFinerThanTheLooks", .counter_step = 0.02},
    {.name = "CounterWithJitter", .counter_step = 0.1, .jitter = 0.03},
    {.name = "CounterAlone", .counter_step = 0.1, .power = false},
    {.name = "CounterSeenAtFourHertz", .counter_step = 0.1, .look = 0.25},
    {.name = "PowerAlone"},
    {.name = "PowerWithJitter", .jitter = 0.03},
};

template <class Row>
std::string name_of_row(const testing::TestParamInfo<Row>& row) {
  return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(Recording, EnergyOfAPhase, testing::ValuesIn(kScripts),
                         name_of_row<Script>);

struct Spoiled {
  const char* name;
  std::function<void(Telemetry&)> spoil;
};

class CounterThatLies : public testing::TestWithParam<Spoiled> {};

TEST_P(CounterThatLies, GivesWayToThePowerReadings) {
  Telemetry telemetry = record({.name = "", .counter_step = 0.1});
  GetParam().spoil(telemetry);
  const auto energy = energy_of(telemetry, 0, {at(7), at(17)});
  ASSERT_TRUE(energy);
  EXPECT_FALSE(energy->from_counter);
  EXPECT_NEAR(energy->joules, exact_joules(7, 17), exact_joules(7, 17) / 100);
}

void change_counter(Telemetry& telemetry, const std::function<double(double, double)>& change) {
  for (GpuSample& sample : telemetry.samples) {
    double& joules = *sample.readings[0].energy_joules;
    joules = change(joules, seconds(sample.at));
  }
}

const Spoiled kSpoiled[] = {
    {"Stuck", [](Telemetry& t) { change_counter(t, [](double, double) { return 1000.0; }); }},
    {"SetBack",
     [](Telemetry& t) {
       change_counter(t, [](double e, double s) { return s > 12 ? e - 3000 : e; });
     }},
    {"InAnotherUnit",
     [](Telemetry& t) { change_counter(t, [](double e, double) { return e * 1e3; }); }},
    {"StuckHalfWay",
     [](Telemetry& t) {
       const double held = *t.samples[120].readings[0].energy_joules;
       change_counter(t, [&](double e, double) { return std::min(e, held); });
     }},
};

INSTANTIATE_TEST_SUITE_P(Recording, CounterThatLies, testing::ValuesIn(kSpoiled),
                         name_of_row<Spoiled>);

TEST(Energy, IsAbsentWhereNothingCoversTheSpan) {
  const Telemetry telemetry = record({.name = "", .counter_step = 0});
  EXPECT_FALSE(energy_of(telemetry, 0, {at(-5), at(3)}));
  EXPECT_FALSE(energy_of(telemetry, 0, {at(15), at(40)}));
  EXPECT_FALSE(energy_of(telemetry, 0, {at(7), at(7)}));
  EXPECT_FALSE(energy_of(telemetry, 1, {at(3), at(7)}));  // there is no such GPU
  EXPECT_FALSE(energy_of({}, 0, {at(3), at(7)}));
  Telemetry hole = record({.name = "", .counter_step = 0});
  std::erase_if(hole.samples, [](const GpuSample& s) { return s.at > at(8) && s.at < at(14); });
  EXPECT_FALSE(energy_of(hole, 0, {at(7), at(17)}));
}

TEST(Stretch, TakesOnlyTheLooksWithinItsSpans) {
  Telemetry telemetry;
  telemetry.gpus.resize(2);
  for (int i = 0; i < 10; ++i) {
    GpuReading first;
    first.busy_percent = i * 10;
    first.memory_bytes = i * 100;
    first.throttling = Throttling{.power_cap = true, .thermal = i == 3, .hardware = false};
    GpuReading second;
    if (i == 4) second.lost = "GPU is lost";
    if (i == 5) second.asleep = true;
    telemetry.samples.push_back({at(i), {first, second}});
  }
  const std::array spans = {TimeSpan{at(2), at(3.5)}, TimeSpan{at(6), at(6)}};
  const Stretch stretch = stretch_of(telemetry, 0, spans);
  EXPECT_EQ(stretch.samples, 3);
  EXPECT_EQ(stretch.busy_median, 30);
  EXPECT_EQ(stretch.busy_peak, 60);
  EXPECT_EQ(stretch.memory_median, 300);
  EXPECT_EQ(stretch.memory_peak, 600);
  EXPECT_EQ(stretch.watts_median, std::nullopt);
  EXPECT_EQ(stretch.throttled, 1);
  EXPECT_EQ(stretch.power_capped, 3);
  const std::array all = {TimeSpan{at(0), at(9)}};
  const Stretch other = stretch_of(telemetry, 1, all);
  EXPECT_EQ(other.samples, 8);
  EXPECT_EQ(other.asleep, 1);
  EXPECT_EQ(other.lost, "GPU is lost");
  EXPECT_EQ(other.busy_median, std::nullopt);
  EXPECT_EQ(stretch_of(telemetry, 7, all).samples, 0);
}

GpuProcessUse use(int pid, std::optional<double> GpuProcessUse::* figure = nullptr,
                  double value = 0) {
  GpuProcessUse out;
  out.pid = pid;
  if (figure != nullptr) out.*figure = value;
  return out;
}

ProcessSample look(double second, std::vector<GpuProcessUse> use) {
  return {at(second), std::move(use)};
}

TEST(TreeShare, AddsUpTheSecondsOfProcessesThatCameAndWent) {
  Telemetry telemetry;
  telemetry.gpus.resize(1);
  for (int i = 0; i <= 10; ++i) {
    std::vector<GpuProcessUse> all;
    if (i <= 5) all.push_back(use(1, &GpuProcessUse::gpu_seconds, i * 0.5));
    if (i >= 5) all.push_back(use(2, &GpuProcessUse::gpu_seconds, (i - 5) * 0.25));
    telemetry.processes.push_back(look(i, all));
  }
  const auto share = [&](double from, double to) {
    const std::array span = {TimeSpan{at(from), at(to)}};
    return tree_share(telemetry, 0, span).value_or(-1);
  };
  EXPECT_NEAR(share(0, 5), 0.5, 1e-9);
  EXPECT_NEAR(share(5, 10), 0.25, 1e-9);
  EXPECT_NEAR(share(0, 10), 0.375, 1e-9);
}

TEST(TreeShare, IsAMeanOfPercentagesWhereThereIsNoCounter) {
  Telemetry telemetry;
  telemetry.gpus.resize(1);
  telemetry.processes = {
      look(1, {use(1, &GpuProcessUse::busy_percent, 80), use(2, &GpuProcessUse::busy_percent, 40)}),
      look(2, {use(1, &GpuProcessUse::busy_percent, 50)}), look(3, {use(1)})};
  const std::array span = {TimeSpan{at(0), at(9)}};
  EXPECT_EQ(tree_share(telemetry, 0, span), 0.75);  // the third look told nothing
}

TEST(TreeShare, IsZeroOnlyWhereTheMeterWouldHaveTold) {
  const std::array span = {TimeSpan{at(0), at(9)}};
  Telemetry telemetry;
  telemetry.gpus.resize(1);
  EXPECT_EQ(tree_share(telemetry, 0, span), std::nullopt);  // nobody asked
  EXPECT_EQ(tree_memory(telemetry, 0, span), std::nullopt);
  telemetry.processes = {look(1, {}), look(2, {})};
  EXPECT_EQ(tree_share(telemetry, 0, span), 0);
  EXPECT_EQ(tree_memory(telemetry, 0, span), 0);
  telemetry.gpus[0].missing = {{GpuFigure::process_busy, "MIG is on"}};
  EXPECT_EQ(tree_share(telemetry, 0, span), std::nullopt);
  EXPECT_EQ(tree_memory(telemetry, 0, span), 0);
  telemetry.processes[1].use = {use(1)};
  telemetry.processes[1].use[0].memory_bytes = 700;
  telemetry.processes[1].use[0].evicted_bytes = 30;
  EXPECT_EQ(tree_memory(telemetry, 0, span), 700);
  EXPECT_EQ(tree_evicted(telemetry, 0, span), 30);
  // It has a context there, and how busy that is the driver did not say.
  telemetry.gpus[0].missing.clear();
  EXPECT_EQ(tree_share(telemetry, 0, span), std::nullopt);
}

}  // namespace
}  // namespace picchio
