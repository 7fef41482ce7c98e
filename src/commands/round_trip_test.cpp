// Whatever the block's writer writes, the reader reads back to the same facts: every sample run,
// and thousands that are made of them at random.
#include "base/text.h"
#include "report/block.h"
#include "report/figures.h"
#include "report/sample_runs.h"
#include "results/block_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>

namespace picchio {
namespace {

constexpr double kGiB = 1073741824;

/// A figure that was printed with a step of `step`.
void expect_figure(const char* what, std::optional<double> exact, std::optional<double> read,
                   double step) {
  ASSERT_EQ(exact.has_value(), read.has_value()) << what;
  if (exact) {
    EXPECT_NEAR(*exact, *read, step * 0.5001 + std::abs(*exact) * 1e-12) << what;
  }
}

/// As printed in at most so many columns.
void expect_text(const char* what, const std::string& exact, const std::string& read) {
  if (read.ends_with("..")) {
    EXPECT_TRUE(exact.starts_with(read.substr(0, read.size() - 2))) << what << ": " << read;
  } else {
    EXPECT_EQ(exact, read) << what;
  }
}

double size_step(double bytes) {
  return bytes >= kGiB ? kGiB / 100 : bytes >= 1 << 20 ? 0.1 * (1 << 20) : 1024;
}

void expect_rate(const char* what, const Rate& exact, const Rate& read) {
  EXPECT_EQ(exact.abstains, read.abstains) << what;
  expect_figure(what, exact.value, read.value, 0.1);
}

void expect_lanes(const RunFigures& exact, const RunFigures& read) {
  for (const Lane lane : kLanes) {
    SCOPED_TRACE(name_of(lane));
    expect_rate("cold", exact.lane(lane).cold, read.lane(lane).cold);
    expect_rate("warm", exact.lane(lane).warm, read.lane(lane).warm);
    const double step = lane == Lane::prefill ? 1 : 0.1;
    expect_figure("low", exact.lane(lane).low, read.lane(lane).low, step);
    expect_figure("high", exact.lane(lane).high, read.lane(lane).high, step);
  }
}

void expect_placement(const PlacementFigures& exact, const PlacementFigures& read) {
  EXPECT_EQ(exact.engagement, read.engagement);
  if (read.layers_on_gpu) {
    EXPECT_EQ(exact.layers_on_gpu, read.layers_on_gpu);
  }
  if (read.layers_total) {
    EXPECT_EQ(exact.layers_total, read.layers_total);
  }
  if (exact.layers_total && !exact.claimed_share) {
    EXPECT_TRUE(read.layers_total);
  }
  expect_figure("gpu share", exact.gpu_share, read.gpu_share, 0.002);
  if (!read.arguments.empty()) expect_text("arguments", exact.arguments, read.arguments);
  if (!read.device.empty()) {
    EXPECT_TRUE(exact.device.starts_with(read.device));
  }
  if (!read.backend.empty() && !exact.backend.empty()) {
    EXPECT_EQ(exact.backend, read.backend);
  }
  for (const DeviceBytes& device : read.devices) {
    const auto same = std::ranges::find_if(exact.devices, [&](const DeviceBytes& each) {
      return each.device == device.device && std::abs(each.bytes - device.bytes) <= 0.06 * kGiB;
    });
    EXPECT_NE(same, exact.devices.end()) << device.device << " " << device.bytes;
  }
}

void expect_meter(const MeterFigures& exact, const MeterFigures& read) {
  EXPECT_EQ(exact.not_sampled.empty(), read.not_sampled.empty());
  expect_figure("idle", exact.idle_percent, read.idle_percent, 1);
  expect_figure("work", exact.work_percent, read.work_percent, 1);
  expect_figure("memory", exact.memory_bytes, read.memory_bytes, kGiB / 10);
  // The last figures of a line go when it is full.
  if (read.watts) expect_figure("watts", exact.watts, read.watts, *read.watts < 100 ? 0.1 : 1);
  if (read.joules_per_token) {
    expect_figure("energy", exact.joules_per_token, read.joules_per_token, 0.01);
  }
  if (read.throttled) {
    EXPECT_TRUE(exact.throttled);
  }
}

void expect_cold_pass(const RunFigures& exact, const RunFigures& read) {
  ASSERT_EQ(exact.cold_pass.has_value(), read.cold_pass.has_value());
  if (!exact.cold_pass) return;
  const ColdPassFigures& a = *exact.cold_pass;
  const ColdPassFigures& b = *read.cold_pass;
  expect_figure("cold pass", a.seconds, b.seconds, 0.1);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.cores, b.cores);
  EXPECT_EQ(a.cache, b.cache);
  expect_figure("load", a.load.seconds, b.load.seconds, 0.1);
  expect_figure("prefill", a.prefill.seconds, b.prefill.seconds, 0.1);
  expect_figure("decode", a.decode.seconds, b.decode.seconds, 0.1);
  expect_figure("misc", a.misc.seconds, b.misc.seconds, 0.1);
  // A phase longer than its pass has no percentage.
  if (b.load.percent) expect_figure("load", a.load.percent, b.load.percent, 1);
  if (b.decode.percent) expect_figure("decode", a.decode.percent, b.decode.percent, 1);
}

void expect_same(const RunFigures& exact, const results::PastedBlock& block) {
  const RunFigures& read = block.figures;
  EXPECT_TRUE(block.unread.empty()) << block.unread.front();
  expect_text("model", exact.model, read.model);
  expect_figure("parameters", exact.parameters, read.parameters,
                exact.parameters.value_or(0) / 100);
  EXPECT_EQ(exact.quant, read.quant);
  expect_figure("weights", exact.weight_bytes, read.weight_bytes,
                size_step(exact.weight_bytes.value_or(0)));
  EXPECT_EQ(exact.engine, read.engine);
  EXPECT_EQ(exact.build, read.build);
  EXPECT_EQ(exact.context, read.context);
  EXPECT_EQ(exact.only_one_pass, read.only_one_pass);
  EXPECT_EQ(exact.server_was_warm, read.server_was_warm);
  EXPECT_EQ(exact.state, read.state);
  EXPECT_EQ(exact.why.empty(), read.why.empty());
  expect_text("why", exact.why, read.why);
  expect_text("fix", exact.fix, read.fix);
  EXPECT_EQ(exact.version, read.version);
  EXPECT_EQ(exact.protocol, read.protocol);
  EXPECT_EQ(exact.machine.chip, read.machine.chip);
  EXPECT_EQ(exact.machine.gpu, read.machine.gpu);
  EXPECT_EQ(exact.machine.gpu_count, read.machine.gpu_count);
  expect_figure("RAM", exact.machine.ram_gib, read.machine.ram_gib, 1);
  expect_text("OS", exact.machine.os, read.machine.os);
  expect_figure("cores", exact.cpu.busy_cores, read.cpu.busy_cores, 0.1);
  EXPECT_EQ(exact.cpu.threads, read.cpu.threads);
  EXPECT_EQ(exact.sampling.has_value(), read.sampling.has_value());
  if (exact.sampling && read.sampling) {
    expect_figure("temperature", exact.sampling->temperature, read.sampling->temperature, 1e-4);
    EXPECT_EQ(exact.sampling->seed, read.sampling->seed);
  }
  expect_lanes(exact, read);
  expect_placement(exact.placement, read.placement);
  expect_meter(exact.meter, read.meter);
  expect_cold_pass(exact, read);
}

void expect_round_trip(const Run& run, const Verdict& verdict) {
  const std::string text = block(run, verdict);
  SCOPED_TRACE(text);
  const auto blocks = results::find_blocks("> see here:\n" + text + "\nthanks\n");
  ASSERT_EQ(blocks.size(), 1U);
  expect_same(figures_of(run, verdict), blocks[0]);
}

/// A run with other figures than its sample's, each as a run may have it.
class Scrambler {
 public:
  explicit Scrambler(std::uint32_t seed) : random_(seed) {}

