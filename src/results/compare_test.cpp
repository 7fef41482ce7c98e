#include "results/compare.h"

#include "evidence/card.h"
#include "results/block_reader.h"
#include "results/model_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace picchio::results {
namespace {

RunFigures healthy() {
  RunFigures out;
  out.model = "Qwen3.5-9B-Q4_K_M.gguf";
  out.parameters = 8.95e9;
  out.weight_bytes = 5669554176.0;
  out.engine = "llama.cpp";
  out.build = "b9430";
  out.placement.engagement = Engagement::engaged;
  out.placement.layers_on_gpu = 33;
  out.placement.layers_total = 33;
  out.placement.device = "GeForce RTX 4090";
  out.context = 4096;
  out.lane(Lane::prefill) = {{6811.7, false}, {6763.3, false}, 6746, 6780};
  out.lane(Lane::decode) = {{137.6, false}, {138.0, false}, 137.6, 138.4};
  out.lane(Lane::wallclock) = {{25.9, false}, {25.2, false}, 24.1, 26.3};
  out.state = State::healthy;
  out.protocol = "mp1";
  out.more.kv_type_k = "f16";
  out.more.kv_type_v = "f16";
  out.more.flash_attention = true;
  out.more.batch = 2048;
  out.more.ubatch = 512;
  out.more.driver = "550.54.14";
  out.cpu.threads = 8;
  out.meter.watts = 300;
  out.machine = {"AMD EPYC", "GeForce RTX 4090", 1, 64, "Linux 6.1"};
  return out;
}

std::string suspect_of(const Comparison& comparison) {
  return comparison.suspect ? comparison.conditions[*comparison.suspect].name : "";
}

TEST(Compare, ARunWithItself) {
  const Comparison same = compare(healthy(), healthy(), std::nullopt);
  EXPECT_EQ(same.not_comparable, "");
  EXPECT_FALSE(same.differs());
  EXPECT_EQ(suspect_of(same), "");
  for (const ComparedCondition& each : same.conditions) {
    EXPECT_TRUE(each.judged()) << each.name;
    EXPECT_FALSE(each.differs) << each.name;
  }
}

TEST(Compare, TheFirstDifferenceOnTheLadderIsTheSuspect) {
  const struct {
    const char* suspect;
    std::function<void(RunFigures&)> change;
  } table[] = {
      {"placement",
       [](RunFigures& run) {
         run.placement.layers_on_gpu = 10;
         run.build = "b1";
         run.context = 512;
       }},
      {"placement", [](RunFigures& run) { run.placement.layers_on_gpu = 32; }},
      {"device", [](RunFigures& run) { run.placement.device = "GeForce RTX 3090"; }},
      {"quant", [](RunFigures& run) { run.weight_bytes = *run.weight_bytes * 1.7; }},
      {"KV type", [](RunFigures& run) { run.more.kv_type_v = "q8_0"; }},
      {"flash attention", [](RunFigures& run) { run.more.flash_attention = false; }},
      {"context", [](RunFigures& run) { run.context = 32768; }},
      {"batch/ubatch", [](RunFigures& run) { run.more.ubatch = 128; }},
      {"threads", [](RunFigures& run) { run.cpu.threads = 4; }},
      {"arguments", [](RunFigures& run) { run.placement.arguments = "--no-mmap"; }},
      {"engine", [](RunFigures& run) { run.build = "b9999"; }},
      {"driver", [](RunFigures& run) { run.more.driver = "535.1"; }},
      {"power", [](RunFigures& run) { run.meter.watts = 200; }},
      {"power", [](RunFigures& run) { run.meter.throttled = true; }},
      {"hardware", [](RunFigures& run) { run.machine.chip = "AMD Ryzen"; }},
      {"OS", [](RunFigures& run) { run.machine.os = "Linux 6.14"; }},
      {"", [](RunFigures&) {}},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.suspect);
    RunFigures other = healthy();
    row.change(other);
    other.lane(Lane::decode) = {{70, false}, {70, false}, 69.5, 70.5};
    const Comparison comparison = compare(healthy(), other, std::nullopt);
    EXPECT_EQ(comparison.not_comparable, "");
    EXPECT_TRUE(comparison.differs());
    EXPECT_EQ(suspect_of(comparison), row.suspect);
  }
}

