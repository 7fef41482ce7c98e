#include "verdict/gpu_meter.h"

#include "verdict/judge.h"
#include "verdict/lanes.h"
#include "verdict/test_recordings.h"
#include "verdict/witnesses.h"

#include <gtest/gtest.h>

#include <set>

namespace picchio {
namespace {

using namespace test;
using MeasuredRun = picchio::Run;  // testing::Test has a Run() of its own

EngineLog timed(EngineLog log) {
  log.timings.push_back(timings());
  log.timings.back().line = 1;
  log.threads = 8;
  return log;
}

MeasuredRun run_of_all(const std::vector<EngineLog>& logs, const std::vector<Scene>& scenes) {
  return assemble(recorded(raw_run(logs.size()), scenes), logs);
}

MeasuredRun run_of(const EngineLog& log, const Scene& scene) {
  return run_of_all({timed(log)}, {scene});
}

Scene scene(void (*change)(Scene&)) {
  Scene out;
  change(out);
  return out;
}

void whole_device_only(Scene& s) { s.tells_processes = false; }

void flat_line(Scene& s) {
  whole_device_only(s);
  s.prefill_busy = s.decode_busy = 1;
  s.work_watts = 15;
  s.step_gib = 0.1;
}

struct Row {
  const char* rule;
  std::optional<Word> word;
  bool attributed;
  Scene scene;
};

const Row kRows[] = {
    {"own-time", Word::gpu, true, {}},
    // A driver that counts no time of processes.
    {"own-memory", Word::gpu, true, scene([](Scene& s) { s.own_busy = std::nullopt; })},
    {"at-work", Word::gpu, false, scene(whole_device_only)},
    {"at-work", Word::gpu, false, scene([](Scene& s) {
       whole_device_only(s);
       s.step_gib = s.work_watts = s.idle_watts = std::nullopt;
     })},
    // Some watts more than its drawing desktop needed: the engine's work is told apart.
    {"at-work", Word::gpu, false, scene([](Scene& s) {
       whole_device_only(s);
       s.idle_busy = 45;
       s.idle_watts = 1;
       s.work_watts = 11;
     })},
    {"busy-before", std::nullopt, false, scene([](Scene& s) {
       whole_device_only(s);
       s.idle_busy = 80;
       s.idle_watts = 170;
     })},
    {"flat", Word::cpu, false, scene(flat_line)},
    // However few looks fell into the work.
    {"nothing-came", Word::cpu, false, scene([](Scene& s) {
       flat_line(s);
       s.hz = 0.5;
     })},
    // Noise around a value that is not zero.
    {"flat", Word::cpu, false, scene([](Scene& s) {
       flat_line(s);
       s.idle_busy = 8;
       s.decode_busy = 5;
     })},
    {"nothing-of-ours", Word::cpu, true, scene([](Scene& s) {
       flat_line(s);
       s.tells_processes = true;
       s.own_gib = 0;
     })},
    // Busy, and with somebody else: an idle look before would not have shown it.
    {"nothing-of-ours", Word::cpu, true, scene([](Scene& s) {
       s.own_gib = 0;
       s.step_gib = 2;
     })},
    // The driver lists nobody, but the model's bytes came with the engine.
    {"others-at-work", std::nullopt, false, scene([](Scene& s) { s.own_gib = 0; })},
    {"others-at-work", std::nullopt, false, scene([](Scene& s) { s.own_busy = 0; })},
    {"some-of-ours", std::nullopt, false, scene([](Scene& s) { s.own_busy = 9; })},
    {"prefill-alone", Word::cpu, false, scene([](Scene& s) {
       flat_line(s);
       s.prefill_busy = 28;
       s.step_gib = 1.7;
     })},
    {"memory-vetoes", std::nullopt, false, scene([](Scene& s) {
       flat_line(s);
       s.step_gib = 9;
     })},
    {"power-vetoes", std::nullopt, false, scene([](Scene& s) {
       flat_line(s);
       s.work_watts = 120;
     })},
    // The socket's watts are the CPU's as well.
    {"flat", Word::cpu, false, scene([](Scene& s) {
       flat_line(s);
       s.work_watts = 120;
       s.package = true;
     })},
    {"in-between", std::nullopt, false, scene([](Scene& s) {
       flat_line(s);
       s.decode_busy = s.prefill_busy = 30;
     })},
    {"in-between", std::nullopt, false, scene([](Scene& s) {
       whole_device_only(s);
       s.upper_bound = true;
       s.step_gib = 0.1;
       s.work_watts = 15;
     })},
    {"too-few-looks", std::nullopt, false, scene([](Scene& s) { s.hz = 0.5; })},
    {"powered-down", Word::cpu, false, scene([](Scene& s) { s.asleep = true; })},
    {"gpu-vanished", std::nullopt, false, scene([](Scene& s) { s.lost = true; })},
    {"not-this-device", std::nullopt, false, scene([](Scene& s) { s.meter = "amdgpu"; })},
};

TEST(GpuMeter, EachRuleHasItsScenes) {
  std::set<std::string_view> fired;
  for (const Row& row : kRows) {
    const MeasuredRun run = run_of(full_cuda(), row.scene);
    const MeterFinding finding = read_gpu_meter(run);
    EXPECT_EQ(finding.rule, row.rule) << finding.sentence;
    EXPECT_EQ(finding.word, row.word) << row.rule << ": " << finding.sentence;
    EXPECT_EQ(finding.attributed, row.attributed) << row.rule << ": " << finding.sentence;
    EXPECT_FALSE(finding.sentence.empty()) << row.rule;
    fired.insert(finding.rule);
  }
  const MeasuredRun mute = assemble(raw_run(1), {timed(full_cuda())});
  EXPECT_EQ(read_gpu_meter(mute).rule, "nothing-recorded");
  fired.insert("nothing-recorded");
  for (const MeterRule& rule : meter_rules()) {
    EXPECT_TRUE(fired.contains(rule.name)) << "no scene fires " << rule.name;
  }
}

TEST(GpuMeter, WhatIsSaidHasItsNumbers) {
  const std::pair<Scene, std::string_view> rows[] = {
      {{}, "the engine's processes had 93% of the GPU's time; memory +9.0 GiB"},
      {scene(whole_device_only), "busy 95%, idle 0% before; memory +9.0 GiB"},
      {scene(flat_line), "flat: busy 1%, idle 0% before; memory +0.1 GiB"},
      {scene([](Scene& s) { s.lost = true; }),
       "the GPU vanished while the engine ran: GPU is lost"},
  };
  for (const auto& [scene, sentence] : rows) {
    EXPECT_EQ(gpu_meter_testimony(run_of(full_cuda(), scene)).sentence, sentence);
  }
}

TEST(GpuMeter, NobodyIsConvictedByAnotherVendorsMeter) {
  Scene other = scene(flat_line);
  other.meter = "amdgpu";
  other.name = "AMD Radeon RX 7600";
  const Verdict verdict = judge(run_of(full_cuda(), other));
  EXPECT_EQ(verdict.rule, "healthy") << verdict.sentence;
  // Beside the card that did the work, an idle one of another vendor does not matter.
  const MeasuredRun both = run_of_all({timed(full_cuda())}, {other, Scene{}});
  EXPECT_TRUE(both.gpu_use[1].in_use);
  EXPECT_FALSE(both.gpu_use[0].in_use);
  EXPECT_EQ(judge(both).rule, "healthy");
}

TEST(GpuMeter, OfEqualCardsTheDriverTellsWhichOneIsInUse) {
  Scene idle = scene(flat_line);
  idle.tells_processes = true;
  idle.own_gib = 0;
  const MeasuredRun run = run_of_all({timed(full_cuda())}, {idle, Scene{}});
  EXPECT_FALSE(run.gpu_use[0].in_use);
  EXPECT_TRUE(run.gpu_use[1].in_use);
  // Where it does not tell, the one that worked is taken for it.
  const MeasuredRun dumb =
      run_of_all({timed(full_cuda())}, {scene(flat_line), scene(whole_device_only)});
  EXPECT_FALSE(dumb.gpu_use[0].in_use);
  EXPECT_TRUE(dumb.gpu_use[1].in_use);
  EXPECT_EQ(read_gpu_meter(dumb).word, Word::gpu);
}

TEST(GpuMeter, TheAddressInTheLogTellsTheCard) {
  RawRun raw = recorded(raw_run(1), {scene(flat_line), scene(whole_device_only)});
  raw.telemetry.gpus[0].address = "0000:01:00.0";
  raw.telemetry.gpus[1].address = "0000:02:00.0";
  const char* const lines[] = {
      "llama_model_load: using device CUDA0 (NVIDIA GeForce RTX 4070) (0000:0{}:00.0) - 11 MiB "
      "free",
      "0.00.1.2 I using device CUDA0 (NVIDIA GeForce RTX 4070) (0000:0{}:00.0) - 9 MiB free"};
  for (const std::string_view line : lines) {
    for (const char card : {'1', '2'}) {
      std::string text(line);
      text.replace(text.find("{}"), 2, 1, card);
      raw.passes[0].log = "first\n" + text + "\nlast\n";
      const MeasuredRun run = assemble(raw, {timed(full_cuda())});
      EXPECT_EQ(run.gpu_use[0].in_use, card == '1') << text;
      EXPECT_EQ(judge(run).rule, card == '1' ? "meter-contradicts" : "healthy") << text;
    }
  }
}

TEST(GpuMeter, EachCardThatHoldsWeightsIsHeard) {
  EngineLog two = log_of({weights("CPU_Mapped", 281.25), weights("CUDA0", 4200),
                          weights("CUDA1", 4151), kv("CUDA0", 400), kv("CUDA1", 400)},
                         41, 41);
  for (const char* name : {"CUDA0", "CUDA1"}) {
    two.devices.push_back(device(name, "NVIDIA GeForce RTX 4070"));
    two.loads.back().devices.emplace_back(name);
  }
  two.loads.back().splits = GraphSplits{3, std::nullopt, std::nullopt, 1, false};
  const auto half = [](void (*change)(Scene&)) {
    Scene out;
    out.step_gib = out.own_gib = 4.6;
    out.own_busy = 48;
    out.decode_busy = out.prefill_busy = 52;
    change(out);
    return out;
  };
  const Scene works = half([](Scene&) {});
  const Scene works_untold = half(whole_device_only);
  const std::pair<Scene, std::string_view> rows[] = {
      {works, "healthy"},
      {works_untold, "healthy"},
      {scene(flat_line), "meter-contradicts"},
      {scene([](Scene& s) { s.asleep = true; }), "meter-contradicts"},
      {scene([](Scene& s) {
         flat_line(s);
         s.tells_processes = true;
         s.own_gib = 0;
       }),
       "meter-contradicts"},
  };
  for (const auto& [second, rule] : rows) {
    for (const Scene& first : {works, works_untold}) {
      const MeasuredRun run = run_of_all({timed(two)}, {second, first});
      EXPECT_EQ(judge(run).rule, rule) << judge(run).sentence;
    }
  }
}

TEST(GpuMeter, AFlatLineNeedsNoLookBefore) {
  const Scene out = scene([](Scene& s) {
    flat_line(s);
    s.idle_busy = std::nullopt;
  });
  EXPECT_EQ(read_gpu_meter(run_of(full_cuda(), out)).rule, "flat");
}

TEST(GpuMeter, ACardOfALongerNameIsAnother) {
  Scene stronger = scene(whole_device_only);
  stronger.name = "NVIDIA GeForce RTX 4070 Ti";
  const MeasuredRun run = run_of_all({timed(full_cuda())}, {scene(flat_line), stronger});
  EXPECT_TRUE(run.gpu_use[0].in_use);
  EXPECT_FALSE(run.gpu_use[1].in_use);
  EXPECT_EQ(judge(run).rule, "meter-contradicts");
}

// Asleep before the run is idle before the run, also where few looks fell into it.
TEST(GpuMeter, ACardThatWakesIsComparedWithItsSleep) {
  const Scene flat = scene([](Scene& s) {
    flat_line(s);
    s.wakes = true;
    s.hz = 2;
  });
  EXPECT_EQ(judge(run_of(full_cuda(), flat)).rule, "meter-contradicts");
  const Scene works = scene([](Scene& s) {
    whole_device_only(s);
    s.wakes = true;
  });
  EXPECT_EQ(judge(run_of(full_cuda(), works)).rule, "healthy");
}

// Drivers of containers and of WSL answer with an empty list.
TEST(GpuMeter, AnEmptyListConvictsNobodyWhoseMemoryCame) {
  const Scene rows[] = {
      scene([](Scene& s) {
        s.own_gib = 0;
        s.idle_busy = s.prefill_busy = s.decode_busy = std::nullopt;
      }),
      scene([](Scene& s) {
        s.own_gib = 0;
        s.idle_busy = 40;
      }),
      scene([](Scene& s) {
        s.own_gib = 0;
        s.step_gib = std::nullopt;
      }),
  };
  for (const Scene& row : rows) {
    const MeasuredRun run = run_of(full_cuda(), row);
    EXPECT_EQ(judge(run).state, State::healthy) << read_gpu_meter(run).sentence;
  }
}

TEST(GpuMeter, EnergyIsOfEachPhase) {
  const MeasuredRun run = run_of_all({timed(full_cuda()), timed(full_cuda())}, {Scene{}});
  const GpuUse& use = run.gpu_use.at(0);
  EXPECT_EQ(use.idle_watts, 15);
  EXPECT_EQ(use.decode.watts, 180);
  EXPECT_EQ(use.decode.tokens, 254);
  ASSERT_TRUE(use.decode.joules_per_token());
  EXPECT_NEAR(*use.decode.joules_per_token(), 180 * 6.35 / 127, 0.1);
  ASSERT_TRUE(use.prefill.joules_per_token());
  EXPECT_NEAR(*use.prefill.joules_per_token(), 180.0 / 600, 0.02);
  EXPECT_EQ(use.memory_step, gib(9));
}

// The verdicts that hang on the meter.
struct Judged {
  const char* rule;
  State state;
  EngineLog log;
  Scene scene;
};

TEST(Judge, HearsTheMeter) {
  const auto flat_and_ours = scene([](Scene& s) {
    flat_line(s);
    s.tells_processes = true;
    s.own_gib = 0;
  });
  const EngineLog half = log_of({weights("CPU", 1720), weights("CUDA0", 2965)}, 22, 33);
  const Judged rows[] = {
      {"healthy", State::healthy, full_cuda(), {}},
      {"healthy", State::healthy, full_cuda(), scene(whole_device_only)},
      {"meter-contradicts", State::conflicting_evidence, full_cuda(), scene(flat_line)},
      {"meter-contradicts", State::conflicting_evidence, full_cuda(), flat_and_ours},
      {"meter-contradicts", State::conflicting_evidence, full_cuda(), scene([](Scene& s) {
         s.own_gib = 0;
         s.step_gib = 2;
       })},
      {"meter-contradicts", State::conflicting_evidence, half, scene(flat_line)},
      {"meter-contradicts", State::conflicting_evidence, full_cuda(),
       scene([](Scene& s) { s.asleep = true; })},
      {"gpu-vanished", State::conflicting_evidence, full_cuda(),
       scene([](Scene& s) { s.lost = true; })},
      // A veto, not a conviction.
      {"healthy", State::healthy, full_cuda(), scene([](Scene& s) {
         flat_line(s);
         s.step_gib = 9;
       })},
      {"healthy", State::healthy, full_cuda(), scene([](Scene& s) {
         whole_device_only(s);
         s.idle_busy = 80;
         s.idle_watts = 170;
       })},
      {"weights-on-host", State::partial_offload, half, {}},
      {"gpu-stood-by", State::silent_cpu_fallback, cpu_log(), flat_and_ours},
      // Somebody else's work is no alibi.
      {"gpu-stood-by", State::silent_cpu_fallback, cpu_log(), scene(whole_device_only)},
      // A draft model's share is none either.
      {"gpu-stood-by", State::silent_cpu_fallback, cpu_log(), scene([](Scene& s) {
         s.own_gib = 0.6;
         s.own_busy = 30;
       })},
      {"gpu-worked-after-all", State::conflicting_evidence, cpu_log(), {}},
      {"nothing-tells", State::no_placement_evidence, EngineLog{}, {}},
      {"nothing-tells", State::no_placement_evidence, EngineLog{}, scene(flat_line)},
  };
  for (const Judged& row : rows) {
    const MeasuredRun run = run_of(row.log, row.scene);
    const Verdict verdict = judge(run);
    EXPECT_EQ(verdict.rule, row.rule) << verdict.sentence << " / " << read_gpu_meter(run).sentence;
    EXPECT_EQ(name_of(verdict.state), name_of(row.state)) << row.rule;
  }
  MeasuredRun unknown = run_of(EngineLog{}, scene(flat_line));
  unknown.passes[0].cpu.decode_cores = 7.9;
  EXPECT_EQ(judge(unknown).rule, "meter-convicts");
}

TEST(Judge, SaysWhatHeldAHealthyGpuBack) {
  const std::pair<Scene, std::string_view> rows[] = {
      {scene([](Scene& s) { s.throttling.thermal = true; }),
       "Heat or its board slowed the GPU at 100% of the looks."},
      {scene([](Scene& s) { s.evicted_gib = 3; }), "3.00 GiB did not fit"},
  };
  for (const auto& [scene, words] : rows) {
    const Verdict verdict = judge(run_of(full_cuda(), scene));
    EXPECT_EQ(verdict.state, State::healthy);
    EXPECT_TRUE(verdict.sentence.contains(words)) << verdict.sentence;
  }
  const Verdict capped =
      judge(run_of(full_cuda(), scene([](Scene& s) { s.throttling.power_cap = true; })));
  EXPECT_FALSE(capped.sentence.contains("slowed")) << capped.sentence;
}

// Whatever a meter says, it acquits nobody whom the bytes convict.
TEST(Judge, NoRecordingMakesAnUnhealthyLogHealthy) {
  EngineLog software =
      log_of({weights("CPU_Mapped", 308), weights("Vulkan0", 1918), kv("Vulkan0", 448)}, 29, 29);
  software.devices.push_back(
      device("Vulkan0", "llvmpipe (LLVM 22.1.8, 256 bits)", DeviceKind::software));
  const EngineLog logs[] = {
      EngineLog{},
      cpu_log(),
      cpu_with_card(),
      software,
      log_of({weights("CPU", 1720), weights("CUDA0", 2965)}, 22, 33),
      log_of({weights("RPC0[192.0.2.1:50052]", 2700), weights("CPU_Mapped", 170)}, 29, 29)};
  for (const EngineLog& log : logs) {
    for (const Row& row : kRows) {
      const Verdict verdict = judge(run_of(log, row.scene));
      EXPECT_NE(verdict.state, State::healthy) << row.rule << ": " << verdict.sentence;
    }
  }
}

}  // namespace
}  // namespace picchio