  void scramble(samples::Sample& sample) {
    Run& run = sample.run;
    for (LaneSummary* lane : {&run.warm_prefill, &run.warm_decode, &run.warm_wallclock}) {
      scramble(*lane);
    }
    for (Pass& pass : run.passes) scramble(pass);
    if (chance()) run.context = static_cast<std::int64_t>(up_to(1e6));
    run.raw.machine.logical_cores = 1 + static_cast<int>(up_to(256));
    run.raw.machine.ram_bytes = static_cast<std::int64_t>(up_to(2048 * kGiB));
    run.raw.machine.chip = one_of({"Apple M5", "AMD EPYC 7402 24-Core Processor",
                                   "Intel(R) Core(TM) Ultra 7, 155H", "13th Gen Intel(R), x"});
    run.raw.machine.os = one_of({"Linux 6.1.0-18-amd64", "macOS 26.5.1", "Windows 11, WSL 2.4"});
    run.raw.picchio_version = one_of({"0.1.0", "1.12.3"});
    for (DeviceAccount& device : run.placement.devices) {
      if (device.weights_bytes) device.weights_bytes = static_cast<std::int64_t>(up_to(90 * kGiB));
    }
    if (run.placement.layers_total) {
      run.placement.layers_total = 1 + static_cast<int>(up_to(120));
      run.placement.layers_on_gpu = static_cast<int>(up_to(*run.placement.layers_total + 0.9));
    }
    if (run.placement.weights_on_gpu_fraction && chance()) {
      run.placement.weights_on_gpu_fraction = up_to(1);
    }
    if (chance()) run.raw.user_args = {"-ngl", one_of({"0", "12"}), "-ot", "exps=CPU"};
    for (GpuUse& use : run.gpu_use) {
      if (use.work.watts) use.work.watts = up_to(700);
      if (use.work.busy_median) use.work.busy_median = up_to(100);
      if (use.memory_step) use.memory_step = static_cast<std::int64_t>(up_to(90 * kGiB) - kGiB);
    }
    if (chance()) {
      sample.verdict.sentence = one_of({"The GPU did the work. decode: 3 tok/s is what to quote.",
                                        "It fell back; prefill 12 tok/s says so, gpu idle."});
    }
    if (!run.raw.server && run.raw.model) {
      run.raw.model->path = one_of({"/m/a, b.gguf", "/m/Qwen3.5-9B-Q4_K_M.gguf", "/m/8.95 B.gguf"});
    }
  }

