#include "results/run_json_reader.h"

#include "results/read_figures.h"

#include <gtest/gtest.h>

namespace picchio::results {
namespace {

// As the established tool prints it: no account of bytes, no ranges.
constexpr const char* kEstablished = R"({"schema": "picchio.diagnose.v1",
 "machine": {"os": "macOS 26.5.1", "chip": "Apple M5", "ram_gb": 32},
 "engine": "llama.cpp b9430", "model": "Qwen3.5-9B-Q4_K_M.gguf", "mode": "llama.cpp", "protocol": "mp1",
 "passes": [
  {"offload_n": 33, "offload_total": 33, "gpu_device": "Apple M5", "gpu_kind": "Metal", "model_params": "8.95 B",
   "model_bytes": 5669554176, "threads": 4, "cores": 10, "kv_types": ["f16", "q8_0"],
   "prefill_toks": 584.9, "decode_toks": 21.0, "wallclock_toks": 13.1},
  {"prefill_toks": 591.0, "decode_toks": 21.2, "wallclock_toks": 15.4},
  {"prefill_toks": 585.0, "decode_toks": 21.0, "wallclock_toks": 15.5}],
 "warm_median": {"prefill": 588.0, "decode": 21.1, "wallclock": 15.45},
 "state": "HEALTHY", "why": null,
 "telemetry": {"idle_med": 0, "work_med": 99, "mem_step": 6442450944, "work_w": 11.0, "throttled": false},
 "exitCode": 0, "evidenceDirectory": null})";

TEST(RunJson, OfTheEstablishedTool) {
  const auto run = read_run_json(kEstablished);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->model, "Qwen3.5-9B-Q4_K_M.gguf");
  EXPECT_EQ(run->engine, "llama.cpp");
  EXPECT_EQ(run->build, "b9430");
  EXPECT_NEAR(run->parameters.value_or(0), 8.95e9, 1);
  EXPECT_EQ(run->state, State::healthy);
  EXPECT_EQ(run->placement.engagement, Engagement::engaged);
  EXPECT_EQ(run->lane(Lane::prefill).cold.value, 584.9);
  EXPECT_EQ(run->lane(Lane::prefill).low, 585.0);
  EXPECT_EQ(run->lane(Lane::prefill).high, 591.0);
  EXPECT_EQ(run->lane(Lane::decode).warm.value, 21.1);
  EXPECT_EQ(run->more.kv_type_v, "q8_0");
  EXPECT_EQ(run->meter.watts, 11.0);
  EXPECT_EQ(run->machine.ram_gib, 32);
}

TEST(RunJson, WrongTypesAreAbsentAndNoRunIsAnError) {
  const auto odd = read_run_json(
      R"({"schema":"picchio.diagnose.v1","passes":[{"offload_n":-1,"threads":1e30,"kv_types":[1],
      "prefill_toks":"fast","abstain":7}],"warm_median":[],"machine":4,"telemetry":"x","server":[],
      "engine_args":[1,{}],"placement":{"shape":5},"state":3,"model":{},"engine":""})");
  ASSERT_TRUE(odd) << odd.error().message;
  EXPECT_FALSE(odd->placement.layers_on_gpu || odd->cpu.threads || odd->state);
  EXPECT_FALSE(odd->lane(Lane::prefill).cold.value);
  for (const char* text : {"{}", "{", R"({"schema":"picchio.watch.v1","passes":[{}]})",
                           R"({"schema":"picchio.diagnose.v1","passes":[]})",
                           R"({"schema":"picchio.diagnose.v1","passes":7})"}) {
    EXPECT_FALSE(read_figures(text)) << text;
  }
}

}  // namespace
}  // namespace picchio::results
