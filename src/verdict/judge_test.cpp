#include "verdict/judge.h"

#include "verdict/account.h"
#include "verdict/lanes.h"
#include "verdict/test_values.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace picchio {
namespace {

using namespace test;
using MeasuredRun = picchio::Run;

EngineLog timed(EngineLog log, double prefill = 600, double decode = 20) {
  EngineTimings t = timings(prefill, decode);
  t.line = 1;
  log.timings.push_back(t);
  log.threads = 8;
  return log;
}

MeasuredRun run_of(std::vector<EngineLog> logs, RawRun raw) {
  raw.passes.resize(logs.size());
  for (RawPass& pass : raw.passes) pass.wall = Micros(10'000'000);
  return assemble(std::move(raw), std::move(logs));
}

RawRun with_gpu() { return raw_run(1); }
RawRun without_gpu() {
  RawRun raw = raw_run(1);
  raw.machine.gpus.clear();
  return raw;
}
RawRun unknown_machine() {
  RawRun raw = without_gpu();
  raw.machine.gpus_known = false;
  return raw;
}
RawRun display_adapter_only() {
  RawRun raw = with_gpu();
  raw.machine.gpus[0].can_compute = false;
  return raw;
}

EngineLog software_log() {
  EngineLog log =
      log_of({weights("CPU_Mapped", 308), weights("Vulkan0", 1918), kv("Vulkan0", 448)}, 29, 29);
  log.devices.push_back(
      device("Vulkan0", "llvmpipe (LLVM 22.1.8, 256 bits)", DeviceKind::software));
  return log;
}

EngineLog remote_log(bool cpu) {
  EngineLog log =
      log_of({weights("RPC0[192.0.2.1:50052]", 2700), weights("CPU_Mapped", 170)}, 29, 29);
  if (cpu)
    log.events.push_back(event(LogEventKind::remote_is_cpu, "create_backend: using CPU backend"));
  return log;
}

ModelFile big_model() {
  ModelFile model = header();
  model.tensor_bytes = mib(8632.61);
  model.always_host_bytes = model.token_embd_bytes = mib(281.25);
  model.bytes_per_token = mib(8351);
  return model;
}

struct Case {
  const char* rule;
  State state;
  MeasuredRun run;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  const auto add = [&](const char* rule, State state, MeasuredRun run) {
    out.push_back({rule, state, std::move(run)});
  };
  add("passes-disagree", State::conflicting_evidence,
      run_of({timed(full_cuda()), timed(cpu_with_card())}, with_gpu()));
  add("remote-cpu", State::silent_cpu_fallback, run_of({timed(remote_log(true))}, without_gpu()));
  add("software-device", State::silent_cpu_fallback,
      run_of({timed(software_log())}, without_gpu()));
  add("software-device", State::silent_cpu_fallback, run_of({timed(software_log())}, with_gpu()));
  RawRun modelled = without_gpu();
  modelled.model = big_model();
  add("cpu-too-fast", State::conflicting_evidence, run_of({timed(cpu_log(), 9000, 400)}, modelled));
  add("cpu-only-machine", State::cpu_only_machine, run_of({timed(cpu_log())}, without_gpu()));
  add("cpu-only-machine", State::cpu_only_machine,
      run_of({timed(cpu_log())}, display_adapter_only()));
  EngineLog lying = cpu_log();
  lying.loads.back().claim = LayerClaim{9, 9, 1};
  add("cpu-only-machine", State::cpu_only_machine, run_of({timed(lying)}, without_gpu()));
  add("cpu-only-machine", State::cpu_only_machine, run_of({timed(EngineLog{})}, without_gpu()));
  add("cpu-only-machine", State::no_timing_evidence, run_of({cpu_log()}, without_gpu()));
  add("gpu-stood-by", State::silent_cpu_fallback, run_of({timed(cpu_log())}, with_gpu()));
  add("gpu-stood-by", State::silent_cpu_fallback, run_of({cpu_log()}, with_gpu()));
  add("gpu-stood-by", State::silent_cpu_fallback,
      run_of({timed(cpu_with_card())}, unknown_machine()));
  add("gpu-stood-by", State::silent_cpu_fallback, run_of({timed(cpu_with_card())}, without_gpu()));
  MeasuredRun mute = run_of({timed(EngineLog{})}, with_gpu());
  mute.raw.passes[0].process = process_facts({"libggml-cpu.so"});
  add("gpu-stood-by", State::silent_cpu_fallback, mute);
  add("cpu-inventory-unknown", State::silent_cpu_fallback,
      run_of({timed(cpu_log())}, unknown_machine()));
  add("gpu-not-in-machine", State::conflicting_evidence,
      run_of({timed(full_cuda())}, without_gpu()));
  RawRun other_vendor = with_gpu();
  other_vendor.machine.gpus[0].name = "AMD Radeon RX 7900 XTX";
  other_vendor.machine.gpus[0].vendor = "AMD";
  add("gpu-not-in-machine", State::conflicting_evidence,
      run_of({timed(full_cuda())}, other_vendor));
  RawRun silent_driver = without_gpu();
  silent_driver.telemetry.troubles = {{"driver and library differ", "reboot"}};
  add("cpu-inventory-unknown", State::silent_cpu_fallback,
      run_of({timed(cpu_log())}, silent_driver));
  MeasuredRun closed = run_of({timed(full_cuda())}, with_gpu());
  closed.raw.passes[0].process = process_facts({"libggml-cpu.so"});
  add("process-without-gpu", State::conflicting_evidence, closed);
  MeasuredRun burning = run_of({timed(full_cuda())}, with_gpu());
  burning.passes[0].cpu.decode_cores = 7.8;
  add("cpu-burns", State::conflicting_evidence, burning);
  MeasuredRun clocks = run_of({timed(full_cuda())}, with_gpu());
  clocks.raw.passes[0].first_token = Micros(0);
  clocks.raw.passes[0].last_token = Micros(30'000'000);
  clocks.raw.passes[0].stdout_reads = 128;
  add("clocks-disagree", State::conflicting_evidence, clocks);
  RawRun fast = with_gpu();
  fast.model = big_model();
  add("gpu-too-fast", State::conflicting_evidence, run_of({timed(full_cuda(), 90000, 2000)}, fast));
  add("kv-on-host", State::partial_offload,
      run_of(
          {timed(log_of({weights("CPU", 107), weights("CUDA0", 8694), kv("CPU", 4900)}, 41, 41))},
          with_gpu()));
  EngineLog partial = log_of({weights("CPU", 1720), weights("CUDA0", 2965)}, 22, 33);
  add("weights-on-host", State::partial_offload, run_of({timed(partial)}, with_gpu()));
  add("weights-on-host", State::partial_offload, run_of({partial}, with_gpu()));
  EngineLog forced = full_cuda();
  forced.loads.back().flash_attention = true;
  forced.loads.back().flash_attention_on_cpu = true;
  add("work-bounces", State::partial_offload, run_of({timed(forced)}, with_gpu()));
  add("remote-unseen", State::no_placement_evidence,
      run_of({timed(remote_log(false))}, without_gpu()));
  EngineLog failed = log_of({}, 33, 33);
  failed.loads.back().failure = "unable to allocate CUDA0 buffer";
  add("load-failed", State::no_placement_evidence, run_of({failed}, with_gpu()));
  add("no-rates", State::no_timing_evidence, run_of({full_cuda()}, with_gpu()));
  add("no-rates", State::no_timing_evidence, run_of({EngineLog{}}, with_gpu()));
  EngineLog unnamed =
      log_of({weights("CPU", 300), weights("Vulkan0", 4000), kv("Vulkan0", 500)}, 29, 29);
  add("device-unnamed", State::no_placement_evidence, run_of({timed(unnamed)}, with_gpu()));
  add("healthy", State::healthy, run_of({timed(full_cuda()), timed(full_cuda())}, with_gpu()));
  add("healthy", State::healthy, run_of({timed(full_cuda())}, unknown_machine()));
  add("nothing-tells", State::no_placement_evidence, run_of({timed(EngineLog{})}, with_gpu()));
  return out;
}

TEST(Judge, EveryRuleOfTheTableFires) {
  std::set<std::string> fired;
  for (const Case& c : cases()) {
    const Verdict verdict = judge(c.run);
    EXPECT_EQ(verdict.rule, c.rule) << verdict.sentence << " / " << c.run.placement.reason;
    EXPECT_EQ(name_of(verdict.state), name_of(c.state)) << c.rule;
    EXPECT_EQ(verdict.testimonies.size(), 8u);
    fired.insert(verdict.rule);
  }
  // Only a pasted log can end early: the stopwatch has no rates of such a run.
  fired.insert({"cut-before-cache", "died-on-the-gpu"});
  // Fired by recordings, in gpu_meter_test.cpp.
  fired.insert({"meter-contradicts", "meter-convicts", "gpu-vanished", "gpu-worked-after-all"});
  // Fired by servers, in servers_test.cpp.
  fired.insert({"claim-denies-bytes", "claim-contradicted", "claim-partial", "meter-acquits",
                "claim-alone"});
  for (const JudgeRule& rule : judge_rules()) {
    EXPECT_TRUE(fired.contains(std::string(rule.name))) << "no case fires " << rule.name;
  }
}

TEST(Judge, ALogThatEndsBeforeTheCacheIsNotHealthy) {
  EngineLog log = full_cuda();
  log.loads.back().buffers.pop_back();
  log.loads.back().splits.reset();
  EXPECT_EQ(judge_log(log, placement_of(log, nullptr)).rule, "cut-before-cache");
  log.loads.back().splits = GraphSplits{2, std::nullopt, std::nullopt, 1, false};
  EXPECT_EQ(judge_log(log, placement_of(log, nullptr)).rule, "healthy");  // an encoder has no cache
}

TEST(Judge, AnEngineThatDiedOnTheGpuIsNotHealthy) {
  for (const char* words :
       {"CUDA error: no kernel image is available for execution on the device",
        "CUDA error: unspecified launch failure", "ROCm error: invalid device function",
        "vk::DeviceLostError", "Aborted (core dumped)",
        "rocBLAS error: Cannot read TensileLibrary.dat: arch : gfx1103"}) {
    EngineLog log = full_cuda();
    log.events.push_back(event(LogEventKind::engine_error, words));
    log.events.back().line = 90;
    const Verdict verdict = judge_log(log, placement_of(log, nullptr));
    EXPECT_EQ(verdict.rule, "died-on-the-gpu") << words;
    EXPECT_EQ(verdict.state, State::no_placement_evidence) << words;
    // Rates of an earlier load of the same log are none of this one.
    log.loads.back().first_line = 50;
    log.timings.push_back(timings());
    log.timings.back().decode_tokens_per_second = 20;
    log.timings.back().line = 40;
    EXPECT_EQ(judge_log(log, placement_of(log, nullptr)).rule, "died-on-the-gpu") << words;
    // What answered before it died did run there.
    log.timings.back().line = 80;
    EXPECT_EQ(judge_log(log, placement_of(log, nullptr)).rule, "healthy") << words;
  }
}

TEST(Judge, SentencesAreShortPlainAndShowNoAddress) {
  for (const Case& c : cases()) {
    const std::string sentence = judge(c.run).sentence;
    EXPECT_FALSE(sentence.empty()) << c.rule;
    // Four lines of a block, the two quotations of a conflict included.
    EXPECT_LE(sentence.size(), 4u * 64) << sentence;
    for (char c2 : sentence) EXPECT_TRUE(c2 >= ' ' && c2 <= '~') << sentence;
    EXPECT_EQ(sentence.find("192.0.2"), std::string::npos) << sentence;
  }
}

TEST(Judge, ACpuOnlyMachineNeedsNoExcuseAndAFlagIsOne) {
  for (const Case& c : cases()) {
    const Verdict verdict = judge(c.run);
    if (verdict.state == State::cpu_only_machine) {
      EXPECT_FALSE(verdict.cause) << verdict.cause->why;
    }
  }
  RawRun raw = with_gpu();
  raw.user_args = {"-ngl", "0"};
  const Verdict forced = judge(run_of({timed(cpu_log())}, raw));
  ASSERT_TRUE(forced.cause);
  EXPECT_EQ(forced.cause->id, "ngl_0");
  EXPECT_EQ(forced.cause->why, "forced by the flag -ngl 0");
  EXPECT_EQ(forced.cause->fix, "drop -ngl 0");
}

/// The worst bug there is. Everything that can be wrong with a run, one at a time, on top of one
/// that claims 41/41.
TEST(Judge, NothingButAFullOffloadIsHealthy) {
  const std::pair<const char*, std::function<void(EngineLog&)>> spoilers[] = {
      {"no device bytes",
       [](EngineLog& log) { log.loads.back().buffers[1].kind = DeviceKind::host; }},
      {"software device", [](EngineLog& log) { log.devices[0].kind = DeviceKind::software; }},
      {"remote", [](EngineLog& log) { log.loads.back().buffers[1].kind = DeviceKind::remote; }},
      {"cache on the host",
       [](EngineLog& log) { log.loads.back().buffers[2] = kv("CUDA_Host", 800); }},
      {"short claim", [](EngineLog& log) { log.loads.back().claim->on_gpu = 40; }},
      {"most of it on the host",
       [](EngineLog& log) {
         log.loads.back().buffers[0].bytes = mib(5000);
         log.loads.back().splits.reset();
       }},
      {"override",
       [](EngineLog& log) { log.loads.back().overrides = {{"blk.1.ffn_up.weight", "CPU", 1}}; }},
      {"bouncing", [](EngineLog& log) { log.loads.back().splits->prefill = 90; }},
      {"failed load", [](EngineLog& log) { log.loads.back().failure = "out of memory"; }},
      {"no weight lines",
       [](EngineLog& log) {
         log.loads.back().buffers.erase(log.loads.back().buffers.begin(),
                                        log.loads.back().buffers.begin() + 2);
       }},
      {"no load at all", [](EngineLog& log) { log.loads.clear(); }},
  };
  ASSERT_EQ(judge(run_of({timed(full_cuda())}, with_gpu())).state, State::healthy);
  for (const auto& [name, spoil] : spoilers) {
    EngineLog log = full_cuda();
    spoil(log);
    EXPECT_NE(judge(run_of({timed(log)}, with_gpu())).state, State::healthy) << name;
    EXPECT_NE(judge_log(log, placement_of(log, nullptr)).state, State::healthy) << name;
  }
}

TEST(Judge, APastedLogHasNoStopwatchAndNoMachine) {
  const auto state = [](const EngineLog& log) {
    return std::string(name_of(judge_log(log, placement_of(log, nullptr)).state));
  };
  EXPECT_EQ(state(full_cuda()), "HEALTHY");
  EXPECT_EQ(state(cpu_log()), "SILENT CPU FALLBACK");
  EXPECT_EQ(state(cpu_with_card()), "SILENT CPU FALLBACK");
  EXPECT_EQ(state(software_log()), "SILENT CPU FALLBACK");
  EXPECT_EQ(state(remote_log(false)), "NO PLACEMENT EVIDENCE");
  EXPECT_EQ(state(remote_log(true)), "SILENT CPU FALLBACK");
  EXPECT_EQ(state(EngineLog{}), "NO PLACEMENT EVIDENCE");
}

TEST(Judge, AnRpcClientIsNotConvictedByItsOwnIdleness) {
  RawRun raw = without_gpu();
  raw.user_args = {"--rpc", "192.0.2.1:50052"};
  MeasuredRun run = run_of({timed(EngineLog{})}, raw);
  run.raw.passes[0].process = process_facts({"libggml-cpu.so", "libggml-rpc.so"});
  EXPECT_EQ(judge(run).state, State::no_placement_evidence);
}

TEST(Judge, OverbookedMemoryIsNamedUnderHealthy) {
  EngineLog log = full_cuda();
  log.events.push_back(event(LogEventKind::memory_overcommit, "greater than the recommended max"));
  const Verdict verdict = judge(run_of({timed(log)}, with_gpu()));
  EXPECT_EQ(verdict.state, State::healthy);
  EXPECT_NE(verdict.sentence.find("overbooked"), std::string::npos);
}

}  // namespace
}  // namespace picchio
