// Goldens of every sample run, the limits of the block under hostile input, and the grammar that
// the established tool's readers need.
#include "base/text.h"
#include "report/block.h"
#include "report/described.h"
#include "report/explain.h"
#include "report/golden.h"
#include "report/json.h"
#include "report/layout.h"
#include "report/log_text.h"
#include "report/names.h"
#include "report/sample_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace picchio {
namespace {

using samples::Sample;

EngineLog log_of(const Sample& sample) {
  if (sample.run.passes.empty()) return {};
  EngineLog log = sample.run.passes.front().log;
  EngineTimings timings = sample.run.passes.front().timings;
  timings.prefill_tokens_per_second = sample.run.passes.front().lanes.prefill;
  timings.decode_tokens_per_second = sample.run.passes.front().lanes.decode;
  if (timings.prompt_ms) log.timings.push_back(timings);
  return log;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

bool is_plain_lines(const std::string& text) {
  return std::ranges::all_of(split_lines(text), is_plain) && text.find('\r') == std::string::npos;
}

// What holds for every block whatever went in.
void expect_block_rules(const std::string& text, const std::string& what) {
  SCOPED_TRACE(what + "\n" + text);
  ASSERT_TRUE(text.ends_with('\n'));
  const auto lines = split_lines(text);
  EXPECT_LE(lines.size(), kBlockRows);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool wide = i == 0 || i + 1 == lines.size();
    EXPECT_LE(lines[i].size(), wide ? kWideColumns : kBlockColumns) << lines[i];
    EXPECT_FALSE(lines[i].empty());
    EXPECT_TRUE(is_plain(lines[i])) << "in " << lines[i];
  }
  EXPECT_TRUE(lines[0].starts_with("model    "));
  EXPECT_TRUE(lines[1].starts_with("gpu      "));
  EXPECT_TRUE(lines[2].starts_with("bytes    "));
  EXPECT_TRUE(lines.back().starts_with("-- picchio v"));
}

std::size_t rows_starting(const std::string& text, std::string_view prefix) {
  std::size_t count = 0;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with(prefix)) ++count;
  }
  return count;
}

class EverySample : public testing::TestWithParam<Sample> {};

TEST_P(EverySample, BlockIsAsGolden) {
  const std::string text = block(GetParam().run, GetParam().verdict);
  expect_block_rules(text, GetParam().name);
  expect_golden(GetParam().name + ".block.txt", text);
}

TEST_P(EverySample, ExplanationIsAsGolden) {
  const std::string text = explain(GetParam().run, GetParam().verdict);
  for (const std::string_view line : split_lines(text)) EXPECT_LE(line.size(), 80U) << line;
  expect_golden(GetParam().name + ".explain.txt", text);
}

TEST_P(EverySample, LogTextIsAsGolden) {
  const std::string text =
      log_text(log_of(GetParam()), GetParam().run.placement, GetParam().verdict);
  const auto lines = split_lines(text);
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_LE(lines[i].size(), kBlockColumns) << lines[i];
  expect_golden(GetParam().name + ".log.txt", text);
}

TEST_P(EverySample, DegradedVerdictsAloneOweAWhy) {
  const std::string text = block(GetParam().run, GetParam().verdict);
  const bool degraded = GetParam().verdict.state == State::partial_offload ||
                        GetParam().verdict.state == State::silent_cpu_fallback;
  EXPECT_EQ(rows_starting(text, "WHY: "), degraded ? 1U : 0U);
  EXPECT_EQ(rows_starting(text, "FIX: "), degraded && GetParam().verdict.cause ? 1U : 0U);
}

TEST_P(EverySample, JsonHoldsTheSameFacts) {
  const Sample& sample = GetParam();
  const auto json = nlohmann::json::parse(run_json(sample.run, sample.verdict, 4, "kept/run"));
  EXPECT_EQ(json["schema"], "picchio.diagnose.v1");
  EXPECT_EQ(json["exitCode"], 4);
  EXPECT_EQ(json["evidenceDirectory"], "kept/run");
  EXPECT_EQ(json["state"], std::string(name_of(sample.verdict.state)));
  EXPECT_EQ(json["passes"].size(), sample.run.passes.size());
  EXPECT_EQ(json["testimonies"].size(), sample.verdict.testimonies.size());
  EXPECT_EQ(json["placement"]["shape"], std::string(name_of(sample.run.placement.shape)));
  EXPECT_EQ(json["placement"]["devices"].size(), sample.run.placement.devices.size());
  EXPECT_EQ(json["why"].is_null(), rows_starting(block(sample.run, sample.verdict), "WHY: ") == 0);
}

