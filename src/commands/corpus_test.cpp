// The recorded runs with their truth. They are not part of a user's checkout: without them the
// tests skip and say so.
#include "base/text.h"
#include "commands/read_run.h"
#include "engines/log_reader.h"
#include "evidence/card.h"
#include "gguf/types.h"
#include "kept/folder.h"
#include "os/file.h"
#include "verdict/account.h"
#include "verdict/judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

namespace picchio {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kCorpus = PICCHIO_CORPUS_DIR;

std::string slurp(const fs::path& path) {
  const auto text = os::read_file(path.string(), std::int64_t{64} << 20);
  return text ? *text : std::string();
}

struct Case {
  std::string name;
  json truth;
  EngineLog log;
  Placement placement;
  Verdict verdict;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kCorpus / "cases", ignored)) {
    if (entry.path().extension() != ".log") continue;
    Case c;
    c.name = entry.path().stem().string();
    c.truth = json::parse(slurp(fs::path(entry.path()).replace_extension(".json")));
    c.log = read_engine_log(slurp(entry.path()));
    c.placement = placement_of(c.log, nullptr);
    c.verdict = judge_log(c.log, c.placement);
    out.push_back(std::move(c));
  }
  std::ranges::sort(out, {}, &Case::name);
  return out;
}

// A client's log alone cannot tell what a remote device is: "remote" is then the honest word for
// what the labels call "unknown".
bool same_place(const std::string& truth, const std::string& said) {
  return truth == said || (truth == "unknown" && said == "remote");
}

TEST(Corpus, CasesArePlacedByTheirTruthAndNoCpuRunIsCalledGpu) {
  const std::vector<Case> all = cases();
  if (all.empty()) GTEST_SKIP() << "no recorded cases at " << kCorpus;
  int right = 0;
  for (const Case& c : all) {
    const std::string truth = c.truth["placement"];
    const std::string said(name_of(c.placement.shape));
    if (same_place(truth, said)) {
      ++right;
    } else {
      std::printf("  %s: %s instead of %s: %s\n", c.name.c_str(), said.c_str(), truth.c_str(),
                  c.placement.reason.c_str());
    }
    if (truth != "gpu") {
      EXPECT_NE(said, "gpu") << c.name;
      EXPECT_NE(c.verdict.state, State::healthy) << c.name;
    }
  }
  EXPECT_GE(right * 51, static_cast<int>(all.size()) * 48) << right << " of " << all.size();
}

struct Compared {
  std::string name;
  std::string said;
  bool right = false;
};

std::vector<Compared> compare(const Case& c) {
  const Placement& p = c.placement;
  const json layers =
      p.layers_total ? json::array({p.layers_on_gpu.value_or(0), *p.layers_total}) : json();
  const json kv = p.kv_on ? json(std::string(name_of(*p.kv_on))) : json();
  const std::string cause = c.verdict.cause ? c.verdict.cause->id : "none";
  const json& fraction = c.truth["weights_on_gpu_fraction"];
  const auto& said = p.weights_on_gpu_fraction;
  const bool fraction_right = fraction.is_null()
                                  ? !said.has_value()
                                  : said && std::abs(*said - fraction.get<double>()) < 0.01;
  return {{"layers", layers.dump(), layers == c.truth["layers"]},
          {"fraction", said ? std::to_string(*said) : "null", fraction_right},
          {"kv_on", kv.dump(), kv == c.truth["kv_on"]},
          {"cause", cause, c.truth["cause"].get<std::string>().starts_with(cause)}};
}

TEST(Corpus, CasesCarryLayersFractionKvAndCause) {
  const std::vector<Case> all = cases();
  if (all.empty()) GTEST_SKIP() << "no recorded cases at " << kCorpus;
  std::map<std::string, int> right;
  for (const Case& c : all) {
    for (const auto& [name, said, ok] : compare(c)) {
      right[name] += ok ? 1 : 0;
      if (!ok) {
        std::printf("  %s: %s: said %s\n", c.name.c_str(), name.c_str(), said.c_str());
      }
    }
  }
  for (const auto& [name, count] : right) {
    std::printf("  %s: %d of %zu\n", name.c_str(), count, all.size());
    EXPECT_GE(count * 100, static_cast<int>(all.size()) * 85) << name;
  }
}