 private:
  bool chance() { return random_() % 2 == 0; }
  double up_to(double most) {
    // Of every size: a rate is 0.04 as well as 40,000.
    const double share = std::uniform_real_distribution<double>(0, 1)(random_);
    return chance() ? most * share : most * std::pow(10, -5 * share);
  }
  std::string one_of(std::vector<std::string> choices) {
    return choices[random_() % choices.size()];
  }
  void scramble(LaneSummary& lane) {
    if (!lane.median) return;
    lane.median = up_to(30000);
    lane.low = *lane.median * 0.97;
    lane.high = *lane.median * 1.02;
    lane.abstain = random_() % 5 == 0 ? "a reason" : "";
  }
  void scramble(Pass& pass) {
    const auto change = [&](std::optional<double>& value, double most) {
      if (value) value = up_to(most);
    };
    change(pass.lanes.prefill, 30000);
    change(pass.lanes.decode, 900);
    change(pass.lanes.wallclock, 200);
    if (random_() % 5 == 0) pass.lanes.prefill_abstain = "cached";
    change(pass.load_seconds, 60);
    change(pass.prefill_seconds, 60);
    change(pass.decode_seconds, 200);
    pass.wall_seconds = 1 + up_to(400);
    if (pass.cpu.decode_cores) pass.cpu.decode_cores = up_to(64);
    if (pass.log.threads) pass.log.threads = 1 + static_cast<int>(up_to(128));
  }

  std::mt19937 random_;
};

TEST(RoundTrip, EverySampleRun) {
  for (const samples::Sample& sample : samples::all()) {
    SCOPED_TRACE(sample.name);
    expect_round_trip(sample.run, sample.verdict);
  }
}

TEST(RoundTrip, RunsAtRandom) {
  for (std::uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    Scrambler scrambler(seed);
    for (samples::Sample& sample : samples::all()) {
      SCOPED_TRACE(sample.name + " " + std::to_string(seed));
      scrambler.scramble(sample);
      expect_round_trip(sample.run, sample.verdict);
    }
  }
}

}  // namespace
}  // namespace picchio
