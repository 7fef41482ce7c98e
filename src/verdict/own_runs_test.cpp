#include "verdict/own_runs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace picchio {
namespace {

constexpr double kMega = 1e6;

/// Of a machine that reads `gb_per_s` and multiplies `weights` thousand million a second.
struct MadeUp {
  double gb_per_s = 15;
  double weights = 50;
  double besides = 0;

  [[nodiscard]] OwnRun run(const std::string& model, double megabytes, double mega_weights,
                           double times = 1) const {
    OwnRun out;
    out.model = model;
    out.bytes_per_token = std::llround(megabytes * kMega);
    out.weights_per_token = out.prompt_weights = std::llround(mega_weights * kMega);
    out.main_type = "q4_K";
    const double seconds =
        besides + megabytes * kMega / (gb_per_s * 1e9) + mega_weights * kMega / (weights * 1e9);
    out.decode = times / seconds;
    out.prefill = times * 100e9 / (mega_weights * kMega);
    return out;
  }
};

double forecast(const FittedSpeed& speed, const OwnRun& run) {
  return 1 / speed.seconds(run.bytes_per_token, run.weights_per_token);
}

double error_of(const FittedSpeed& speed, const OwnRun& run) {
  return std::fabs(forecast(speed, run) / run.decode.value_or(0) - 1);
}

TEST(OwnRuns, NoneTellNothing) {
  EXPECT_FALSE(fit_decode({}, MemoryKind::cpu));
  const std::vector<OwnRun> without_rate = {
      {.model = "a", .bytes_per_token = 1000, .weights_per_token = 1000}};
  EXPECT_FALSE(fit_decode(without_rate, MemoryKind::cpu));
  EXPECT_FALSE(fit_prefill(without_rate, ""));
  std::vector<OwnRun> nothing_read = {MadeUp{}.run("a", 0, 0)};
  nothing_read.front().decode = 10;
  EXPECT_FALSE(fit_decode(nothing_read, MemoryKind::cpu));
}

TEST(OwnRuns, OneRunIsMetAndItsQuantTellsTheOthersAsUsual) {
  const MadeUp machine;
  const std::vector<OwnRun> runs = {machine.run("q4", 275, 455)};
  const auto speed = fit_decode(runs, MemoryKind::cpu);
  ASSERT_TRUE(speed);
  EXPECT_NEAR(forecast(*speed, runs.front()), *runs.front().decode, 0.01);
  EXPECT_NEAR(speed->seconds_per_weight / speed->seconds_per_byte, 0.25, 0.01);
  EXPECT_EQ(speed->error, kUsualError);
  EXPECT_EQ(speed->runs, 1U);
  EXPECT_EQ(speed->models, 1U);
}

// What really was measured, tokens per second: two cores of a server's CPU, llama.cpp b11669.
// Megabytes and million weights that a token reads.
const std::vector<OwnRun> kMeasured = [] {
  struct Row {
    const char* model;
    double megabytes;
    double weights;
    double decode;
  };
  constexpr Row kRows[] = {
      {"270m Q4_0", 234.9, 268.1, 52.78},    {"270m Q4_K_M", 246.6, 268.1, 45.45},
      {"270m Q8_0", 285.0, 268.1, 44.36},    {"270m F16", 536.3, 268.1, 23.39},
      {"460m Q4_K_M", 274.0, 455.4, 39.11},  {"760m Q4_0", 427.5, 758.2, 25.38},
      {"760m Q4_K_M", 455.6, 758.2, 22.51},  {"760m Q6_K", 622.2, 758.2, 18.54},
      {"760m Q8_0", 805.8, 758.2, 14.74},    {"760m F16", 1516.5, 758.2, 8.81},
      {"2.5b Q4_K_M", 1498.3, 2496.3, 7.16}, {"2.5b Q8_0", 2652.7, 2496.3, 4.81},
  };
  std::vector<OwnRun> out;
  for (const Row& row : kRows) {
    OwnRun run = MadeUp{}.run(row.model, row.megabytes, row.weights);
    run.decode = row.decode;
    out.push_back(run);
  }
  return out;
}();

std::string size_of(const OwnRun& run) { return run.model.substr(0, run.model.find(' ')); }
std::string quant_of(const OwnRun& run) { return run.model.substr(run.model.find(' ') + 1); }

// Any two of them forecast every third of another size and quant.
TEST(OwnRuns, TwoRunsForecastAThirdOfAnotherSizeAndQuant) {
  int cases = 0;
  for (std::size_t i = 0; i < kMeasured.size(); ++i) {
    for (std::size_t j = i + 1; j < kMeasured.size(); ++j) {
      const std::vector<OwnRun> runs = {kMeasured[i], kMeasured[j]};
      const auto speed = fit_decode(runs, MemoryKind::cpu);
      ASSERT_TRUE(speed);
      for (const OwnRun& third : kMeasured) {
        const bool alike =
            size_of(third) == size_of(runs[0]) || size_of(third) == size_of(runs[1]) ||
            quant_of(third) == quant_of(runs[0]) || quant_of(third) == quant_of(runs[1]);
        if (alike) continue;
        ++cases;
        EXPECT_LT(error_of(*speed, third), kUsualError)
            << runs[0].model << ", " << runs[1].model << " -> " << third.model;
      }
    }
  }
  EXPECT_GT(cases, 100);
}

TEST(OwnRuns, ManyRunsTellTheirError) {
  const auto speed = fit_decode(kMeasured, MemoryKind::cpu);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->models, kMeasured.size());
  EXPECT_LE(speed->error, 0.1);
  EXPECT_GE(speed->error, kLeastError);
  for (const OwnRun& run : kMeasured) EXPECT_LT(error_of(*speed, run), 0.1) << run.model;
}