// Truth of each run by how it was made; corpus/README.md.
TEST(Corpus, TodaysLlamaCppRunsOnACpuAreNeverHealthy) {
  const fs::path folder = kCorpus / "llamacpp-0.7.0-b11669";
  if (!fs::exists(folder)) GTEST_SKIP() << "no recorded runs at " << folder;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const EngineLog log = read_engine_log(slurp(entry.path()));
    const Placement placement = placement_of(log, nullptr);
    const Verdict verdict = judge_log(log, placement);
    Shape truth = Shape::cpu;
    if (name.find("default-verbosity") != std::string::npos) truth = Shape::unknown;
    if (name.find("rpc-to-a-cpu") != std::string::npos) truth = Shape::remote;
    if (name.starts_with("vulkan-llvmpipe")) truth = Shape::software_device;
    if (name.find("ngl-0") != std::string::npos)
      truth = Shape::cpu;  // not even llvmpipe holds a weight
    EXPECT_EQ(name_of(placement.shape), name_of(truth)) << name << ": " << placement.reason;
    EXPECT_NE(verdict.state, State::healthy) << name;
    EXPECT_NE(verdict.state, State::partial_offload) << name;
  }
}

// "prompt eval time = 120.89 ms / 825 tokens ( 0.15 ms per token, 6824.44 tokens per second)": the
// last number of the last such line, found without the reader under test.
double printed_rate(std::string_view log, std::string_view marker, bool prompt) {
  double out = -1;
  for (const std::string_view line : split_lines(log)) {
    if (line.find(marker) == std::string_view::npos) continue;
    if (!prompt && line.find("prompt eval") != std::string_view::npos) continue;
    const auto text = between(line, "ms per token,", "tokens per second");
    if (text) out = parse_double(*text).value_or(-1);
  }
  return out;
}

TEST(Corpus, KeptRunsHaveTheLanesOfTheirLogsAndTheirPlacement) {
  const fs::path folder = kCorpus / "raw";
  if (!fs::exists(folder)) GTEST_SKIP() << "no recorded runs at " << folder;
  int logs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".stderr.txt")) continue;
    ++logs;
    const std::string text = slurp(entry.path());
    const EngineLog log = read_engine_log(text);
    ASSERT_FALSE(log.timings.empty()) << path;
    const EngineTimings& timings = log.timings.back();
    // The log prints two decimals of a rate made from its milliseconds.
    EXPECT_NEAR(timings.prefill_tokens_per_second.value_or(-1),
                printed_rate(text, "prompt eval time", true), 0.1)
        << path;
    EXPECT_NEAR(timings.decode_tokens_per_second.value_or(-1),
                printed_rate(text, "eval time", false), 0.1)
        << path;
    const Placement placement = placement_of(log, nullptr);
    const bool on_cpu = path.find("cpu-fallback") != std::string::npos ||
                        path.find("cuda-ngl0") != std::string::npos;
    EXPECT_EQ(name_of(placement.shape), on_cpu ? "cpu" : "gpu") << path << ": " << placement.reason;
    const State state = judge_log(log, placement).state;
    EXPECT_EQ(name_of(state), on_cpu ? "SILENT CPU FALLBACK" : "HEALTHY") << path;
  }
  EXPECT_GT(logs, 10);
}

TEST(Corpus, RunsKeptByTheEstablishedToolReplay) {
  const fs::path folder = kCorpus / "raw";
  if (!fs::exists(folder)) GTEST_SKIP() << "no recorded runs at " << folder;
  struct Kept {
    const char* name;
    State state;
  };
  for (const Kept& kept :
       {Kept{"linux-5090-cuda", State::healthy}, Kept{"healthy-metal", State::healthy},
        Kept{"linux-4090", State::healthy}, Kept{"cpu-fallback", State::silent_cpu_fallback},
        Kept{"ollama-35b", State::healthy}, Kept{"server-endpoint", State::healthy}}) {
    Result<RawRun> raw = kept::read_run((folder / kept.name).string());
    ASSERT_TRUE(raw) << kept.name << ": " << raw.error().message;
    const Judged judged = judge_recorded(*std::move(raw));
    EXPECT_EQ(name_of(judged.verdict.state), name_of(kept.state))
        << kept.name << ": " << judged.verdict.sentence;
    EXPECT_EQ(judged.run.passes.size(), 3U) << kept.name;
  }
}