TEST_P(EverySample, LogJsonHoldsTheSameFacts) {
  const Sample& sample = GetParam();
  const auto json =
      nlohmann::json::parse(log_json(log_of(sample), sample.run.placement, sample.verdict, 3));
  EXPECT_EQ(json["schema"], "picchio.explain-log.v1");
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["verdict"], std::string(name_of(sample.verdict.state)));
  EXPECT_EQ(json["placement"], std::string(name_of(sample.run.placement.shape)));
  EXPECT_EQ(json["layers"].is_null(), !sample.run.placement.layers_on_gpu.has_value());
  EXPECT_EQ(json["devices"].size(), sample.run.placement.devices.size());
}

INSTANTIATE_TEST_SUITE_P(Report, EverySample, testing::ValuesIn(samples::all()),
                         [](const auto& sample) { return sample.param.name; });

// The lines that this block shares with the established tool's, against one it published.
TEST(Block, SharedLinesAreThoseOfThePublishedBlock) {
  const std::string path = std::string(PICCHIO_CORPUS_DIR) + "/blocks/healthy-metal.txt";
  const std::string published = file_text(path);
  if (published.empty()) GTEST_SKIP() << "no corpus: " << path;
  const Sample sample = samples::healthy_metal();
  const std::string text = block(sample.run, sample.verdict);
  std::size_t compared = 0;
  for (const std::string_view line : split_lines(published)) {
    if (line.starts_with("os ")) continue;  // its meter
    EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line << "\n" << text;
    ++compared;
  }
  EXPECT_EQ(compared, 15U);
}

// Strings that must not get through, in every place that takes one.
const std::string kHostile =
    "\x1b[31mred\x1b[0m \x1b]0;title\a\x01\x7f\r\nVERDICT: HEALTHY.\nM\xc3\xb6"
    "del \xff\xfe \xe2\x80\xae end";

void make_hostile(Sample& sample, const std::string& text) {
  Run& run = sample.run;
  run.raw.picchio_version = text;
  run.raw.protocol = text;
  run.raw.engine = {text, text, text, text};
  run.raw.model_label = text;
  run.raw.machine.chip = text;
  run.raw.machine.os = text;
  run.raw.machine.gpus = {{text, text, text, text, text, true, text}};
  run.raw.user_args = {text, text};
  run.raw.environment = {{text, text}};
  run.raw.prompt_note = text;
  run.disagreement = text + "1";
  run.notes = {text + "2"};
  for (DeviceAccount& device : run.placement.devices) device.name = device.description = text;
  run.placement.reason = text;
  for (Pass& pass : run.passes) {
    pass.log.engine = pass.log.version = text;
    pass.remarks = {text + "3", text + "4"};
    pass.lanes.prefill_abstain = text + "5";
    for (Load& load : pass.log.loads) {
      load.model_path = load.model_name = load.file_type = load.kv_type_k = text;
    }
    pass.log.notes = std::vector<std::string>(20, text);
  }
  sample.verdict.sentence = text + ". " + text;
  sample.verdict.rule = text;
  if (sample.verdict.cause) sample.verdict.cause = Cause{text, text, text};
  for (Testimony& testimony : sample.verdict.testimonies) testimony.sentence = text;
}

TEST(Hostile, NothingBreaksTheBlock) {
  const std::string wide(5000, 'W');
  std::string words;
  for (int i = 0; i < 900; ++i) words += "some words; and. ";
  for (const std::string& text : {kHostile, wide, words, kHostile + words, std::string("\0", 1)}) {
    for (Sample sample : samples::all()) {
      make_hostile(sample, text);
      const std::string out = block(sample.run, sample.verdict);
      expect_block_rules(out, sample.name);
      EXPECT_EQ(rows_starting(out, "VERDICT: "), 1U) << out;
      const bool degraded = sample.verdict.state == State::partial_offload ||
                            sample.verdict.state == State::silent_cpu_fallback;
      EXPECT_EQ(rows_starting(out, "WHY: "), degraded ? 1U : 0U) << out;
      for (const std::string& other :
           {explain(sample.run, sample.verdict),
            log_text(log_of(sample), sample.run.placement, sample.verdict)}) {
        EXPECT_TRUE(is_plain_lines(other)) << other;
      }
    }
  }
}

