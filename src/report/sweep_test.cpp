// What a sweep over context sizes prints, on figures made up here.
#include "report/sweep.h"

#include "base/text.h"
#include "report/described.h"
#include "report/golden.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace picchio {
namespace {

using nlohmann::json;

constexpr double kMiB = 1048576;

SweepTier tier(std::int64_t context, double decode, int layers, State state) {
  SweepTier out;
  out.context = context;
  out.end = TierEnd::measured;
  RunFigures& figures = out.figures;
  figures.context = context;
  figures.state = state;
  figures.sentence = "All layers and the KV cache are on the GPU.";
  figures.more.filled_tokens = context - 140;
  figures.more.cache_bytes = static_cast<double>(context) / 16 * kMiB;
  figures.more.compute_bytes = 300 * kMiB;
  figures.more.allocated_bytes = 5000 * kMiB + *figures.more.cache_bytes;
  figures.more.gpu_allocated_bytes = *figures.more.allocated_bytes;
  figures.placement.layers_on_gpu = layers;
  figures.placement.layers_total = 29;
  out.rates = {std::vector{20 * decode, 20.5 * decode}, std::vector{decode, 1.02 * decode},
               std::vector{decode / 2}};
  return out;
}

Sweep healthy() {
  Sweep out;
  out.model = "Qwen3-8B-Q4_K_M.gguf";
  out.engine = "llama.cpp b11669";
  out.arguments = "-ngl 99";
  out.machine = "AMD Ryzen 9 + GeForce RTX 4090, 64 GB, Linux 6.1.0";
  out.version = "0.1.0";
  out.passes = 2;
  out.tiers = {tier(4096, 120, 29, State::healthy), tier(16384, 100, 29, State::healthy),
               tier(32768, 80, 29, State::healthy)};
  out.tiers[1].end = TierEnd::earlier;
  out.tiers[1].id = 12;
  out.decode = DepthSlope{8.0, 0.13, 0.01, 3956, 32628, 121.2, 80.8, 6};
  out.prefill = DepthSlope{0.4, 0.007, 0.02, 3956, 32628, 2430, 1620, 6};
  return out;
}

/// Layers fall out, one size is skipped and one failed.
Sweep falling() {
  Sweep out = healthy();
  out.tiers[1] = tier(16384, 30, 20, State::partial_offload);
  out.tiers[1].note = "picchio plan: RTX 4090 lacks 1.20 GiB; -ngl 20 -c 16384 would go in";
  out.tiers[1].figures.sentence = "Only 20 of 29 layers are on the GPU.";
  out.tiers[1].figures.why = "the model and its cache are too large for the GPU";
  out.tiers[1].figures.fix = "-c 8192";
  out.tiers[2] = SweepTier{};
  out.tiers[2].context = 32768;
  out.tiers[2].end = TierEnd::failed;
  out.tiers[2].why = "llama-completion could not allocate its cache";
  SweepTier skipped;
  skipped.context = 1048576;
  skipped.end = TierEnd::skipped;
  skipped.why = "picchio plan: host lacks 100.00 GiB (--try-all tries it all the same)";
  out.tiers.push_back(skipped);
  out.decode.reset();
  out.prefill.reset();
  out.placed_otherwise_from = 16384;
  return out;
}

TEST(SweepText, Golden) {
  expect_golden("sweep_healthy.txt", sweep_text(healthy()));
  expect_golden("sweep_falling.txt", sweep_text(falling()));
}

TEST(SweepText, OneDepthHasNoSlopeAndNoPlot) {
  Sweep sweep = healthy();
  sweep.tiers.resize(1);
  sweep.decode.reset();
  sweep.prefill.reset();
  const std::string text = sweep_text(sweep);
  EXPECT_NE(text.find("SLOPE: not known"), std::string::npos);
  EXPECT_EQ(text.find("tok/s over depth"), std::string::npos);
}

TEST(SweepText, NothingMeasuredIsNoVerdict) {
  Sweep sweep = healthy();
  for (SweepTier& each : sweep.tiers) {
    each = SweepTier{};
    each.why = "a smaller context failed";
  }
  const std::string text = sweep_text(sweep);
  EXPECT_NE(text.find("VERDICT: none"), std::string::npos);
  EXPECT_EQ(text.find("HEALTHY"), std::string::npos);
  EXPECT_EQ(worst_tier(sweep), nullptr);
}

// One healthy size must not speak for one that fell, wherever it stands.
TEST(SweepText, TheWorstVerdictLeads) {
  for (const State state :
       {State::partial_offload, State::silent_cpu_fallback, State::conflicting_evidence,
        State::no_placement_evidence, State::no_timing_evidence, State::cpu_only_machine}) {
    for (std::size_t at = 0; at < 3; ++at) {
      Sweep sweep = healthy();
      sweep.tiers[at].figures.state = state;
      ASSERT_NE(worst_tier(sweep), nullptr);
      EXPECT_EQ(worst_tier(sweep)->figures.state, state);
      EXPECT_NE(sweep_text(sweep).find(fmt::format("{} at", name_of(state)).substr(0, 7)),
                std::string::npos);
    }
  }
}

TEST(SweepText, HostileTextsStayPlain) {
  Sweep sweep = falling();
  const std::string evil = "x\x1b[31m\n\xff" + std::string(3000, 'w');
  sweep.model = sweep.engine = sweep.arguments = sweep.machine = sweep.version = evil;
  for (SweepTier& each : sweep.tiers) {
    each.why = each.note = each.figures.sentence = each.figures.why = each.figures.fix = evil;
  }
  const std::string text = sweep_text(sweep);
  for (const std::string_view line : split_lines(text)) {
    EXPECT_LE(line.size(), 80U);
    EXPECT_EQ(plain_line(line), line);
  }
}

TEST(SweepText, NumbersOfEverySizeAreDrawn) {
  for (const double rate : {1e-9, 1e9, 0.0}) {
    Sweep sweep = healthy();
    for (SweepTier& each : sweep.tiers) {
      for (auto& rates : each.rates) rates.assign(2, rate);
      each.figures.more.filled_tokens = std::int64_t{1} << 60;
      each.figures.more.cache_bytes = 1e300;
    }
    sweep.decode->ms_per_thousand = 1e300;
    EXPECT_FALSE(sweep_text(sweep).empty());
    EXPECT_FALSE(sweep_json(sweep, 0).empty());
  }
}

TEST(SweepJson, SaysEverythingAndIsDescribed) {
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const json schema = json::parse(file_text(docs + "schema/sweep.v1.json"));
  for (const Sweep& sweep : {healthy(), falling()}) {
    const json document = json::parse(sweep_json(sweep, 3));
    EXPECT_EQ(document["schema"], "picchio.sweep.v1");
    EXPECT_EQ(document["exit_code"], 3);
    EXPECT_EQ(document["tiers"].size(), sweep.tiers.size());
    expect_described(document, schema, file_text(docs + "json.md"), "sweep");
  }
}

}  // namespace
}  // namespace picchio
