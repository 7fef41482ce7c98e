// Logs of real engines: own recordings beside this file, and the shared corpus where it is present.
#include "engines/log_dump.h"
#include "engines/log_reader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace picchio {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> files_of(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.path().string().ends_with(ending)) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

TEST(LogGolden, RecordingsReadAsReviewed) {
  const fs::path folder = fs::path(PICCHIO_SOURCE_DIR) / "src/engines/testdata";
  const auto logs = files_of(folder, ".log");
  ASSERT_GE(logs.size(), 6U);
  for (const fs::path& path : logs) {
    const std::string text = dump(read_engine_log(bytes_of(path)));
    fs::path expected = path;
    expected.replace_extension(".expected");
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(expected, std::ios::binary) << text;
    EXPECT_EQ(text, bytes_of(expected)) << path;
  }
}

fs::path corpus() { return PICCHIO_CORPUS_DIR; }

struct Sums {
  double gpu = 0;
  double host = 0;
  bool kv_gpu = false;
  bool kv_host = false;
};

Sums sums_of(const Load& load) {
  Sums sums;
  for (const BufferLine& b : load.buffers) {
    if (b.copy) continue;
    const auto bytes = static_cast<double>(b.bytes);
    const bool gpu = b.kind == DeviceKind::hardware_gpu;
    if (b.use == BufferUse::weights) (gpu ? sums.gpu : sums.host) += bytes;
    if (b.use == BufferUse::kv || b.use == BufferUse::recurrent)
      (gpu ? sums.kv_gpu : sums.kv_host) = true;
  }
  // A file span is at most what the devices left over.
  if (load.weight_bytes) {
    sums.host =
        std::min(sums.host, std::max(0.0, static_cast<double>(*load.weight_bytes) - sums.gpu));
  }
  return sums;
}

bool is_remote(const BufferLine& buffer) { return buffer.kind == DeviceKind::remote; }

// Shares and places of one case against its truth. Memory called remote is left out: what such a
// worker has, other lines tell.
void expect_bytes(const fs::path& path, const EngineLog& log, const nlohmann::json& truth) {
  const nlohmann::json& fraction = truth["weights_on_gpu_fraction"];
  const Load* load = main_load(log);
  if (!fraction.is_number()) return;
  ASSERT_NE(load, nullptr) << path;
  if (std::ranges::any_of(load->buffers, is_remote)) return;
  const Sums sums = sums_of(*load);
  ASSERT_GT(sums.gpu + sums.host, 0) << path;
  EXPECT_NEAR(sums.gpu / (sums.gpu + sums.host), fraction.get<double>(), 0.006)
      << path << dump(log);
  if (!truth["kv_on"].is_string() || !(sums.kv_gpu || sums.kv_host)) return;
  const std::string host_or_mixed = sums.kv_gpu ? "mixed" : "cpu";
  EXPECT_EQ(sums.kv_host ? host_or_mixed : "gpu", truth["kv_on"].get<std::string>()) << path;
}

void expect_claim(const fs::path& path, const EngineLog& log, const nlohmann::json& truth) {
  const Load* load = main_load(log);
  if (!truth["layers"].is_array() || load == nullptr || !load->claim) return;
  EXPECT_EQ(load->claim->total, truth["layers"][1].get<int>()) << path;
  if (truth["placement"] != "partial") return;
  EXPECT_EQ(load->claim->on_gpu, truth["layers"][0].get<int>()) << path;
}

TEST(LogCorpus, MainLoadAgreesWithEveryCase) {
  const auto logs = files_of(corpus() / "cases", ".log");
  if (logs.empty()) GTEST_SKIP() << "no corpus at " << corpus();
  for (const fs::path& path : logs) {
    fs::path truth_path = path;
    truth_path.replace_extension(".json");
    const auto truth = nlohmann::json::parse(bytes_of(truth_path), nullptr, false);
    ASSERT_TRUE(truth.is_object()) << truth_path;
    const EngineLog log = read_engine_log(bytes_of(path));
    EXPECT_TRUE(log.notes.empty()) << path << dump(log);
    EXPECT_FALSE(log.engine.empty()) << path;
    expect_bytes(path, log, truth);
    expect_claim(path, log, truth);
    const bool bytes_told = truth["weights_on_gpu_fraction"].is_number();
    EXPECT_TRUE(truth["placement"] != "cpu" || bytes_told || !log.events.empty())
        << path << ": a verdict must rest on some line";
  }
}

void expect_probe_and_load(const fs::path& path, const EngineLog& log) {
  ASSERT_EQ(log.loads.size(), 2U) << path;
  EXPECT_EQ(log.loads[0].role, LoadRole::probe) << path;
  EXPECT_EQ(log.loads[1].role, LoadRole::main) << path;
  const Load& load = log.loads[1];
  EXPECT_EQ(load.breakdown.size(), log.loads[0].breakdown.size()) << path;
  EXPECT_TRUE(load.splits && load.n_ctx && load.weight_bytes) << path;
  ASSERT_EQ(log.timings.size(), 1U) << path;
  EXPECT_TRUE(log.timings[0].decode_tokens_per_second && log.timings[0].prefill_tokens_per_second)
      << path;
  EXPECT_EQ(log.sampling.top_k, 40) << path;
  // What is not a copy adds up to the file, spans aside: never twice of it.
  double sum = 0;
  for (const BufferLine& b : load.buffers) {
    if (b.use == BufferUse::weights && !b.copy) sum += static_cast<double>(b.bytes);
  }
  const auto file = static_cast<double>(load.weight_bytes.value_or(0));
  EXPECT_GT(sum, 0.8 * file) << path << dump(log);
  EXPECT_LT(sum, 1.15 * file) << path << dump(log);
}

TEST(LogCorpus, LongLogsHoldOneProbeAndOneLoad) {
  auto logs = files_of(corpus() / "raw", ".stderr.txt");
  const auto more = files_of(corpus() / "llamacpp-0.7.0-b11669", ".stderr.txt");
  logs.insert(logs.end(), more.begin(), more.end());
  if (logs.empty()) GTEST_SKIP() << "no corpus at " << corpus();
  for (const fs::path& path : logs) {
    const EngineLog log = read_engine_log(bytes_of(path));
    EXPECT_TRUE(log.notes.empty()) << path << dump(log);
    if (log.has_placement_lines) expect_probe_and_load(path, log);
  }
}

TEST(LogCorpus, CutAnywhereNothingBreaks) {
  const auto logs = files_of(corpus() / "cases", ".log");
  if (logs.empty()) GTEST_SKIP() << "no corpus at " << corpus();
  std::size_t read = 0;
  for (const fs::path& path : logs) {
    const std::string bytes = bytes_of(path);
    for (std::size_t cut = 0; cut < bytes.size(); cut += 37) {
      const EngineLog log = read_engine_log(std::string_view(bytes).substr(0, cut));
      const EngineLog tail = read_engine_log(std::string_view(bytes).substr(cut));
      read += log.loads.size() + tail.loads.size();
    }
  }
  EXPECT_GT(read, 0U);
}

}  // namespace
}  // namespace picchio