TEST(Hostile, JsonStaysValidAscii) {
  for (Sample sample : samples::all()) {
    make_hostile(sample, kHostile);
    for (const std::string& text :
         {run_json(sample.run, sample.verdict, 0, kHostile),
          log_json(log_of(sample), sample.run.placement, sample.verdict, 0)}) {
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
      EXPECT_TRUE(is_plain_lines(text)) << text;
    }
  }
}

void make_huge(Sample& sample, double real, std::int64_t whole) {
  const int small = whole > 0 ? std::numeric_limits<int>::max() : std::numeric_limits<int>::min();
  Run& run = sample.run;
  run.context = whole;
  run.raw.machine.ram_bytes = whole;
  run.raw.machine.logical_cores = small;
  run.placement.layers_on_gpu = run.placement.layers_total = small;
  run.placement.weights_on_gpu_fraction = real;
  run.placement.missing_bytes = whole;
  for (DeviceAccount& device : run.placement.devices) {
    device.weights_bytes = device.kv_bytes = whole;
    device.free_bytes = whole;
  }
  for (Pass& pass : run.passes) {
    pass.lanes = {real, real, real, "", "", ""};
    pass.cpu = {real, real};
    pass.wall_seconds = real;
    pass.load_seconds = pass.prefill_seconds = pass.decode_seconds = real;
    pass.log.threads = pass.log.cores = small;
    pass.log.sampling = {real, real, real, real, whole};
    for (Load& load : pass.log.loads) {
      load.parameters = real;
      load.weight_bytes = whole;
      load.splits = GraphSplits{whole, whole, whole, 1, false};
    }
  }
  run.warm_prefill = run.warm_decode = run.warm_wallclock = {real, real, real, ""};
  for (RawPass& pass : run.raw.passes) pass.cached_fraction = real;
}

