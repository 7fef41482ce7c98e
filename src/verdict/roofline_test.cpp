#include "verdict/roofline.h"

#include "verdict/judge.h"
#include "verdict/lanes.h"
#include "verdict/test_values.h"
#include "verdict/witnesses.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace picchio {
namespace {

using namespace test;
using MeasuredRun = picchio::Run;

// Qwen3.5-9B at Q4_K_M, as kept runs have it: 4861.28 MiB of the 5406.91 are read for each token.
constexpr double kRead = 4861.28;

ModelFile qwen() {
  ModelFile model;
  model.tensor_bytes = mib(5406.91);
  model.always_host_bytes = model.token_embd_bytes = mib(545.62);
  model.bytes_per_token = mib(kRead);
  model.block_count = 32;
  return model;
}

BufferLine recurrent(const std::string& name, double size) {
  return buffer(name, BufferUse::recurrent, size);
}

EngineLog log_on(const std::string& name, const std::string& description) {
  EngineLog log = log_of(
      {weights("CPU_Mapped", 545.62), weights(name, kRead), kv(name, 128), recurrent(name, 50.25)},
      33, 33);
  log.devices.push_back(device(name, description));
  log.loads.back().devices = {name};
  log.loads.back().n_ctx = 4096;
  log.loads.back().splits = GraphSplits{2, std::nullopt, std::nullopt, 1, false};
  return log;
}

EngineLog log_on_host() {
  EngineLog log = log_of({weights("CPU_Mapped", 5406.91), kv("CPU", 128)}, 0, 33);
  log.loads.back().n_ctx = 4096;
  return log;
}

/// 60 GB/s of RAM, 32 MiB of cache.
RawRun raw_of(ModelFile model) {
  RawRun raw = raw_run(1);
  raw.model = std::move(model);
  raw.machine.ram_bytes_per_second = 60e9;
  raw.machine.last_level_cache_bytes = mib(32);
  return raw;
}

MeasuredRun run_of(EngineLog log, double decode, RawRun raw) {
  EngineTimings t = timings(5000, decode, 761);
  t.line = 1;
  log.timings.push_back(t);
  return assemble(std::move(raw), {std::move(log)});
}

MeasuredRun run_of(EngineLog log, double decode) {
  return run_of(std::move(log), decode, raw_of(qwen()));
}

EngineLog two_cards(const std::string& first, const std::string& second) {
  EngineLog log = log_of({weights("CPU_Mapped", 545.62), weights("CUDA0", kRead / 2),
                          weights("CUDA1", kRead / 2), kv("CUDA0", 64), kv("CUDA1", 64)},
                         33, 33);
  log.devices = {device("CUDA0", first), device("CUDA1", second)};
  log.loads.back().devices = {"CUDA0", "CUDA1"};
  log.loads.back().n_ctx = 4096;
  return log;
}

TEST(Roofline, RealRunsReadTwoThirdsOfWhatTheirDevicesCan) {
  const struct {
    const char* backend;
    const char* device;
    double decode;
    double share;
  } cases[] = {{"CUDA0", "NVIDIA GeForce RTX 4090", 138.41, 0.71},
               {"CUDA0", "NVIDIA GeForce RTX 5090", 226.09, 0.65},
               {"MTL0", "Apple M5", 21.03, 0.71}};
  for (const auto& each : cases) {
    const MeasuredRun run = run_of(log_on(each.backend, each.device), each.decode);
    ASSERT_TRUE(run.roofline && run.roofline->share()) << each.device;
    EXPECT_NEAR(*run.roofline->share(), each.share, 0.01) << each.device;
    EXPECT_FALSE(run.roofline->limit_is_upper_bound) << each.device;
    EXPECT_EQ(judge(run).state, State::healthy) << each.device;
  }
}

TEST(Roofline, TheCacheCountsAtItsMeanDepth) {
  const MeasuredRun run = run_of(log_on("CUDA0", "NVIDIA GeForce RTX 4090"), 138);
  ASSERT_TRUE(run.roofline);
  EXPECT_EQ(run.roofline->depth, 761 + 127 / 2);
  const double cells = 128.0 * (761 + 63) / 4096;
  EXPECT_NEAR(static_cast<double>(run.roofline->cache_bytes.value_or(0)),
              static_cast<double>(mib(cells + 50.25)), 2);

  // A second attention cache on one device holds a window: how much of it is read is not known.
  EngineLog windows = log_on("CUDA0", "NVIDIA GeForce RTX 4090");
  windows.loads.back().buffers.push_back(kv("CUDA0", 40));
  EXPECT_FALSE(run_of(windows, 138).roofline->cache_bytes);
  EngineLog no_context = log_on("CUDA0", "NVIDIA GeForce RTX 4090");
  no_context.loads.back().n_ctx.reset();
  EXPECT_FALSE(run_of(no_context, 138).roofline->cache_bytes);
}

TEST(Roofline, TwoCardsAddTheirTimesAndACutTensorTheirBandwidths) {
  const double bytes = static_cast<double>(mib(kRead) + mib(128.0 * 824 / 4096));
  const auto limit = [&](EngineLog log, std::vector<std::string> arguments) {
    RawRun raw = raw_of(qwen());
    raw.user_args = std::move(arguments);
    return *run_of(std::move(log), 50, std::move(raw)).roofline->device_limit;
  };
  const EngineLog unlike = two_cards("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3060 Ti");
  EXPECT_NEAR(limit(unlike, {}), 2 / (bytes / 1008e9 + bytes / 608e9), 0.1);
  const EngineLog alike = two_cards("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090");
  EXPECT_NEAR(limit(alike, {}), 1008e9 / bytes, 0.1);
  EXPECT_NEAR(limit(alike, {"-sm", "row"}), 2 * 1008e9 / bytes, 0.1);
  EXPECT_NEAR(limit(alike, {"--split-mode", "tensor"}), 2 * 1008e9 / bytes, 0.1);
  // The log prints the whole of a cut buffer under the first card's name.
  EngineLog cut = alike;
  cut.loads.back().buffers[1] = weights("CUDA0", kRead);
  cut.loads.back().buffers[1].buffer = "CUDA0_Split";
  cut.loads.back().buffers.erase(cut.loads.back().buffers.begin() + 2);
  EXPECT_NEAR(limit(cut, {}), 2 * 1008e9 / bytes, 0.1);
}

TEST(Roofline, ExpertsOnUnlikeCardsAreBoundByTheFasterOne) {
  RawRun raw = raw_of(qwen());
  raw.model->expert_count = 64;
  raw.model->expert_used_count = 8;
  raw.model->tensors.emplace_back().name = "blk.0.ffn_up_exps.weight";
  const MeasuredRun run = run_of(two_cards("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3060 Ti"),
                                 50, std::move(raw));
  EXPECT_NEAR(*run.roofline->device_limit, 1008e9 / static_cast<double>(mib(kRead)), 0.1);
  EXPECT_TRUE(run.roofline->limit_is_upper_bound);
}

TEST(Roofline, APartialOffloadWaitsForTheHostToo) {
  EngineLog log = log_of({weights("CPU", 2600), weights("CUDA0", 2806.91)}, 17, 33);
  log.devices.push_back(device("CUDA0", "NVIDIA GeForce RTX 4090"));
  const MeasuredRun run = run_of(log, 20);
  ASSERT_EQ(run.placement.shape, Shape::partial);
  const double gpu = static_cast<double>(mib(2806.91)) / 1008e9;
  const double host = static_cast<double>(mib(kRead - 2806.91)) / (kHostMargin * 60e9);
  EXPECT_NEAR(*run.roofline->device_limit, 1 / (gpu + host), 0.1);
  EXPECT_TRUE(run.roofline->limit_is_upper_bound);
  EXPECT_EQ(judge(run).rule, "weights-on-host");
  const Verdict impossible = judge(run_of(log, 60));
  EXPECT_EQ(impossible.rule, "gpu-too-fast");
  EXPECT_NE(impossible.sentence.find("RTX 4090 and the host"), std::string::npos)
      << impossible.sentence;

  // What each expert weighs where is not known: the faster memory alone binds.
  RawRun raw = raw_of(qwen());
  raw.model->expert_count = 64;
  raw.model->expert_used_count = 8;
  raw.model->tensors.emplace_back().name = "blk.0.ffn_up_exps.weight";
  const MeasuredRun experts = run_of(log, 60, raw);
  EXPECT_NEAR(*experts.roofline->device_limit, 1008e9 / static_cast<double>(mib(kRead)), 0.1);
  EXPECT_FALSE(experts.roofline->devices.at(0).bytes_per_token);
  EXPECT_EQ(judge(experts).rule, "weights-on-host");
}

TEST(Roofline, TheDriversClocksGoBeforeTheTable) {
  RawRun raw = raw_of(qwen());
  MeteredGpu gpu;
  gpu.meter = "nvml";
  gpu.name = "NVIDIA GeForce RTX 6090";
  gpu.memory_bytes = mib(49152);
  gpu.peak_bytes_per_second = 2000e9;
  raw.telemetry.gpus.push_back(gpu);
  const MeasuredRun fresh = run_of(log_on("CUDA0", "NVIDIA GeForce RTX 6090"), 138, raw);
  EXPECT_EQ(fresh.roofline->devices.at(0).peak_bytes_per_second, 2000e9);
  EXPECT_EQ(fresh.roofline->devices.at(0).own_memory, true);
  EXPECT_FALSE(fresh.roofline->limit_is_upper_bound);

  // Where the two disagree the higher one binds, and nothing is called slow.
  raw.telemetry.gpus[0].name = "NVIDIA GeForce RTX 4090";
  raw.telemetry.gpus[0].peak_bytes_per_second = 504e9;
  const MeasuredRun doubted = run_of(log_on("CUDA0", "NVIDIA GeForce RTX 4090"), 138, raw);
  EXPECT_EQ(doubted.roofline->devices.at(0).peak_bytes_per_second, 1008e9);
  EXPECT_TRUE(doubted.roofline->limit_is_upper_bound);
}

struct Abstention {
  const char* name;
  std::function<void(EngineLog&, RawRun&)> change;
  const char* why;  // part of device_untested
};

TEST(Roofline, WhatIsNotKnownIsNotTested) {
  const Abstention cases[] = {
      {"a draft model",
       [](EngineLog& log, RawRun&) { log.loads.emplace_back().role = LoadRole::draft; },
       "speculative"},
      {"speculation asked for",
       [](EngineLog&, RawRun& raw) { raw.user_args = {"--spec-type", "ngram-mod"}; },
       "speculative"},
      {"speculation in a variable",
       [](EngineLog&, RawRun& raw) { raw.environment["LLAMA_ARG_SPEC_TYPE"] = "draft-mtp"; },
       "speculative"},
      {"fewer experts",
       [](EngineLog&, RawRun& raw) {
         raw.user_args = {"--override-kv", "qwen3moe.expert_used_count=int:2"};
       },
       "experts"},
      {"a tensor for each expert",
       [](EngineLog&, RawRun& raw) {
         raw.model->expert_count = 8;
         raw.model->expert_used_count = 2;
         raw.model->tensors.emplace_back().name = "blk.0.ffn_up.3.weight";
       },
       "experts"},
      {"experts that nobody counted",
       [](EngineLog&, RawRun& raw) {
         raw.model->tensors.emplace_back().name = "blk.0.ffn_up_exps.weight";
       },
       "experts"},
      {"experts of another kind beside the usual ones",
       [](EngineLog&, RawRun& raw) {
         raw.model->expert_count = 8;
         raw.model->expert_used_count = 2;
         raw.model->tensors.emplace_back().name = "blk.0.ffn_up_exps.weight";
         raw.model->tensors.emplace_back().name = "blk.0.ffn_up_chexps.weight";
       },
       "experts"},
      {"more experts used than there are",
       [](EngineLog&, RawRun& raw) {
         raw.model->expert_count = 8;
         raw.model->expert_used_count = 9;
         raw.model->tensors.emplace_back().name = "blk.0.ffn_up_exps.weight";
       },
       "experts"},
      {"a device that no table knows",
       [](EngineLog& log, RawRun&) { log.devices[0].description = "Frobnicator 9000"; },
       "Frobnicator 9000 is not known"},
      {"no GPU", [](EngineLog& log, RawRun&) { log = log_on_host(); }, "no hardware GPU"},
      {"a remote one",
       [](EngineLog& log, RawRun&) { log.loads.back().buffers[1].kind = DeviceKind::remote; },
       "remote"},
      {"nothing known", [](EngineLog& log, RawRun&) { log.loads.clear(); }, "not known"},
  };
  for (const Abstention& each : cases) {
    EngineLog log = log_on("CUDA0", "NVIDIA GeForce RTX 4090");
    RawRun raw = raw_of(qwen());
    each.change(log, raw);
    const MeasuredRun run = run_of(log, 100000, raw);
    ASSERT_TRUE(run.roofline) << each.name;
    EXPECT_FALSE(run.roofline->device_limit) << each.name;
    EXPECT_NE(run.roofline->device_untested.find(each.why), std::string::npos)
        << each.name << ": " << run.roofline->device_untested;
    EXPECT_FALSE(beyond_devices(*run.roofline) || below_usual(*run.roofline)) << each.name;
  }
  MeasuredRun speculating;
  RawRun raw = raw_of(qwen());
  raw.user_args = {"-md", "draft.gguf"};
  speculating = run_of(log_on("CUDA0", "NVIDIA GeForce RTX 4090"), 400, raw);
  EXPECT_EQ(judge(speculating).state, State::healthy);
  EXPECT_NE(timing_testimony(speculating).sentence.find("speculative"), std::string::npos);

  RawRun no_header = raw_of(qwen());
  no_header.model.reset();
  EXPECT_FALSE(run_of(log_on("CUDA0", "NVIDIA GeForce RTX 4090"), 138, no_header).roofline);
  EngineLog silent = log_on("CUDA0", "NVIDIA GeForce RTX 4090");
  EXPECT_FALSE(assemble(raw_of(qwen()), {silent}).roofline);
}

TEST(Roofline, TheHostsLimitNeedsAMeasurementAndAModelBeyondTheCaches) {
  const auto untested = [](const std::function<void(RawRun&)>& change) {
    RawRun raw = raw_of(qwen());
    change(raw);
    const MeasuredRun run = run_of(log_on_host(), 5, raw);
    EXPECT_EQ(run.roofline->host_limit.has_value(), run.roofline->host_untested.empty());
    return run.roofline->host_untested;
  };
  EXPECT_EQ(untested([](RawRun&) {}), "");
  EXPECT_NE(untested([](RawRun& raw) { raw.machine.ram_bytes_per_second.reset(); }).find("RAM"),
            std::string::npos);
  EXPECT_NE(
      untested([](RawRun& raw) { raw.machine.last_level_cache_bytes.reset(); }).find("caches"),
      std::string::npos);
  EXPECT_NE(
      untested([](RawRun& raw) { raw.machine.last_level_cache_bytes = mib(1216); }).find("caches"),
      std::string::npos);
}

struct Judgement {
  const char* name;
  EngineLog log;
  double decode;
  std::function<void(RawRun&)> change;
  const char* rule;
  const char* timing;  // the witness's word
  const char* says;    // part of the verdict's sentence
};

void leave(RawRun&) {}

std::vector<Judgement> judgements() {
  const EngineLog card = log_on("CUDA0", "NVIDIA GeForce RTX 4090");
  const EngineLog mac = log_on("MTL0", "Apple M5");
  const EngineLog ambiguous = log_on("CUDA0", "NVIDIA GeForce RTX 3060 Ti");
  const auto nvidia = [](RawRun& raw) {
    raw.machine.gpus[0].vendor = "NVIDIA";
    raw.machine.gpus[0].address = "0000:61:00.0";
  };
  const auto no_gpu = [](RawRun& raw) { raw.machine.gpus.clear(); };
  const auto intel = [](RawRun& raw) {
    raw.machine.gpus[0].vendor = "Intel";
    raw.machine.gpus[0].address = "0000:00:02.0";
  };
  const auto small = [](RawRun& raw) { raw.model->bytes_per_token = 1'900'000'000; };
  return {
      {"a healthy card", card, 138, leave, "healthy", "gpu", "The GPU did the work."},
      {"at 104 %", card, 202, leave, "healthy", "gpu", "The GPU did the work."},
      {"at 108 %", card, 210, leave, "gpu-too-fast", "abstains",
       "108% of what the memory of RTX 4090 can"},
      {"at 36 %", card, 70, leave, "healthy", "gpu", "The GPU did the work."},
      {"at 30 %", card, 58, leave, "healthy", "gpu", "Suspicious: that reads only 30%"},
      {"at 8 %: RAM could do it", card, 15, leave, "healthy", "abstains", "only 8%"},
      {"small: it waits for launches", card, 58, small, "healthy", "gpu", "tok/s."},
      {"a peak that is only an upper bound", ambiguous, 30, leave, "healthy", "gpu", "tok/s."},
      {"shared memory", mac, 21, leave, "healthy", "abstains", "The GPU did the work."},
      {"shared memory, impossible", mac, 40, leave, "gpu-too-fast", "abstains", "Apple M5"},
      {"a CPU with a card at its side", log_on_host(), 9, nvidia, "gpu-stood-by", "abstains",
       "The CPU did the work"},
      {"a CPU that outruns its RAM", log_on_host(), 30, nvidia, "cpu-too-fast", "abstains",
       "This machine's RAM gives 60."},
      {"the same beside a GPU that may share the RAM", log_on_host(), 30, intel, "gpu-stood-by",
       "abstains", "The CPU did the work"},
      {"the same without any GPU", log_on_host(), 30, no_gpu, "cpu-only-machine", "abstains",
       "no GPU"},
      {"beyond any host", log_on_host(), 500, no_gpu, "cpu-too-fast", "abstains", "no host memory"},
  };
}

TEST(Roofline, JudgedByWhatMemoryCanDo) {
  for (const Judgement& each : judgements()) {
    RawRun raw = raw_of(qwen());
    each.change(raw);
    const MeasuredRun run = run_of(each.log, each.decode, raw);
    const Verdict verdict = judge(run);
    EXPECT_EQ(verdict.rule, each.rule) << each.name << ": " << verdict.sentence;
    EXPECT_NE(verdict.sentence.find(each.says), std::string::npos)
        << each.name << ": " << verdict.sentence;
    const Testimony timing = timing_testimony(run);
    EXPECT_EQ(timing.word ? name_of(*timing.word) : "abstains", each.timing)
        << each.name << ": " << timing.sentence;
    const bool marked = verdict.sentence.find("Suspicious") != std::string::npos;
    EXPECT_EQ(marked, below_usual(*run.roofline)) << each.name;
  }
}

/// Whatever the timing witness says, no run is acquitted by it.
TEST(Roofline, TheTimingWitnessAcquitsNobody) {
  const std::pair<const char*, std::function<void(EngineLog&)>> spoilers[] = {
      {"software", [](EngineLog& log) { log.devices[0].kind = DeviceKind::software; }},
      {"host buffers", [](EngineLog& log) { log.loads.back().buffers[1].kind = DeviceKind::host; }},
      {"half on the host",
       [](EngineLog& log) {
         log.loads.back().buffers[0].bytes = mib(3000);
         log.loads.back().buffers[1].bytes = mib(2400);
       }},
      {"cache on the host",
       [](EngineLog& log) { log.loads.back().buffers[2] = kv("CUDA_Host", 128); }},
      {"no lines", [](EngineLog& log) { log.loads.clear(); }},
  };
  for (const auto& [name, spoil] : spoilers) {
    for (const double decode : {5.0, 20.0, 60.0, 138.0, 190.0}) {
      EngineLog log = log_on("CUDA0", "NVIDIA GeForce RTX 4090");
      spoil(log);
      const MeasuredRun run = run_of(log, decode);
      EXPECT_NE(judge(run).state, State::healthy) << name << " at " << decode;
      EXPECT_NE(timing_testimony(run).word, Word::gpu) << name << " at " << decode;
    }
  }
}

TEST(Roofline, FastMemoryExemptsWhatALaunchCostsMore) {
  RawRun raw = raw_of(qwen());
  raw.model->bytes_per_token = 3'000'000'000;
  // 0.6 ms at the peak of an H200: no kernel launches that fast.
  const MeasuredRun fast = run_of(log_on("CUDA0", "NVIDIA H200"), 200, raw);
  EXPECT_LT(*fast.roofline->share(), kSuspiciousShare);
  EXPECT_FALSE(below_usual(*fast.roofline));
  const MeasuredRun slow = run_of(log_on("CUDA0", "NVIDIA GeForce RTX 4090"), 100, raw);
  EXPECT_LT(*slow.roofline->share(), kSuspiciousShare);
  EXPECT_TRUE(below_usual(*slow.roofline));
}

TEST(Roofline, CoresTellModelsOfOneNameApart) {
  struct Row {
    std::optional<int> cores;
    double peak;
    bool upper_bound;
  };
  for (const Row& row : {Row{32, 410e9, false}, Row{40, 546e9, false}, Row{{}, 546e9, true}}) {
    RawRun raw = raw_of(qwen());
    MeteredGpu gpu;
    gpu.meter = "apple";
    gpu.name = "Apple M4 Max";
    gpu.unified_memory = true;
    gpu.cores = row.cores;
    raw.telemetry.gpus = {gpu};
    const MeasuredRun run = run_of(log_on("MTL0", "Apple M4 Max"), 60, raw);
    ASSERT_TRUE(run.roofline);
    ASSERT_EQ(run.roofline->devices.size(), 1U);
    EXPECT_EQ(run.roofline->devices[0].peak_bytes_per_second, row.peak);
    EXPECT_EQ(run.roofline->devices[0].peak_is_upper_bound, row.upper_bound);
  }
}

}  // namespace
}  // namespace picchio