TEST(Corpus, KeptAnswersHaveTheLanesOfTheirFigures) {
  const fs::path folder = kCorpus / "raw";
  if (!fs::exists(folder)) GTEST_SKIP() << "no recorded runs at " << folder;
  for (const char* name : {"ollama-35b", "server-endpoint"}) {
    Result<RawRun> raw = kept::read_run((folder / name).string());
    ASSERT_TRUE(raw) << raw.error().message;
    const Judged judged = judge_recorded(*std::move(raw));
    ASSERT_EQ(judged.run.passes.size(), 3U);
    for (int i = 0; i < 3; ++i) {
      SCOPED_TRACE(fmt::format("{} pass {}", name, i + 1));
      const json answer =
          json::parse(slurp(folder / name / fmt::format("pass{}.response.json", i + 1)));
      const bool ollama = answer.contains("eval_count");
      const double decode = ollama ? answer.at("eval_count").get<double>() * 1e9 /
                                         answer.at("eval_duration").get<double>()
                                   : answer.at("timings").at("predicted_per_second").get<double>();
      const double prefill = ollama ? answer.at("prompt_eval_count").get<double>() * 1e9 /
                                          answer.at("prompt_eval_duration").get<double>()
                                    : answer.at("timings").at("prompt_per_second").get<double>();
      const Lanes& lanes = judged.run.passes[static_cast<std::size_t>(i)].lanes;
      EXPECT_NEAR(lanes.decode.value_or(-1), decode, 0.1);
      EXPECT_NEAR(lanes.prefill.value_or(-1), prefill, 0.1);
      EXPECT_TRUE(lanes.prefill_abstain.empty() && lanes.decode_abstain.empty());
    }
  }
}

// Its samples, our windows: what it summed up of a run comes out the same.
TEST(Corpus, MetersOfKeptRunsAgreeWithTheirSummaries) {
  const fs::path folder = kCorpus / "raw";
  if (!fs::exists(folder)) GTEST_SKIP() << "no recorded runs at " << folder;
  for (const char* name :
       {"linux-5090-cuda", "healthy-metal", "cpu-fallback", "ollama-35b", "server-endpoint"}) {
    SCOPED_TRACE(name);
    const json summary = json::parse(slurp(folder / name / "telemetry.json")).at("summary");
    Result<RawRun> raw = kept::read_run((folder / name).string());
    ASSERT_TRUE(raw) << raw.error().message;
    const Judged judged = judge_recorded(*std::move(raw));
    ASSERT_EQ(judged.run.gpu_use.size(), 1U);
    const GpuUse& use = judged.run.gpu_use[0];
    EXPECT_NEAR(use.idle_busy.value_or(-1), summary.at("idle_med").get<double>(), 0.5);
    EXPECT_NEAR(use.work.busy_median.value_or(-1), summary.at("work_med").get<double>(), 0.5);
    EXPECT_NEAR(use.work.samples, summary.at("work_n").get<double>(), 2);
    EXPECT_NEAR(static_cast<double>(use.memory_step.value_or(-1)),
                summary.at("mem_step").get<double>(), 1);
    EXPECT_NEAR(use.work.watts.value_or(-1), summary.at("work_w").get<double>(), 0.05);
  }
}

TEST(Corpus, TheMeterTellsARunWithoutLayersFromAFullOffload) {
  const fs::path folder = kCorpus / "raw/linux-4090";
  if (!fs::exists(folder)) GTEST_SKIP() << "no recorded runs at " << folder;
  Result<RawRun> raw = kept::read_run((folder / "cuda-ngl0.stderr.txt").string());
  ASSERT_TRUE(raw) << raw.error().message;
  const Judged judged = judge_recorded(*std::move(raw));
  EXPECT_EQ(judged.verdict.state, State::silent_cpu_fallback);
  const auto heard =
      std::ranges::find(judged.verdict.testimonies, Witness::gpu_meter, &Testimony::witness);
  EXPECT_EQ(heard->word, Word::cpu) << heard->sentence;
}