// The same CPU with 800 tokens in the cache: 460 million weights with heads of 32, 64 and 128
// numbers, and the 270M model with heads of 256 that mostly see 512 tokens.
TEST(OwnRuns, AttentionCostsItsProducts) {
  const auto speed = fit_decode(kMeasured, MemoryKind::cpu);
  ASSERT_TRUE(speed);
  const struct {
    double megabytes;
    double weights;
    double products;
    double measured;  // tokens per second
  } cases[] = {
      {313.3, 455.4, 614'400.0 * 640, 14.16},
      {313.3, 455.4, 307'200.0 * 128, 29.16},
      {313.3, 455.4, 153'600.0 * 256, 31.79},
      {256.9, 268.1, 40'320.0 * 512, 41.57},
  };
  for (const auto& each : cases) {
    const double seconds =
        speed->seconds(std::llround(each.megabytes * kMega), std::llround(each.weights * kMega),
                       std::llround(each.products));
    EXPECT_NEAR(1 / seconds / each.measured, 1, 0.1) << each.measured;
  }
}

TEST(OwnRuns, AMachineThatOnlyReadsIsFoundOut) {
  const MadeUp machine{.gb_per_s = 60, .weights = 1e9};
  const std::vector<OwnRun> runs = {machine.run("a", 4000, 7000), machine.run("b", 7500, 7000),
                                    machine.run("c", 14000, 7000), machine.run("d", 1000, 1700)};
  const auto speed = fit_decode(runs, MemoryKind::cpu);
  ASSERT_TRUE(speed);
  for (const OwnRun& run : runs) EXPECT_LT(error_of(*speed, run), 0.03) << run.model;
}

TEST(OwnRuns, OneOutlierOfFiveBendsNothing) {
  const MadeUp machine;
  std::vector<OwnRun> runs = {machine.run("a", 300, 500), machine.run("b", 800, 750),
                              machine.run("c", 500, 270), machine.run("d", 1500, 2500)};
  runs.push_back(machine.run("disturbed", 400, 700, 0.1));
  const auto speed = fit_decode(runs, MemoryKind::cpu);
  ASSERT_TRUE(speed);
  const OwnRun other = machine.run("e", 2600, 2500);
  EXPECT_LT(error_of(*speed, other), 0.08);
  EXPECT_LT(speed->error, 0.15);
}

TEST(OwnRuns, OfOneModelTheFastestRunCounts) {
  const MadeUp machine;
  const std::vector<OwnRun> runs = {machine.run("a", 300, 500, 0.5), machine.run("a", 300, 500),
                                    machine.run("a", 300, 500), machine.run("b", 800, 750)};
  const auto speed = fit_decode(runs, MemoryKind::cpu);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->runs, 4U);
  EXPECT_EQ(speed->models, 2U);
  EXPECT_LT(error_of(*speed, runs.back()), 0.05);
}

TEST(OwnRuns, AGpuLaunchesAndReads) {
  const MadeUp machine{.gb_per_s = 800, .weights = 1e9, .besides = 0.0015};
  const std::vector<OwnRun> runs = {machine.run("a", 1000, 1700), machine.run("b", 8000, 7000),
                                    machine.run("c", 4500, 8000)};
  const auto speed = fit_decode(runs, MemoryKind::gpu);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->seconds_per_weight, 0);
  EXPECT_NEAR(speed->seconds_besides, 0.0015, 0.0003);
  EXPECT_LT(error_of(*speed, machine.run("d", 20000, 35000)), 0.05);
}

TEST(OwnRuns, APromptIsForecastFromModelsOfItsTypeOnly) {
  std::vector<OwnRun> runs = {MadeUp{}.run("a", 300, 500)};
  const auto speed = fit_prefill(runs, "q4_K");
  ASSERT_TRUE(speed);
  EXPECT_NEAR(1 / speed->seconds(123, std::int64_t{1} << 30), 100e9 / (1 << 30), 0.01);
  EXPECT_EQ(speed->error, kUsualPromptError);
  EXPECT_FALSE(fit_prefill(runs, "q8_0"));
  runs.front().prefill.reset();
  EXPECT_FALSE(fit_prefill(runs, "q4_K"));
}

RunFigures cpu_run() {
  RunFigures out;
  out.state = State::cpu_only_machine;
  out.placement.devices = {{"host", 1e9, ""}};
  out.placement.gpu_share = 0;
  out.placement.kv = "cpu";
  out.cpu = {1.9, 2, 2};
  LaneFigures& decode = out.lane(Lane::decode);
  decode.warm.value = 20;
  decode.low = 19.5;
  decode.high = 20.5;
  return out;
}

RunFigures gpu_run() {
  RunFigures out = cpu_run();
  out.state = State::healthy;
  out.placement.devices = {{"CUDA0", 1e9, ""}, {"host", 1e8, "embedding"}};
  out.placement.gpu_share = 1;
  out.placement.kv = "gpu";
  out.placement.device = "GeForce RTX 4090";
  out.cpu.busy_cores = 0.5;
  return out;
}

TEST(OnlyMemory, OfACpuAndOfAGpu) {
  EXPECT_EQ(only_memory(cpu_run()), "");
  EXPECT_EQ(only_memory(gpu_run()), "GeForce RTX 4090");
}

struct Changed {
  const char* what;
  bool gpu;
  std::function<void(RunFigures&)> change;
};

const std::vector<Changed> kTellsNothing = {
    {"no account of bytes", false, [](RunFigures& run) { run.placement.devices.clear(); }},
    {"no verdict", false, [](RunFigures& run) { run.state.reset(); }},
    {"witnesses that disagree", true,
     [](RunFigures& run) { run.state = State::conflicting_evidence; }},
    {"no times", false, [](RunFigures& run) { run.state = State::no_timing_evidence; }},
    {"throttled", true, [](RunFigures& run) { run.meter.throttled = true; }},
    {"short of its cores", false, [](RunFigures& run) { run.cpu.busy_cores = 1.2; }},
    {"passes apart", false, [](RunFigures& run) { run.lane(Lane::decode).low = 12; }},
    {"threads of the user's", false, [](RunFigures& run) { run.placement.arguments = "-t 4"; }},
    {"speculation", true, [](RunFigures& run) { run.placement.arguments = "-md d.gguf"; }},
    {"a cache elsewhere", false, [](RunFigures& run) { run.placement.kv = "gpu"; }},
    {"a cache on the host", true, [](RunFigures& run) { run.placement.kv = "cpu"; }},
    {"two memories", true, [](RunFigures& run) { run.placement.gpu_share = 0.6; }},
    {"two cards", true, [](RunFigures& run) { run.placement.device_count = 2; }},
    {"two kinds of cards", true,
     [](RunFigures& run) { run.placement.devices.push_back({"CUDA1", 1e9, ""}); }},
    {"a card without a name", true, [](RunFigures& run) { run.placement.device.clear(); }},
    {"a software device is neither", false,
     [](RunFigures& run) { run.placement.devices.push_back({"Vulkan0", 1e9, "software"}); }},
    {"another machine", false,
     [](RunFigures& run) { run.placement.devices.push_back({"RPC0", 1e9, "remote"}); }},
};

TEST(OnlyMemory, NoneOfARunThatTellsNothing) {
  for (const Changed& each : kTellsNothing) {
    RunFigures run = each.gpu ? gpu_run() : cpu_run();
    each.change(run);
    EXPECT_FALSE(only_memory(run)) << each.what;
  }
}

TEST(OnlyMemory, ArgumentsThatChangeNoSpeed) {
  for (const char* arguments : {"-ngl 99", "-c 8192", "--device none", "-ctk q8_0 -ctv q8_0"}) {
    RunFigures run = cpu_run();
    run.placement.arguments = arguments;
    EXPECT_TRUE(only_memory(run)) << arguments;
  }
}

}  // namespace
}  // namespace picchio