TEST(Compare, WhatIsNotToldIsNoDifference) {
  RunFigures other = healthy();
  other.more = {};
  other.meter = {};
  other.cpu = {};
  const Comparison comparison = compare(healthy(), other, std::nullopt);
  for (const ComparedCondition& each : comparison.conditions) EXPECT_FALSE(each.differs);
  EXPECT_FALSE(comparison.conditions[3].judged());
}

TEST(Compare, TheRunsOwnSpreadIsNoDifference) {
  const struct {
    double middle;
    double low;
    double high;
    std::optional<double> tolerance;
    bool differs;
  } table[] = {{100, 99, 101, {}, false},        {103.9, 103, 105, {}, false},
               {96.4, 95.5, 97.5, {}, false},    {106, 105, 107, {}, true},
               {100.9, 100.9, 100.9, {}, false}, {104.5, 104.5, 104.5, {}, false},
               {106, 106, 106, {}, true},        {104, 103, 105, 0.02, true},
               {112, 111, 113, 0.15, false},     {100.1, 100.05, 100.15, {}, false}};
  for (const auto& row : table) {
    RunFigures a = healthy();
    RunFigures b = healthy();
    a.lane(Lane::decode) = {{}, {100, false}, 99, 101};
    b.lane(Lane::decode) = {{}, {row.middle, false}, row.low, row.high};
    EXPECT_EQ(compare(a, b, row.tolerance).differs(), row.differs) << row.middle;
    EXPECT_EQ(compare(b, a, row.tolerance).differs(), row.differs) << row.middle;
  }
}

TEST(Compare, LanesThatCannotBeCompared) {
  RunFigures other = healthy();
  other.lane(Lane::prefill).warm = {std::nullopt, true};
  other.lane(Lane::decode) = {{137, false}, {}, {}, {}};
  other.protocol = "";
  const Comparison comparison = compare(healthy(), other, std::nullopt);
  EXPECT_EQ(comparison.lanes[0].why_not, "B abstains");
  EXPECT_EQ(comparison.lanes[1].why_not, "") << "first pass against first pass";
  EXPECT_FALSE(comparison.lanes[1].warm);
  EXPECT_EQ(comparison.lanes[1].a, 137.6);
  EXPECT_EQ(comparison.lanes[2].why_not, "A follows mp1, B no protocol");
  EXPECT_FALSE(comparison.differs());
}

TEST(Compare, NamesOfOneModel) {
  const struct {
    const char* a;
    const char* b;
    bool same;
  } table[] = {{"Qwen3.5-9B-Q4_K_M.gguf", "Qwen3.5-9B-Q8_0.gguf", true},
               {"Qwen3.5-9B-Q4_K_M.gguf", "qwen3.5:9b", true},
               {"/m/Qwen3.5-9B-UD-Q4_K_XL.gguf", "qwen3.5-9b-IQ2_XXS.gguf", true},
               {"Qwen3.5-9B.Q4_K_M-00001-of-00003.gguf", "Qwen3.5-9B", true},
               {"llama_Q4_K_M.gguf", "llama-f16.gguf", true},
               {"gpt-oss-20b-MXFP4.gguf", "gpt-oss:20b", true},
               {"tiny:latest", "tiny", true},
               {"hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", "Qwen3-8B-Q4_K_M.gguf", true},
               {"Qwen3-8B-i1-Q4_K_M.gguf", "Qwen3-8B-Q4_K_M.gguf", true},
               {"Qwen3-1.7B-Q8_0.gguf", "Qwen3-17B-Q8_0.gguf", false},
               {"phi-3.5.gguf", "phi-35.gguf", false},
               {"gemma-3-1b.gguf", "gemma-31b.gguf", false},
               {"Qwen3_1_7B.gguf", "qwen3-1.7b", true},
               {"qwen1b.gguf", "qwen1bv2.gguf", false},
               {"Qwen3.5-9B-Q4_K_M.gguf", "Qwen3.5-9B-abliterated-Q4_K_M.gguf", false},
               {"Qwen3.5-9B-Q4_K_M.gguf", "Qwen3.5-4B-Q4_K_M.gguf", false},
               {"q4-model-a.gguf", "q4-model-b.gguf", false}};
  for (const auto& row : table) {
    EXPECT_EQ(model_core(row.a) == model_core(row.b), row.same) << row.a << " " << row.b;
    EXPECT_FALSE(model_core(row.a).empty());
  }
  for (const char* none : {"model.gguf", "", "sha256-0011", "ggml-model-Q4_0.gguf", "model"}) {
    EXPECT_EQ(model_core(none), "") << none;
  }
}

