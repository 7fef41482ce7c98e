#include "verdict/lanes.h"

#include "verdict/test_values.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

using namespace test;

EngineLog timed(EngineTimings t) {
  EngineLog log = full_cuda();
  t.line = 3;
  log.timings.push_back(t);
  return log;
}

TEST(Lanes, RatesOfEveryLaneAndWarmMedians) {
  std::vector<EngineLog> logs = {timed(timings(500, 18)), timed(timings(600, 22)),
                                 timed(timings(590, 20)), timed(timings(610, 21))};
  const picchio::Run run = assemble(raw_run(4), logs);
  EXPECT_NEAR(run.passes[0].lanes.prefill.value_or(0), 500, 0.01);
  EXPECT_NEAR(run.passes[0].lanes.decode.value_or(0), 18, 0.01);
  EXPECT_NEAR(run.passes[0].lanes.wallclock.value_or(0), 12.8, 0.01);
  EXPECT_NEAR(run.warm_decode.median.value_or(0), 21, 0.01);
  EXPECT_NEAR(run.warm_decode.low.value_or(0), 20, 0.01);
  EXPECT_NEAR(run.warm_decode.high.value_or(0), 22, 0.01);
  EXPECT_NEAR(run.warm_prefill.median.value_or(0), 600, 0.01);
  EXPECT_EQ(run.placement.shape, Shape::gpu);
  EXPECT_TRUE(run.disagreement.empty());
  EXPECT_TRUE(run.passes[0].remarks.empty());
}

TEST(Lanes, OnePassHasNoWarmFigures) {
  const picchio::Run run = assemble(raw_run(1), {timed(timings())});
  EXPECT_FALSE(run.warm_decode.median);
  EXPECT_FALSE(run.warm_wallclock.median);
  EXPECT_TRUE(run.passes[0].lanes.decode);
}

TEST(Lanes, NothingReadIsAbsentNotZero) {
  const picchio::Run run = assemble(raw_run(2), {});
  ASSERT_EQ(run.passes.size(), 2u);
  EXPECT_FALSE(run.passes[0].lanes.decode);
  EXPECT_FALSE(run.passes[0].lanes.wallclock);
  EXPECT_FALSE(run.passes[0].load_seconds);
  EXPECT_FALSE(run.warm_decode.median);
  EXPECT_EQ(run.placement.shape, Shape::unknown);
  EXPECT_TRUE(assemble(RawRun{}, {}).passes.empty());
}

TEST(Lanes, WhatSpoilsALaneIsNamedAndAbstains) {
  EngineLog cached = timed(timings());
  cached.prompt_tokens_cached = 700;
  const EngineLog few = timed(timings(600, 20, 730, 30));
  const EngineLog fewer = timed(timings(600, 20, 730, 100));
  EngineLog truncated = timed(timings());
  truncated.loads.back().n_ctx = 512;
  const EngineLog shorter = timed(timings(600, 20, 12));
  const EngineLog good = timed(timings());
  struct Case {
    const char* name;
    EngineLog log;
    bool prefill, decode, wallclock;  // abstain
  };
  for (const Case& c :
       {Case{"good", good, false, false, false}, Case{"cached", cached, true, false, false},
        Case{"31 of 128", few, false, true, true}, Case{"101 of 128", fewer, false, false, true},
        Case{"truncated", truncated, true, false, false},
        Case{"short prompt beside a long one", shorter, true, false, false}}) {
    const picchio::Run run = assemble(raw_run(2), {good, c.log});
    const Lanes& lanes = run.passes[1].lanes;
    EXPECT_EQ(!lanes.prefill_abstain.empty(), c.prefill) << c.name;
    EXPECT_EQ(!lanes.decode_abstain.empty(), c.decode) << c.name;
    EXPECT_EQ(!lanes.wallclock_abstain.empty(), c.wallclock) << c.name;
    EXPECT_EQ(run.passes[1].remarks.empty(), !(c.prefill || c.decode || c.wallclock)) << c.name;
    EXPECT_EQ(run.warm_prefill.median.has_value(), !c.prefill) << c.name;
    EXPECT_EQ(run.warm_prefill.abstain, lanes.prefill_abstain) << c.name;
  }
}

TEST(Lanes, AFirstPassTenTimesOffAbstains) {
  const std::vector<EngineLog> logs = {timed(timings(3)), timed(timings(600)), timed(timings(610))};
  const picchio::Run run = assemble(raw_run(3), logs);
  EXPECT_NE(run.passes[0].lanes.prefill_abstain.find("times off"), std::string::npos);
  EXPECT_TRUE(run.passes[0].lanes.decode_abstain.empty());
  const picchio::Run close = assemble(raw_run(2), {timed(timings(100)), timed(timings(600))});
  EXPECT_TRUE(close.passes[0].lanes.prefill_abstain.empty());
}

TEST(Lanes, ClocksApartAreRemarkedOnlyWhereArrivalsTell) {
  RawRun raw = raw_run(1);
  raw.passes[0].first_token = Micros(3'000'000);
  raw.passes[0].last_token = Micros(13'000'000);
  raw.passes[0].stdout_reads = 128;
  const auto remarks = [&](double decode_rate) {
    return assemble(raw, {timed(timings(600, decode_rate))}).passes[0].remarks;
  };
  EXPECT_TRUE(remarks(12.7).empty());
  ASSERT_EQ(remarks(20).size(), 1u);
  EXPECT_NE(remarks(20)[0].find("20.0"), std::string::npos);
  EXPECT_NE(remarks(20)[0].find("12.7"), std::string::npos);
  raw.passes[0].stdout_reads = 3;
  EXPECT_TRUE(remarks(20).empty());
}

