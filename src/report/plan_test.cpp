// What `picchio plan` prints, on plans made up here.
#include "report/plan.h"

#include "base/text.h"
#include "report/described.h"
#include "report/golden.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace picchio {
namespace {

using nlohmann::json;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

PlannedSetting setting(std::int64_t layers, std::int64_t weights_mib, std::int64_t free_mib) {
  PlannedSetting out;
  out.n_ctx = 32768;
  out.n_ctx_sequence = 32768;
  out.sequences = 4;
  out.n_ubatch = 512;
  out.n_gpu_layers = layers;
  out.cache_type_k = out.cache_type_v = "f16";
  PlannedMemory gpu;
  gpu.name = "NVIDIA GeForce RTX 4090";
  gpu.weights = weights_mib * kMiB;
  gpu.kv_cache = 3072 * kMiB;
  gpu.compute_buffer = 300 * kMiB;
  gpu.free = free_mib * kMiB;
  gpu.fit = gpu.total() > *gpu.free ? Fit::not_fitting : Fit::fits;
  out.devices = {gpu};
  out.host.name = "host";
  out.host.weights = 166 * kMiB;
  out.host.output_buffer = 2 * kMiB;
  out.host.free = 60000 * kMiB;
  out.host.fit = Fit::fits;
  out.fit = gpu.fit;
  return out;
}

Plan fitting() {
  Plan out;
  out.model = "Qwen3-30B-A3B-Q4_K_M.gguf";
  out.architecture = "qwen3moe";
  out.tensor_bytes = 17700 * kMiB;
  out.trained_context = 40960;
  out.layers = 49;
  out.has_experts = true;
  out.margin = 1024 * kMiB;
  out.room_from = "free memory as the GPU's meter says just now";
  out.asked = setting(49, 17534, 23500);
  out.best = out.asked;
  out.longest_context = 40960;
  out.decode = DecodeEstimate{.empty = {120.4, 260.2, 0, 1'900'000'000},
                              .full = {80.1, 173.3, 8192, 2'850'000'000},
                              .from = "43 to 93 % of the 1008 GB/s of NVIDIA GeForce RTX 4090"};
  return out;
}

Plan too_large() {
  Plan out = fitting();
  out.asked = setting(49, 17534, 11500);
  out.best = setting(49, 7000, 11500);
  out.best->n_cpu_moe = 29;
  out.small_cache = out.asked;
  out.small_cache->cache_type_k = out.small_cache->cache_type_v = "q8_0";
  out.decode.reset();
  out.no_decode = "the speed of this machine's RAM is not known";
  out.notes = {"the architecture is not known: taken for a classic transformer"};
  return out;
}

Plan tight() {
  Plan out = fitting();
  out.asked.devices[0].free = out.asked.devices[0].total() + 100 * kMiB;
  out.asked.devices[0].fit = out.asked.fit = Fit::tight;
  out.best = setting(40, 14000, 20000);
  return out;
}

Plan not_judged() {
  Plan out = fitting();
  out.asked.devices.clear();
  out.asked.host.free.reset();
  out.asked.host.fit = out.asked.fit = Fit::not_judged;
  return out;
}

Plan by_own_runs() {
  Plan out = not_judged();
  const OwnSpeed cpu{.memory = "",
                     .runs = 3,
                     .models = 2,
                     .bytes_per_second = 15.4e9,
                     .weights_per_second = 51.5e9,
                     .error = 0.15};
  const OwnSpeed gpu{.memory = "GeForce RTX 4090",
                     .runs = 1,
                     .models = 1,
                     .bytes_per_second = 820e9,
                     .seconds_besides = 0.0012,
                     .error = 0.15};
  out.decode->own = {cpu, gpu};
  out.decode->from = own_speed_text(cpu) + "; " + own_speed_text(gpu);
  out.prefill = PrefillEstimate{.least = 81.2, .most = 137.3, .own = cpu};
  out.prefill->own.bytes_per_second.reset();
  out.prefill->own.error = 0.3;
  return out;
}

TEST(PlanReport, TextIsAsGolden) {
  expect_golden("plan_own_runs.txt", plan_text(by_own_runs()));
  expect_golden("plan_fitting.txt", plan_text(fitting()));
  expect_golden("plan_tight.txt", plan_text(tight()));
  expect_golden("plan_too_large.txt", plan_text(too_large()));
  expect_golden("plan_not_judged.txt", plan_text(not_judged()));
  expect_golden("plan_table.txt", plan_table({too_large(), fitting(), not_judged()},
                                             {{"broken.gguf", "no GGUF file"}}));
}

TEST(PlanReport, NamesOfFilesReachNoTerminalAsTheyAre) {
  Plan plan = too_large();
  plan.model = "a\x1b[31m\nb.gguf";
  plan.architecture = "\x1b]0;x\x07";
  plan.asked.devices[0].name = "GPU\r\x1b[2J";
  plan.notes = {"\x1b[1m"};
  for (const std::string& text : {plan_text(plan), plan_table({plan}, {{"\x1b[5m", "\x1b[6m"}})}) {
    for (const std::string_view line : split_lines(text)) {
      EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7F; })) << line;
    }
  }
}