// The MiB that the last load's buffer lines give `prefix`ed buffers, added up without the reader.
double printed_mib(std::string_view log, std::string_view prefix) {
  log.remove_prefix(log.rfind("loading model tensors"));
  double sum = 0;
  for (const std::string_view line : split_lines(log)) {
    const auto size = between(line, "model buffer size =", "MiB");
    const auto name = between(line, "load_tensors:", "model buffer size");
    if (size && name && trim(*name).starts_with(prefix)) sum += parse_double(*size).value_or(0);
  }
  return sum;
}

TEST(Examples, BytesOfEachDeviceAreThoseOfTheBufferLines) {
  const fs::path folder = fs::path(PICCHIO_SOURCE_DIR) / "examples/raw";
  int devices = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    Result<RawRun> raw = kept::read_run(entry.path().string());
    ASSERT_TRUE(raw) << raw.error().message;
    const std::string log = raw->passes.front().log;
    const Judged judged = judge_recorded(*std::move(raw));
    for (const DeviceAccount& device : judged.run.placement.devices) {
      if (!device.weights_bytes) continue;
      ++devices;
      const double mib = static_cast<double>(*device.weights_bytes) / (1024 * 1024);
      EXPECT_NEAR(mib, printed_mib(log, device.name), 0.1) << entry.path() << " " << device.name;
    }
    EXPECT_NE(judged.verdict.state, State::healthy) << entry.path();
  }
  EXPECT_GE(devices, 10);
}

// `    q4_K      124 tensors   4.50 bits   44.2% of weight bytes`, the effective figure, the sums.
struct PrintedCard {
  std::vector<std::pair<std::string, double>> shares;  // type, percent of the bytes
  std::string bits;                                    // as printed
  double bytes = 0;
  double weights = 0;
};

double grouped_number(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9') digits += c;
    if (c != ',' && (c < '0' || c > '9')) break;
  }
  return parse_double(digits).value_or(0);
}

PrintedCard read_printed_card(const std::string& text) {
  PrintedCard card;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_blanks(line);
    if (line.contains("% of weight bytes") && words.size() > 5) {
      card.shares.emplace_back(words[0],
                               parse_double(words[5].substr(0, words[5].size() - 1)).value_or(0));
    }
    if (words.size() > 5 && words[0] == "effective") {
      card.bits = words[1];
      card.bytes = grouped_number(words[5]);
    }
    if (card.bytes > 0 && card.weights == 0 && words.size() > 1 &&
        words[1].starts_with("weights")) {
      card.weights = grouped_number(words[0]);
    }
  }
  return card;
}

TEST(Corpus, TheMixOfAPublishedCardGivesItsEffectiveFigure) {
  std::error_code ignored;
  int checked = 0;
  for (const auto& entry : fs::directory_iterator(kCorpus / "cards", ignored)) {
    const PrintedCard printed = read_printed_card(slurp(entry.path()));
    ASSERT_GE(printed.shares.size(), 4U) << entry.path();
    // Bytes by the printed shares, weights by our sizes of the types: shares of 0.1 % and weights
    // that were counted one by one must meet in the two digits that were printed.
    double weights = 0;
    for (const auto& [type, percent] : printed.shares) {
      const gguf::TensorType* known = gguf::tensor_type(std::string_view(type));
      ASSERT_NE(known, nullptr) << type;
      weights += printed.bytes * percent / 100 / static_cast<double>(known->block_bytes) *
                 static_cast<double>(known->block);
    }
    EXPECT_EQ(fmt::format("{:.2f}", 8 * printed.bytes / weights), printed.bits) << entry.path();
    Card card;
    card.tensor_bytes = static_cast<std::int64_t>(printed.bytes);
    card.elements = static_cast<std::int64_t>(printed.weights);
    EXPECT_EQ(fmt::format("{:.2f}", bits_per_weight(card).value_or(0)), printed.bits)
        << entry.path();
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << "no recorded cards at " << kCorpus;
}

}  // namespace
}  // namespace picchio
