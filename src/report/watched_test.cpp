// What `picchio watch` prints, on recordings made up here.
#include "report/watched.h"

#include "base/text.h"
#include "report/block.h"
#include "report/described.h"
#include "report/golden.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace picchio {
namespace {

using nlohmann::json;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Twelve seconds of ollama and its runner, which works from the fourth second on; beside it a
/// desktop on a second card.
WatchRecord busy_runner() {
  WatchRecord record;
  record.target = WatchTarget{4242, "ollama", "it listens on 127.0.0.1:11434"};
  record.length = Micros{12'000'000};
  record.logical_cores = 16;
  MeteredGpu card;
  card.meter = "nvml";
  card.name = "NVIDIA GeForce RTX 4090";
  card.address = "0000:01:00.0";
  card.memory_bytes = 24564 * kMiB;
  MeteredGpu apu;
  apu.meter = "amdgpu";
  apu.index = 1;
  apu.name = "AMD Radeon 780M Graphics of a laptop";
  apu.memory_bytes = 16000 * kMiB;
  apu.unified_memory = true;
  apu.power_is_package = true;
  apu.missing = {{GpuFigure::energy, "its accumulator does not move"}};
  record.telemetry.gpus = {card, apu};
  record.telemetry.hz = 2;
  for (int i = 1; i <= 24; ++i) {
    const Micros at{i * 500'000};
    GpuReading first;
    first.busy_percent = i < 8 ? i : 80 + i % 20;
    first.memory_bytes = (i < 8 ? 400 : 6300) * kMiB;
    first.power_watts = i < 8 ? 21 : 343;
    first.temperature_celsius = 61;
    GpuReading second;
    second.busy_percent = i % 4;
    second.memory_bytes = 512 * kMiB;
    record.telemetry.samples.push_back({at, {first, second}});
    if (i % 2 == 1) continue;
    ProcessSample sample{at, {}};
    if (i >= 8) {
      GpuProcessUse use;
      use.pid = 4250;
      use.busy_percent = 90;
      use.memory_bytes = 5800 * kMiB;
      sample.use.push_back(use);
    }
    GpuProcessUse desktop;
    desktop.pid = 900;
    desktop.device = 1;
    desktop.busy_percent = 1.5;
    desktop.memory_bytes = 120 * kMiB;
    sample.use.push_back(desktop);
    record.telemetry.processes.push_back(sample);
    record.cpu.push_back({at, 0.5 * i});
  }
  record.processes = {{4242, "ollama", true, Micros{0}, Micros{12'000'000}},
                      {4250, "llama-server", true, Micros{3'500'000}, Micros{12'000'000}},
                      {900, "Xorg", false, Micros{0}, Micros{12'000'000}}};
  record.tree_readable = true;
  record.device_nodes = {"/dev/nvidia0"};
  return record;
}

/// As the judge would fill it in; its own tests are in verdict/.
WatchVerdict verdict_of(const WatchRecord& record) {
  WatchVerdict verdict;
  verdict.activity = Activity::busy;
  verdict.rule = "attributed";
  verdict.sentence =
      "llama-server (pid 4250), a child of ollama (pid 4242), had 90% of the time of GPU 0 (NVIDIA "
      "GeForce RTX 4090) on average and 5.66 GiB of its memory.";
  verdict.cpu_cores = 1.04;
  for (std::size_t i = 0; i < record.telemetry.gpus.size(); ++i) {
    WatchedGpu gpu;
    gpu.gpu = static_cast<int>(i);
    gpu.activity = i == 0 ? Activity::busy : Activity::idle;
    gpu.rule = i == 0 ? "attributed" : "quiet";
    gpu.sentence = "said above";
    gpu.looks = 24;
    gpu.busy_median = i == 0 ? 87 : 1;
    gpu.busy_peak = i == 0 ? 99 : 3;
    gpu.memory_median = gpu.memory_peak = (i == 0 ? 6300 : 512) * kMiB;
    if (i == 0) {
      gpu.watts = 343;
      gpu.joules = 3008.4;
      gpu.looks_throttled = 2;
    }
    gpu.process_looks = 12;
    ProcessShare share;
    share.pid = i == 0 ? 4250 : 900;
    share.name = i == 0 ? "llama-server" : "Xorg";
    share.in_tree = i == 0;
    share.looks = share.looks_told = 9;
    share.busy_mean = i == 0 ? 90 : 1.5;
    share.memory_peak = (i == 0 ? 5800 : 120) * kMiB;
    gpu.processes = {share};
    verdict.gpus.push_back(gpu);
  }
  return verdict;
}

WatchRecord without_meter() {
  WatchRecord record;
  record.target = WatchTarget{77, "python3", ""};
  record.length = Micros{5'000'000};
  record.ended = "process 77 ended after 5 s";
  record.telemetry.none_because = "no GPU meter on this machine";
  record.processes = {{77, "python3", true, Micros{0}, Micros{5'000'000}}};
  record.cpu = {{Micros{0}, 1}, {Micros{2'500'000}, 3.5}, {Micros{5'000'000}, 6}};
  record.logical_cores = 2;
  record.tree_readable = true;
  return record;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(WatchedReport, GoldenFrames) {
  const WatchRecord record = busy_runner();
  expect_golden("watch_frame_80.txt", joined(watch_frame(record, {.columns = 80})));
  expect_golden("watch_frame_utf8.txt",
                joined(watch_frame(record, {.columns = 120, .utf8 = true})));
  expect_golden("watch_frame_40.txt", joined(watch_frame(record, {.columns = 40})));
  expect_golden("watch_frame_no_meter.txt", joined(watch_frame(without_meter(), {})));
}

TEST(WatchedReport, NoFrameIsWiderOrHigherThanItsTerminal) {
  WatchRecord record = busy_runner();
  for (int i = 0; i < 40; ++i) {
    GpuProcessUse use;
    use.pid = 5000 + i;
    use.memory_bytes = i * kMiB;
    record.telemetry.processes.back().use.push_back(use);
  }
  for (int columns = 1; columns < 200; columns += 7) {
    for (const int rows : {1, 2, 5, 24, 60}) {
      const auto lines = watch_frame(record, {.columns = columns, .rows = rows});
      EXPECT_LE(lines.size(), static_cast<std::size_t>(std::max(rows - 1, 1)));
      for (const std::string& line : lines) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(std::max(columns - 1, 20))) << line;
      }
    }
  }
}

TEST(WatchedReport, ColourIsOnlyOnTheBar) {
  WatchRecord record = busy_runner();
  const std::string plain_frame = joined(watch_frame(record, {.columns = 80}));
  const std::string coloured = joined(watch_frame(record, {.columns = 80, .colour = true}));
  EXPECT_TRUE(coloured.contains("\x1b[32m###"));
  EXPECT_EQ(without_ansi(coloured), plain_frame);
}

TEST(WatchedReport, Lines) {
  const WatchRecord record = busy_runner();
  EXPECT_EQ(watch_line(record, Micros{10'000'000}, Micros{11'000'000}),
            "    11 s  gpu0 82% 6.2 GiB 343 W, own 90% 5.7 GiB  gpu1 2% 0.5 GiB  cpu 1.0 cores");
  EXPECT_EQ(watch_line(record, Micros{0}, Micros{1'000'000}),
            "     1 s  gpu0 2% 0.4 GiB 21 W  gpu1 2% 0.5 GiB");
  EXPECT_EQ(watch_line(without_meter(), Micros{2'500'000}, Micros{5'000'000}),
            "     5 s  cpu 1.0 cores");
  WatchRecord gone = busy_runner();
  gone.telemetry.samples.back().readings[0] = {};
  gone.telemetry.samples.back().readings[0].lost = "NVML says GPU is lost";
  gone.telemetry.samples.back().readings[1] = {};
  gone.telemetry.samples.back().readings[1].asleep = true;
  const std::string line = watch_line(gone, Micros{11'500'000}, Micros{12'000'000});
  EXPECT_TRUE(line.contains("gpu0 gone  gpu1 asleep")) << line;
}

TEST(WatchedReport, GoldenSummaries) {
  const WatchRecord record = busy_runner();
  expect_golden("watch_busy.txt", watch_summary(record, verdict_of(record)));
  WatchRecord lost = busy_runner();
  lost.telemetry.news = {"intel: /sys/class/drm may not be read"};
  WatchVerdict verdict = verdict_of(lost);
  verdict.activity = Activity::not_sure;
  verdict.sentence = "GPU 0 was lost after 6 s: NVML says GPU is lost.";
  verdict.gpus[0].lost = "NVML says GPU is lost";
  verdict.gpus[0].lost_at = Micros{6'200'000};
  verdict.gpus[1].looks = 0;
  verdict.gpus[1].looks_asleep = 24;
  expect_golden("watch_lost.txt", watch_summary(lost, verdict));
  WatchVerdict none;
  none.activity = Activity::idle;
  none.sentence = "There is no meter, but python3 (pid 77) has no GPU device open.";
  none.cpu_cores = 1;
  expect_golden("watch_no_meter.txt", watch_summary(without_meter(), none));
}

TEST(WatchedReport, NothingFromOutsideReachesTheTerminalAsItCame) {
  WatchRecord record = busy_runner();
  const std::string text = "\x1b[2J\n" + std::string(300, 'x') + "\xff";
  record.target->name = record.target->found_by = record.ended = text;
  for (WatchedProcess& process : record.processes) process.name = text;
  for (MeteredGpu& gpu : record.telemetry.gpus) gpu.name = text;
  record.telemetry.samples.back().readings[1].lost = text;
  record.telemetry.news = {text};
  WatchVerdict verdict = verdict_of(record);
  for (WatchedGpu& gpu : verdict.gpus) gpu.lost = gpu.processes[0].name = text;
  const std::string all = watch_summary(record, verdict) + joined(watch_frame(record, {})) +
                          watch_line(record, Micros{0}, record.length);
  for (const std::string_view line : split_lines(all)) {
    for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << line;
  }
  const std::string summary = watch_summary(record, verdict);
  for (const std::string_view line : split_lines(summary)) {
    EXPECT_LE(line.size(), kBlockColumns) << line;
  }
}

TEST(WatchedReport, JsonIsDescribedByItsSchemaAndAbsentIsNull) {
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const json schema = json::parse(file_text(docs + "schema/watch.v1.json"));
  const WatchRecord record = busy_runner();
  const json doc = json::parse(watch_json(record, verdict_of(record), Micros{1'000'000}, 0));
  expect_described(doc, schema, file_text(docs + "json.md"), "watch");
  EXPECT_EQ(doc["activity"], "GPU BUSY");
  EXPECT_EQ(doc["target"]["pid"], 4242);
  EXPECT_EQ(doc["gpus"][0]["processes"][0]["pid"], 4250);
  EXPECT_TRUE(doc["gpus"][1]["watts"].is_null());
  EXPECT_TRUE(doc["gpus"][0]["tree"]["busy_mean_percent"].is_null());
  ASSERT_EQ(doc["timeline"].size(), 12U);
  EXPECT_EQ(doc["timeline"][11]["gpus"][0]["tree_busy_percent"], 90.0);
  EXPECT_TRUE(doc["timeline"][0]["gpus"][0]["tree_busy_percent"].is_null());
  EXPECT_EQ(doc["watched_processes"].size(), 2U);
  EXPECT_EQ(doc["device_nodes"], json::array({"/dev/nvidia0"}));
  const json bare = json::parse(watch_json(without_meter(), {}, Micros{1'000'000}, 0));
  expect_described(bare, schema, file_text(docs + "json.md"), "watch");
  EXPECT_EQ(bare["ended"], "process 77 ended after 5 s");
}

TEST(WatchedReport, ALongWatchHasACoarserTimeline) {
  WatchRecord record = without_meter();
  record.length = Micros{1'000'000} * 86'400;
  const json doc = json::parse(watch_json(record, {}, Micros{1'000'000}, 0));
  EXPECT_LE(doc["timeline"].size(), 4001U);
  EXPECT_GE(doc["timeline"].size(), 4000U);
}

}  // namespace
}  // namespace picchio