TEST(PlanReport, FlagsSayWhatWasChosen) {
  PlannedSetting one = setting(20, 1000, 2000);
  EXPECT_EQ(llama_cpp_flags(one), "-ngl 20 -c 32768");
  EXPECT_EQ(ollama_parameters(one), "num_gpu 20, num_ctx 32768");
  one.n_cpu_moe = 3;
  EXPECT_EQ(llama_cpp_flags(one), "-ngl 20 -c 32768 --n-cpu-moe 3");
  one.n_cpu_moe = 0;
  one.cache_type_k = one.cache_type_v = "q8_0";
  EXPECT_EQ(llama_cpp_flags(one), "-ngl 20 -c 32768 -ctk q8_0 -ctv q8_0");
  one.devices.clear();
  EXPECT_EQ(llama_cpp_flags(one), "-c 32768 -ctk q8_0 -ctv q8_0");
}

TEST(PlanReport, JsonIsDescribed) {
  const std::string docs = std::string(PICCHIO_SOURCE_DIR) + "/docs/";
  const json schema = json::parse(file_text(docs + "schema/plan.v1.json"));
  Plan beside = fitting();
  PlannedMemory use;
  use.name = "GPU 0";
  use.weights = 800 * kMiB;
  beside.extras = {
      {.role = ExtraRole::mmproj, .model = "mmproj.gguf", .devices = {use}, .host = {}}};
  const json document = json::parse(plan_json(
      {fitting(), too_large(), not_judged(), by_own_runs(), beside}, {{"broken.gguf", "why"}}, 1));
  EXPECT_EQ(document["schema"], "picchio.plan.v1");
  expect_described(document, schema, file_text(docs + "json.md"), "plan");
  const json& asked = document["plans"][0]["asked"];
  EXPECT_EQ(asked["total"]["weights_bytes"], (17534 + 166) * kMiB);
  EXPECT_EQ(asked["devices"][0]["kv_cache_bytes"], 3072 * kMiB);
  EXPECT_TRUE(document["plans"][2]["asked"]["host"]["free_bytes"].is_null());
  EXPECT_EQ(document["plans"][0]["decode_estimate"]["own_runs"], json::array());
  EXPECT_TRUE(document["plans"][0]["prefill_estimate"].is_null());
  const json& own = document["plans"][3]["decode_estimate"]["own_runs"];
  EXPECT_TRUE(own[0]["memory"].is_null()) << "the CPU's";
  EXPECT_EQ(own[1]["memory"], "GeForce RTX 4090");
  EXPECT_EQ(own[0]["runs"], 3);
}

}  // namespace
}  // namespace picchio
