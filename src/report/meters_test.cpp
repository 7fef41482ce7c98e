// What `picchio meters` prints, on telemetry made up here.
#include "report/meters.h"

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

Telemetry two_cards() {
  Telemetry told;
  MeteredGpu card;
  card.meter = "nvml";
  card.name = "NVIDIA GeForce RTX 4090";
  card.address = "0000:01:00.0";
  card.driver = "550.54.14";
  card.memory_bytes = std::int64_t{24564} << 20;
  card.link_max = PcieLink{4, 16};
  card.peak_bytes_per_second = 1.008e12;
  card.missing = {{GpuFigure::process_busy, "NVML says not supported"}};
  MeteredGpu apu;
  apu.meter = "amdgpu";
  apu.index = 1;
  apu.unified_memory = true;
  apu.missing = {{GpuFigure::energy, "its accumulator does not move"},
                 {GpuFigure::process_memory, "needs the same user or root"}};
  told.gpus = {card, apu};
  GpuReading busy;
  busy.busy_percent = 97;
  busy.memory_bytes = std::int64_t{6300} << 20;
  busy.power_watts = 343.25;
  busy.energy_joules = 123456.7;
  busy.clock_mhz = 2520;
  busy.memory_clock_mhz = 10501;
  busy.temperature_celsius = 61;
  busy.throttling = Throttling{.power_cap = true, .thermal = false, .hardware = true};
  busy.link = PcieLink{4, 8};
  GpuReading idle;
  idle.busy_percent = 0;
  idle.memory_bytes = std::int64_t{512} << 20;
  told.samples = {{Micros{0}, {busy, idle}}};
  told.news = {"intel: /sys/class/drm may not be read"};
  return told;
}

Machine machine() {
  Machine out;
  for (const char* address : {"0000:01:00.0", "0000:05:00.0"}) {
    MachineGpu gpu;
    gpu.name = std::string("card at ") + address;
    gpu.address = address;
    out.gpus.push_back(gpu);
  }
  return out;
}

TEST(Meters, Goldens) {
  expect_golden("meters_two.txt", meters_text(two_cards(), machine()));
  Telemetry none;
  none.news = {"NVML: the driver (550.54) and its library (560.28) do not match"};
  none.none_because = none.news.front();
  expect_golden("meters_none.txt", meters_text(none, machine()));
  Telemetry lost = two_cards();
  lost.gpus.pop_back();
  lost.samples[0].readings = {{}};
  lost.samples[0].readings[0].lost = "NVML says GPU is lost";
  expect_golden("meters_lost.txt", meters_text(lost, {}));
}

TEST(Meters, NothingFromADriverReachesTheTerminalAsItCame) {
  Telemetry evil = two_cards();
  const std::string text = "\x1b[2J\n" + std::string(300, 'x') + "\xff";
  for (MeteredGpu& gpu : evil.gpus) {
    gpu.name = gpu.address = gpu.driver = gpu.meter = text;
    for (MissingFigure& figure : gpu.missing) figure.reason = text;
  }
  evil.news = {text};
  const std::string printed = meters_text(evil, machine());
  for (const std::string_view line : split_lines(printed)) {
    EXPECT_LE(line.size(), kBlockColumns);
    for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7F);
  }
}

TEST(Meters, JsonIsDescribedByItsSchemaAndAbsentIsNull) {
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const json schema = json::parse(file_text(docs + "schema/meters.v1.json"));
  const json doc = json::parse(meters_json(two_cards(), machine(), 0));
  expect_described(doc, schema, file_text(docs + "json.md"), "meters");
  EXPECT_EQ(doc["gpus"][0]["reading"]["busy_percent"], 97.0);
  EXPECT_EQ(doc["gpus"][1]["reading"]["busy_percent"], 0.0);
  EXPECT_TRUE(doc["gpus"][1]["reading"]["power_watts"].is_null());
  EXPECT_EQ(doc["gpus"][1]["missing"]["energy"], "its accumulator does not move");
  EXPECT_EQ(doc["unmetered"], json::array({"card at 0000:05:00.0"}));
}

}  // namespace
}  // namespace picchio