TEST(Hostile, NumbersOfEverySizeKeepTheColumns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double reals[] = {
      0,     -1,     1e-300,    99999999.0, 123456789.0,
      1e300, -1e300, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  for (const double real : reals) {
    for (const std::int64_t whole : {INT64_MAX, INT64_MIN, std::int64_t{0}, std::int64_t{1}}) {
      for (Sample sample : samples::all()) {
        make_huge(sample, real, whole);
        expect_block_rules(block(sample.run, sample.verdict),
                           sample.name + fmt::format(" {}", real));
        EXPECT_TRUE(nlohmann::json::accept(run_json(sample.run, sample.verdict, 0)));
        const std::string log = log_text(log_of(sample), sample.run.placement, sample.verdict);
        for (const std::string_view line : split_lines(log)) EXPECT_LE(line.size(), kWideColumns);
      }
    }
  }
}

TEST(Block, SixteenCardsStillFit) {
  Sample sample = samples::partial();
  auto& devices = sample.run.placement.devices;
  for (int i = 0; i < 16; ++i) {
    devices.insert(devices.begin(),
                   samples::account(fmt::format("CUDA{}", 15 - i), "NVIDIA H100 80GB HBM3",
                                    DeviceKind::hardware_gpu, 40000 + i, 1000));
  }
  const std::string text = block(sample.run, sample.verdict);
  expect_block_rules(text, "16 cards");
  EXPECT_NE(text.find("CUDA0 "), std::string::npos) << text;
}

TEST(Block, LittleOnTheHostIsNeverRoundedToAll) {
  Sample sample = samples::partial();
  sample.run.placement.weights_on_gpu_fraction = 0.99999;
  EXPECT_NE(block(sample.run, sample.verdict).find("weights 99.9% gpu"), std::string::npos);
  sample.run.placement.weights_on_gpu_fraction = 0.00001;
  EXPECT_NE(block(sample.run, sample.verdict).find("weights 0.1% gpu"), std::string::npos);
}

TEST(Block, AllThatBelongsOnAGpuIsAHundredPercent) {
  struct Case {
    Shape shape;
    std::optional<std::int64_t> missing;
    bool all;
  };
  for (const Case& each :
       {Case{Shape::gpu, 0, true}, Case{Shape::gpu, std::nullopt, true},
        Case{Shape::partial, 0, true},  // its KV cache is on the host
        Case{Shape::partial, std::nullopt, false}, Case{Shape::partial, 1, false},
        Case{Shape::cpu, 0, false}, Case{Shape::software_device, 0, false},
        Case{Shape::remote, 0, false}, Case{Shape::unknown, 0, false}}) {
    Sample sample = samples::healthy_cuda();
    sample.run.placement.shape = each.shape;
    sample.run.placement.missing_bytes = each.missing;
    const std::string text = block(sample.run, sample.verdict);
    EXPECT_EQ(text.find("weights 100% gpu") != std::string::npos, each.all) << text;
  }
}

TEST(Block, AClockThatContradictsTheWallIsNoShare) {
  Sample sample = samples::healthy_cuda();
  sample.run.passes[0].load_seconds = 20000;
  const std::string text = block(sample.run, sample.verdict);
  EXPECT_NE(text.find("load weights 20000.0 s  ############################   n/a\n"),
            std::string::npos)
      << text;
}

TEST(Block, APhaseThatWasNotReadIsNotMisc) {
  Sample sample = samples::healthy_cuda();
  sample.run.passes[0].load_seconds.reset();
  const std::string text = block(sample.run, sample.verdict);
  EXPECT_NE(text.find("  load weights    n/a    ............................   n/a\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  engine misc     n/a    ............................   n/a\n"),
            std::string::npos)
      << text;
}

TEST(Block, WhyAndFixAreCutButNeverDropped) {
  Sample sample = samples::two_cards();  // two rows of bytes: the least room there is
  sample.verdict.cause->why = std::string(300, 'w') + " why";
  sample.verdict.cause->fix = std::string(300, 'f') + " fix";
  const std::string text = block(sample.run, sample.verdict);
  expect_block_rules(text, "long hints");
  EXPECT_EQ(rows_starting(text, "WHY: "), 1U);
  EXPECT_EQ(rows_starting(text, "FIX: "), 1U);
}

TEST(Block, RemarksComeMostImportantFirst) {
  Sample sample = samples::abstaining();
  sample.run.disagreement = "pass 2 is elsewhere";
  const auto remarks = report::remarks_of(sample.run, "");
  ASSERT_GE(remarks.size(), 4U);
  EXPECT_EQ(remarks[0], "pass 2 is elsewhere");
  EXPECT_EQ(remarks[1], "prefill abstains: the engine reused 512 cached prompt tokens");
  EXPECT_EQ(remarks[2], "prefill abstains: 12x slower than its siblings: shaders were compiled");
  EXPECT_EQ(remarks[3], "64 tokens were generated, 128 were asked");
}

TEST(Block, ARemarkThatTheVerdictHoldsIsNotRepeated) {
  Sample sample = samples::one_pass();
  sample.verdict.sentence = "The prompt was cut. The GPU did the work.";
  sample.run.raw.prompt_note = "The prompt was cut.";
  EXPECT_TRUE(report::remarks_of(sample.run, sample.verdict.sentence).empty());
}

TEST(Block, LongDeviceNamesLeaveRoomForTheArguments) {
  Sample sample = samples::partial();
  sample.run.placement.devices[0].description =
      "NVIDIA GeForce RTX 4090 Laptop GPU With A Long Name";
  sample.run.raw.user_args = {"-ngl", "10"};
  EXPECT_NE(block(sample.run, sample.verdict)
                .find("gpu      PARTIAL: 10/33 layers on GPU (CUDA) [-ngl 10]\n"),
            std::string::npos);
}

TEST(Names, KindsOfDevices) {
  struct Case {
    std::string_view id, kind;
  };
  for (const Case& each :
       {Case{"CUDA0", "CUDA"}, Case{"ROCm1", "ROCm"}, Case{"MTL0", "Metal"}, Case{"Metal", "Metal"},
        Case{"Vulkan0", "Vulkan"}, Case{"SYCL0", "SYCL"}, Case{"GPUOpenCL", "OpenCL"},
        Case{"RPC0[10.0.0.2:50052]", "RPC"}, Case{"HTP0", "Hexagon"}, Case{"CANN0", "CANN"},
        Case{"Zeta7", "Zeta"}, Case{"9x", "9x"}, Case{"", ""}}) {
    EXPECT_EQ(report::kind_of_device(each.id), each.kind) << each.id;
  }
}

TEST(Names, VendorWordsGo) {
  EXPECT_EQ(report::without_vendor("NVIDIA GeForce RTX 4090"), "GeForce RTX 4090");
  EXPECT_EQ(report::without_vendor("AMD Radeon RX 7900 XTX (RADV NAVI31)"),
            "Radeon RX 7900 XTX (RADV NAVI31)");
  EXPECT_EQ(report::without_vendor("Apple M5"), "Apple M5");
  EXPECT_EQ(report::without_vendor("NVIDIA "), "NVIDIA");
}

TEST(Names, EngineLabels) {
  EngineLog log;
  EXPECT_EQ(report::engine_label({"", "llama-completion", "", ""}, nullptr),
            "llama.cpp (version unknown)");
  EXPECT_EQ(report::engine_label({"", "llama-completion", "0.7.0", "b11669"}, &log),
            "llama.cpp b11669");
  log.engine = "koboldcpp";
  log.version = "1.97";
  EXPECT_EQ(report::engine_label({"", "", "", ""}, &log), "koboldcpp 1.97");
}

TEST(Layout, WrapKeepsEveryWordAndTheWidth) {
  const auto lines = report::wrap("one two three fourfivesix seven", 9, 2);
  const std::vector<std::string> expected = {"one two", "  three f", "  ourfive", "  six",
                                             "  seven"};
  EXPECT_EQ(lines, expected);
  EXPECT_TRUE(report::wrap("   ", 9, 2).empty());
  EXPECT_TRUE(report::wrap_to("a b", 9, 2, 0).empty());
  EXPECT_EQ(report::wrap_to("one two three four", 9, 2, 1).front(), "one two..");
}

TEST(Layout, SentencesEndAtPointAndBlank) {
  const auto parts = report::sentences("It holds 5.28 GiB. Quote 21.1 tok/s! Is it b1.2? yes");
  const std::vector<std::string> expected = {"It holds 5.28 GiB.", "Quote 21.1 tok/s!",
                                             "Is it b1.2?", "yes"};
  EXPECT_EQ(parts, expected);
  EXPECT_EQ(report::as_sentence(" the prompt was cut "), "The prompt was cut.");
  EXPECT_EQ(report::as_sentence("n_ctx was cut."), "n_ctx was cut.");
  EXPECT_EQ(report::as_sentence(""), "");
}

TEST(Json, CompatibleKeysOfAPass) {
  const Sample sample = samples::partial();
  const auto json = nlohmann::json::parse(run_json(sample.run, sample.verdict, 3));
  for (const char* key :
       {"wall_s",         "load_ms",    "prompt_ms",     "prompt_tokens", "eval_ms",
        "eval_tokens",    "offload_n",  "offload_total", "gpu_device",    "gpu_kind",
        "model_params",   "model_size", "model_bytes",   "threads",       "cores",
        "vram_frac",      "n_expert",   "kv_types",      "kv_source",     "tensor_types",
        "free_mib",       "fit_seen",   "init_fail",     "prefill_toks",  "decode_toks",
        "wallclock_toks", "sampling",   "nonce"}) {
    EXPECT_TRUE(json["passes"][0].contains(key)) << key;
  }
  EXPECT_TRUE(json["evidenceDirectory"].is_null());
  EXPECT_EQ(json["passes"][0]["offload_n"], 10);
  EXPECT_EQ(json["passes"][0]["offload_claimed"][0], 33);
  EXPECT_EQ(json["passes"][0]["gpu_kind"], "CUDA");
  EXPECT_EQ(json["passes"][0]["model_size"], "5.28 GiB");
  EXPECT_EQ(json["cause"], "ngl_too_low");
  EXPECT_EQ(json["placement"]["weights_on_gpu_fraction"], 1949.0 / 5407.0);
}

TEST(Json, PassesThatDifferHaveNoCommonLayerCount) {
  const Sample sample = samples::conflict();
  const auto json = nlohmann::json::parse(run_json(sample.run, sample.verdict, 5));
  EXPECT_TRUE(json["passes"][0]["offload_n"].is_null());
  EXPECT_FALSE(json["placement"]["disagreement"].is_null());
}

TEST(Json, SchemaAndDocumentNameEveryKey) {
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const std::string document = file_text(docs + "json.md");
  const auto run_schema = nlohmann::json::parse(file_text(docs + "schema/diagnose.v1.json"));
  const auto log_schema = nlohmann::json::parse(file_text(docs + "schema/explain-log.v1.json"));
  for (const Sample& sample : samples::all()) {
    expect_described(nlohmann::json::parse(run_json(sample.run, sample.verdict, 0)), run_schema,
                     document, sample.name);
    EngineLog log = log_of(sample);
    log.devices.resize(1);
    expect_described(nlohmann::json::parse(log_json(log, sample.run.placement, sample.verdict, 0)),
                     log_schema, document, sample.name);
  }
}

}  // namespace
}  // namespace picchio