TEST(Lanes, WindowsFromArrivalsElseFromTheStampOfTheTimingLine) {
  EngineTimings t = timings(730, 12.7);  // 1 s prefill, 10 s decode
  t.line = 2;
  RawPass raw;
  raw.first_token = Micros(3'000'000);
  raw.last_token = Micros(13'100'000);
  raw.stdout_reads = 128;
  Windows w = windows_of(raw, t);
  EXPECT_EQ(w.prefill_begin, Micros(2'000'000));
  EXPECT_EQ(w.decode_begin, Micros(3'000'000));
  EXPECT_EQ(w.decode_end, Micros(13'100'000));
  raw.stdout_reads = 1;
  raw.line_stamps = {Micros(1), Micros(14'000'000)};
  w = windows_of(raw, t);
  EXPECT_EQ(w.decode_end, Micros(14'000'000));
  EXPECT_EQ(w.decode_begin, Micros(4'000'000));
  EXPECT_EQ(w.prefill_begin, Micros(3'000'000));
  raw.line_stamps.clear();
  EXPECT_FALSE(windows_of(raw, t).decode_begin);
}

TEST(Lanes, CoresBusyByInterpolation) {
  std::vector<CpuSample> samples;
  // One core for two seconds, then four.
  for (int i = 0; i <= 40; ++i) {
    const double at = i * 0.1;
    samples.push_back({Micros(i * 100'000), at <= 2 ? at : 2 + 4 * (at - 2)});
  }
  EXPECT_NEAR(cores_busy(samples, Micros(550'000), Micros(1'850'000)).value_or(0), 1, 1e-6);
  EXPECT_NEAR(cores_busy(samples, Micros(2'000'000), Micros(3'950'000)).value_or(0), 4, 1e-6);
  EXPECT_NEAR(cores_busy(samples, Micros(1'000'000), Micros(3'000'000)).value_or(0), 2.5, 1e-6);
  // A little beyond the last sample is left out, not diluted.
  EXPECT_NEAR(cores_busy(samples, Micros(3'000'000), Micros(4'100'000)).value_or(0), 4, 1e-6);
  EXPECT_FALSE(cores_busy(samples, Micros(1'000'000), Micros(1'050'000)));
  EXPECT_FALSE(cores_busy(samples, Micros(1'000'000), Micros(1'150'000)));
  EXPECT_FALSE(cores_busy(samples, Micros(9'000'000), Micros(9'500'000)));
  EXPECT_FALSE(cores_busy({}, Micros(0), Micros(1'000'000)));
}

TEST(Lanes, LoadTimeEndsWhereThePromptBegins) {
  RawRun raw = raw_run(1);
  raw.passes[0].first_token = Micros(2'000'000);
  raw.passes[0].last_token = Micros(8'000'000);
  raw.passes[0].stdout_reads = 128;
  const picchio::Run run = assemble(raw, {timed(timings(730, 21))});
  EXPECT_NEAR(run.passes[0].load_seconds.value_or(0), 1.0, 1e-6);
  EXPECT_NEAR(run.passes[0].prefill_seconds.value_or(0), 1.0, 1e-6);
}

TEST(Lanes, PassesThatDifferAreNamedAndOneThatCannotTellIsNot) {
  const EngineLog partial = log_of({weights("CPU", 2000), weights("CUDA0", 6632)}, 30, 41);
  EXPECT_NE(assemble(raw_run(2), {full_cuda(), partial}).disagreement.find("pass 2"),
            std::string::npos);
  EXPECT_FALSE(assemble(raw_run(2), {full_cuda(), cpu_with_card()}).disagreement.empty());
  EXPECT_TRUE(assemble(raw_run(2), {full_cuda(), EngineLog{}}).disagreement.empty());
  const EngineLog little_less = log_of({weights("CPU", 2200), weights("CUDA0", 6432)}, 30, 41);
  EXPECT_FALSE(assemble(raw_run(2), {partial, little_less}).disagreement.empty());
  EXPECT_TRUE(assemble(raw_run(2), {partial, partial}).disagreement.empty());
}

TEST(Lanes, AWorkerOnThisMachineWithoutADriverIsACpu) {
  const EngineLog log =
      log_of({weights("RPC0[127.0.0.1:50052]", 2700), weights("CPU", 170)}, 29, 29);
  RawRun raw = raw_run(1);
  const auto shape = [&](const LocalWorker& worker) {
    raw.passes[0].process.workers = {worker};
    return assemble(raw, {log}).placement.shape;
  };
  EXPECT_EQ(shape({"127.0.0.1:50052", "ggml-rpc-server", {"libggml-cpu.so"}, {}}), Shape::cpu);
  EXPECT_EQ(shape({"127.0.0.1:50052", "ggml-rpc-server", {"libcuda.so.1"}, {"/dev/nvidia0"}}),
            Shape::remote);
  EXPECT_EQ(shape({"127.0.0.1:9999", "ggml-rpc-server", {"libggml-cpu.so"}, {}}), Shape::remote);
}

TEST(Lanes, Notes) {
  RawRun raw = raw_run(1);
  raw.prompt_note = "the context is 512";
  EngineLog log = timed(timings(600, 20, 300));
  log.loads.back().n_ctx = 512;
  const picchio::Run run = assemble(raw, {log});
  EXPECT_EQ(run.context, 512);
  ASSERT_EQ(run.notes.size(), 2u);
  EXPECT_EQ(run.notes[0], "prompt shortened: the context is 512");
  EXPECT_NE(run.notes[1].find("4096"), std::string::npos);
}

}  // namespace
}  // namespace picchio