TEST(Compare, DifferentModelsAreNot) {
  RunFigures other = healthy();
  other.model = "Qwen3.5-4B-Q4_K_M.gguf";
  other.parameters = 4e9;
  const Comparison comparison = compare(healthy(), other, std::nullopt);
  EXPECT_EQ(
      comparison.not_comparable,
      "Qwen3.5-9B-Q4_K_M.gguf has 8.95 B parameters, Qwen3.5-4B-Q4_K_M.gguf 4.00 B: different "
      "models");
  EXPECT_FALSE(comparison.differs());
  other.parameters.reset();
  EXPECT_EQ(compare(healthy(), other, {}).not_comparable,
            "Qwen3.5-9B-Q4_K_M.gguf and Qwen3.5-4B-Q4_K_M.gguf are different models");
  other = healthy();
  other.model = "model.gguf";
  EXPECT_EQ(compare(healthy(), other, {}).not_comparable, "") << "as many parameters";
  other.parameters.reset();
  EXPECT_EQ(compare(healthy(), other, {}).not_comparable,
            "whether Qwen3.5-9B-Q4_K_M.gguf and model.gguf are one model is not told");
}

TEST(Compare, RelatedNamesAreOneModelWhereTheSizeSaysSo) {
  const struct {
    const char* a;
    const char* b;
    bool related;
  } table[] = {
      {"Qwen_Qwen3-8B-Q4_K_M.gguf", "Qwen3-8B-Q4_K_M.gguf", true},
      {"Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "Llama-3.1-8B-Instruct-Q4_K_M.gguf", true},
      {"qwen3:latest", "qwen3:8b", true},
      {"qwen3:8b", "gemma3:8b", false},
      {"model.gguf", "gemma3:8b", false}};
  for (const auto& row : table) {
    EXPECT_EQ(names_are_related(row.a, row.b), row.related) << row.a << " " << row.b;
    EXPECT_EQ(names_are_related(row.b, row.a), row.related) << row.b << " " << row.a;
    if (model_core(row.a).empty()) continue;
    RunFigures one = healthy();
    RunFigures other = healthy();
    one.model = row.a;
    other.model = row.b;
    EXPECT_EQ(compare(one, other, {}).not_comparable.empty(), row.related) << row.a << " " << row.b;
    one.parameters.reset();
    EXPECT_FALSE(compare(one, other, {}).not_comparable.empty()) << row.a << " " << row.b;
  }
}

TEST(Compare, WhatALadderMustNotOverlook) {
  struct Row {
    const char* what;
    std::function<void(RunFigures&)> change;
    const char* suspect;
  };
  const std::vector<Row> table = {
      {"backend", [](RunFigures& run) { run.placement.backend = "Vulkan"; }, "device"},
      {"the KV cache's place", [](RunFigures& run) { run.placement.kv = "cpu"; }, "placement"},
      {"a part of the KV cache", [](RunFigures& run) { run.placement.kv = "40% gpu"; },
       "placement"},
      {"protocol", [](RunFigures& run) { run.protocol = "mp2"; }, "prompt"},
      {"llama-bench's prompt", [](RunFigures& run) { run.more.prompt_tokens = 4096; }, "prompt"},
      {"an argument", [](RunFigures& run) { run.placement.arguments = "-fa on -b 512"; },
       "arguments"},
      {"the order of arguments",
       [](RunFigures& run) { run.placement.arguments = "--flash-attn=on -b 4096"; }, ""},
  };
  for (const Row& row : table) {
    RunFigures a = healthy();
    a.placement.backend = "CUDA";
    a.placement.kv = "gpu";
    a.placement.arguments = "-b 4096 -fa on";
    RunFigures b = a;
    row.change(b);
    b.lane(Lane::decode) = {{67, false}, {67, false}, 67, 67.4};
    const Comparison comparison = compare(a, b, std::nullopt);
    EXPECT_TRUE(comparison.differs()) << row.what;
    EXPECT_EQ(suspect_of(comparison), row.suspect) << row.what;
  }
}

TEST(Compare, NothingInCommonIsNotAlike) {
  RunFigures other = healthy();
  for (const Lane lane : kLanes) other.lane(lane) = {{{}, true}, {{}, true}, {}, {}};
  EXPECT_FALSE(compare(healthy(), other, {}).any_lane());
  EXPECT_FALSE(compare(healthy(), other, {}).differs());
  EXPECT_TRUE(compare(healthy(), healthy(), {}).any_lane());
}

TEST(Compare, AnotherVerdictIsADifference) {
  RunFigures other = healthy();
  other.state = State::conflicting_evidence;
  const Comparison comparison = compare(healthy(), other, {});
  EXPECT_TRUE(comparison.differs());
  EXPECT_EQ(suspect_of(comparison), "");
  EXPECT_TRUE(comparison.verdicts.differs);
  // What says how much was seen is no difference of the runs.
  other.state = State::no_placement_evidence;
  EXPECT_FALSE(compare(healthy(), other, {}).differs());
  other.state.reset();
  EXPECT_FALSE(compare(healthy(), other, {}).differs());
}

TEST(Compare, QuantsInNames) {
  const struct {
    const char* name;
    const char* quant;
  } table[] = {{"a-Q4_K_M.gguf", "Q4_K_M"},
               {"a-UD-IQ2_XXS.gguf", "IQ2_XXS"},
               {"a.q8_0.gguf", "Q8_0"},
               {"llama_Q5_K_S.gguf", "Q5_K_S"},
               {"a-bf16.gguf", "BF16"},
               {"a-MXFP4_MOE.gguf", "MXFP4_MOE"},
               {"qwen3:8b-q4_K_M", "Q4_K_M"},
               {"a-Q6_K_L.gguf", "Q6_K_L"},
               {"a-TQ1_0.gguf", "TQ1_0"},
               {"qwen2.gguf", ""},
               {"iq.gguf", ""},
               {"q9_0.gguf", ""},
               {"", ""}};
  for (const auto& row : table) EXPECT_EQ(label_in_name(row.name), row.quant) << row.name;
}

TEST(Compare, RecordedBlocks) {
  const std::filesystem::path folder = std::filesystem::path(PICCHIO_CORPUS_DIR) / "blocks";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded blocks here";
  const auto read = [&](const char* name) {
    std::ifstream in(folder / name);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return find_blocks(text).at(0).figures;
  };
  const Comparison comparison =
      compare(read("healthy-metal.txt"), read("cpu-fallback.txt"), std::nullopt);
  EXPECT_EQ(comparison.not_comparable, "");
  EXPECT_EQ(suspect_of(comparison), "placement");
  EXPECT_NEAR(comparison.lanes[0].ratio(), 21.9, 0.05);
  EXPECT_NEAR(comparison.lanes[1].ratio(), 1.7, 0.05);
  EXPECT_NEAR(comparison.lanes[2].ratio(), 5.2, 0.05);
}

}  // namespace
}  // namespace picchio::results
