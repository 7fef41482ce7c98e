#include "verdict/witnesses.h"

#include "verdict/lanes.h"
#include "verdict/test_values.h"

#include <gtest/gtest.h>

#include <set>

namespace picchio {
namespace {

using namespace test;
using MeasuredRun = picchio::Run;

MeasuredRun run_of(EngineLog log) {
  EngineTimings t = timings();
  t.line = 1;
  log.timings.push_back(t);
  return assemble(raw_run(1), {std::move(log)});
}

std::string word(const Testimony& testimony) {
  return testimony.word ? std::string(name_of(*testimony.word)) : "abstains";
}

TEST(Witnesses, NothingAbstainsSilently) {
  for (const MeasuredRun& run : {MeasuredRun{}, run_of(EngineLog{}), run_of(full_cuda())}) {
    const std::vector<Testimony> heard = hear_all(run);
    EXPECT_EQ(heard.size(), 8u);
    std::set<Witness> seen;
    for (const Testimony& testimony : heard) {
      EXPECT_FALSE(testimony.sentence.empty()) << name_of(testimony.witness);
      seen.insert(testimony.witness);
    }
    EXPECT_EQ(seen.size(), 8u);
  }
  for (const Testimony& testimony : hear_all(MeasuredRun{})) EXPECT_EQ(word(testimony), "abstains");
}

TEST(Witnesses, Claim) {
  const auto claimed = [](int n, int total) {
    return word(claim_testimony(run_of(log_of({weights("CPU", 100)}, n, total))));
  };
  EXPECT_EQ(claimed(33, 33), "gpu");
  EXPECT_EQ(claimed(20, 33), "partial");
  EXPECT_EQ(claimed(0, 33), "cpu");
  EXPECT_EQ(word(claim_testimony(run_of(log_of({weights("CPU", 100)})))), "abstains");
}

TEST(Witnesses, DeviceIsAGpuOnlyIfItIsOne) {
  EngineLog llvmpipe = log_of({weights("CPU", 300), weights("Vulkan0", 1900)}, 29, 29);
  llvmpipe.devices.push_back(
      device("Vulkan0", "llvmpipe (LLVM 22.1.8, 256 bits)", DeviceKind::software));
  EngineLog integrated = log_of({weights("CPU", 300), weights("Vulkan1", 1900)}, 29, 29);
  integrated.devices = {device("Vulkan0", "RTX 4090"), device("Vulkan1", "Intel UHD")};
  integrated.devices[0].integrated = false;
  integrated.devices[1].integrated = true;
  EXPECT_EQ(word(device_testimony(run_of(full_cuda()))), "gpu");
  EXPECT_EQ(word(device_testimony(run_of(llvmpipe))), "cpu");
  EXPECT_NE(device_testimony(run_of(integrated)).sentence.find("while Vulkan0 (RTX 4090) is idle"),
            std::string::npos);
  EXPECT_EQ(word(device_testimony(run_of(cpu_with_card()))), "abstains");
  const Testimony remote =
      device_testimony(run_of(log_of({weights("RPC0[192.0.2.1:50052]", 2700)}, 29, 29)));
  EXPECT_EQ(word(remote), "abstains");
  EXPECT_EQ(remote.sentence.find("192.0.2.1"), std::string::npos) << "an address was shown";
}

TEST(Witnesses, Schedule) {
  const auto splits = [](std::int64_t prefill, std::optional<std::int64_t> decode) {
    EngineLog log = full_cuda();
    log.loads.back().splits = GraphSplits{prefill, decode, std::nullopt, 1, false};
    return word(schedule_testimony(run_of(log)));
  };
  EXPECT_EQ(splits(2, std::nullopt), "gpu");
  EXPECT_EQ(splits(4, 2), "gpu");
  EXPECT_EQ(splits(6, std::nullopt), "abstains");
  EXPECT_EQ(splits(82, std::nullopt), "partial");
  EXPECT_EQ(splits(516, 49), "partial");
  EngineLog cpu = cpu_with_card();
  cpu.loads.back().splits = GraphSplits{1, std::nullopt, std::nullopt, 1, false};
  EXPECT_EQ(word(schedule_testimony(run_of(cpu))), "cpu");
  EngineLog forced = full_cuda();
  forced.loads.back().flash_attention = true;
  forced.loads.back().flash_attention_on_cpu = true;
  EXPECT_EQ(word(schedule_testimony(run_of(forced))), "partial");
}

TEST(Witnesses, Process) {
  struct Case {
    const char* name;
    std::vector<std::string> libraries, nodes;
    const char* word;
  };
  const std::vector<Case> cases = {
      {"CUDA", {"libggml-cuda.so", "libcuda.so.1"}, {"/dev/nvidiactl", "/dev/nvidia0"}, "gpu"},
      {"AMD", {"libhsa-runtime64.so.1"}, {"/dev/kfd", "/dev/dri/renderD128"}, "gpu"},
      {"nothing", {"libggml-cpu-zen4.so"}, {}, "cpu"},
      {"llvmpipe", {"libggml-vulkan.so", "libvulkan.so.1", "libvulkan_lvp.so"}, {}, "cpu"},
      {"the loader asked every driver", {"libvulkan_radeon.so", "libvulkan_lvp.so"}, {}, "cpu"},
      {"a display node is no render node", {}, {"/dev/dri/card0"}, "cpu"},
      {"a driver without a node", {"libcuda.so.1"}, {}, "abstains"},
      {"a node without a driver", {}, {"/dev/nvidia0"}, "abstains"},
  };
  for (const Case& c : cases) {
    MeasuredRun run = run_of(full_cuda());
    run.raw.passes[0].process = process_facts(c.libraries, c.nodes);
    EXPECT_EQ(word(process_testimony(run)), c.word) << c.name;
    run.raw.passes[0].process.readable = false;
    EXPECT_EQ(word(process_testimony(run)), "abstains") << c.name;
  }
}

TEST(Witnesses, CpuMeter) {
  const auto meter = [](std::optional<double> cores, std::optional<int> threads, EngineLog log) {
    MeasuredRun run = run_of(std::move(log));
    run.passes[0].cpu.decode_cores = cores;
    run.passes[0].log.threads = threads;
    return word(cpu_meter_testimony(run));
  };
  EXPECT_EQ(meter(7.9, 8, full_cuda()), "cpu");
  EXPECT_EQ(meter(1.0, 8, full_cuda()), "gpu");
  EXPECT_EQ(meter(4.0, 8, full_cuda()), "abstains");
  EXPECT_EQ(meter(2.0, 2, full_cuda()), "cpu");
  EXPECT_EQ(meter(1.5, 2, full_cuda()), "abstains") << "waiting and printing take as much";
  EXPECT_EQ(meter(1.0, 1, full_cuda()), "abstains");
  EXPECT_EQ(meter(1.0, std::nullopt, full_cuda()), "abstains");
  EXPECT_EQ(meter(std::nullopt, 8, full_cuda()), "abstains");
  // Waiting for a remote worker looks the same as waiting for a GPU.
  EXPECT_EQ(meter(1.0, 8, log_of({weights("RPC0", 2700)}, 29, 29)), "abstains");
}

TEST(Witnesses, TimingDoubtsButNeverDecides) {
  const auto heard = [](double prefill, double decode, std::int64_t prompt) {
    EngineLog log = full_cuda();
    log.timings.push_back(timings(prefill, decode, prompt));
    RawRun raw = raw_run(1);
    raw.model = header();
    return timing_testimony(assemble(raw, {log}));
  };
  for (const Testimony& testimony : {heard(60, 20, 730), heard(6000, 20, 730), heard(20, 20, 8)}) {
    EXPECT_EQ(word(testimony), "abstains");
    EXPECT_NE(testimony.sentence.find(" GB/s"), std::string::npos);
  }
  EXPECT_NE(heard(60, 20, 730).sentence.find("doubtful"), std::string::npos);
  EXPECT_EQ(heard(6000, 20, 730).sentence.find("doubtful"), std::string::npos);
  EXPECT_EQ(heard(20, 20, 8).sentence.find("doubtful"), std::string::npos);
}

TEST(Witnesses, ClockGapNeedsASecondAndManyArrivals) {
  MeasuredRun run = run_of(full_cuda());
  RawPass& raw = run.raw.passes[0];
  raw.first_token = Micros(0);
  raw.last_token = Micros(20'000'000);
  raw.stdout_reads = 128;
  ASSERT_TRUE(clock_gap(run));
  EXPECT_NEAR(clock_gap(run)->arrived, 6.35, 0.01);
  raw.stdout_reads = 4;
  EXPECT_FALSE(clock_gap(run));
  raw.stdout_reads = 128;
  raw.last_token = Micros(7'000'000);
  EXPECT_FALSE(clock_gap(run));
}

}  // namespace
}  // namespace picchio
