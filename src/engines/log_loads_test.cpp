// Which load a line belongs to, and what a whole log adds up to. Logs are composed in the engines'
// own grammar; sizes are made up.
#include "engines/log_dump.h"
#include "engines/log_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace picchio {
namespace {

// The logs are written so that the field is there; a crash here is a failed test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)

constexpr double kMiB = 1024.0 * 1024.0;

double sum_mib(const Load& load, BufferUse use, DeviceKind kind) {
  double sum = 0;
  for (const BufferLine& b : load.buffers) {
    if (b.use == use && b.kind == kind && !b.copy) sum += static_cast<double>(b.bytes) / kMiB;
  }
  return sum;
}

std::size_t count_of(const EngineLog& log, LoadRole role) {
  return static_cast<std::size_t>(std::ranges::count(log.loads, role, &Load::role));
}

bool has_event(const EngineLog& log, LogEventKind kind) {
  return std::ranges::any_of(log.events, [kind](const LogEvent& e) { return e.kind == kind; });
}

std::string main_lines(std::string_view device, int layers, std::string_view mib) {
  const std::string n = std::to_string(layers);
  return "load_tensors: loading model tensors, this can take a while... (mmap = true)\n"
         "load_tensors: offloading " +
         n +
         " repeating layers to GPU\n"
         "load_tensors: offloaded " +
         n +
         "/33 layers to GPU\n"
         "load_tensors:   CPU_Mapped model buffer size =   281.25 MiB\n"
         "load_tensors:        " +
         std::string(device) + " model buffer size =  " + std::string(mib) +
         " MiB\n"
         "llama_kv_cache:      " +
         std::string(device) +
         " KV buffer size =   800.00 MiB\n"
         "llama_context:      " +
         std::string(device) +
         " compute buffer size =   353.01 MiB\n"
         "llama_context: graph splits = 2\n";
}

TEST(LogLoads, DraftModelNeverTouchesTheMainOne) {
  const EngineLog log = read_engine_log(
      "srv    load_model: loading model '/models/big.gguf'\n" + main_lines("CUDA0", 33, "8000.00") +
      "srv    load_model: loading draft model '/models/small.gguf'\n"
      "load_tensors: offloading 0 repeating layers to GPU\n"
      "load_tensors: offloaded 0/25 layers to GPU\n"
      "load_tensors:   CPU_Mapped model buffer size =   400.00 MiB\n"
      "llama_kv_cache:        CPU KV buffer size =   100.00 MiB\n"
      "llama_context:        CPU compute buffer size =   50.00 MiB\n"
      "llama_context: graph splits = 1\n"
      "common_memory_breakdown_print: | memory breakdown [MiB] | total   free    self   model   "
      "context   compute    unaccounted |\n"
      "common_memory_breakdown_print: |   - CUDA0 (RTX 4070)   | 11999 = 1493 + (9153 =  8000 +    "
      " 800 +     353) +        1002 |\n"
      "common_memory_breakdown_print: |   - Host               |                  281 =   281 +    "
      "   0 +       0                |\n");
  const Load* load = main_load(log);
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->model_path, "/models/big.gguf");
  EXPECT_EQ(load->claim->on_gpu, 33);
  EXPECT_EQ(load->splits->prefill, 2);
  EXPECT_NEAR(sum_mib(*load, BufferUse::weights, DeviceKind::hardware_gpu), 8000, 0.01);
  EXPECT_NEAR(sum_mib(*load, BufferUse::compute, DeviceKind::host), 0, 0.01);
  ASSERT_EQ(load->breakdown.size(), 2U);
  EXPECT_EQ(load->breakdown[0].model_mib, 8000);
  EXPECT_EQ(count_of(log, LoadRole::draft), 1U);
}

TEST(LogLoads, DraftWithoutALineOfItsOwnIsTheSmallOne) {
  const std::string loader =
      "llama_model_loader: loaded meta data with 20 key-value pairs and 75 tensors from ";
  const EngineLog log = read_engine_log(loader + "/models/big.gguf (version GGUF V3 (latest))\n" +
                                        main_lines("CUDA0", 33, "8000.00") + loader +
                                        "/models/small.gguf (version GGUF V3 (latest))\n" +
                                        main_lines("CPU", 0, "600.00") + "n_drafted = 100\n");
  ASSERT_NE(main_load(log), nullptr);
  EXPECT_EQ(main_load(log)->model_path, "/models/big.gguf");
}

TEST(LogLoads, NextTokenHeadIsNoMainModel) {
  const EngineLog log = read_engine_log(
      "srv    load_model: loading model '/models/mtp.gguf'\n" + main_lines("CUDA0", 33, "8000.00") +
      "llama_model_loader: loaded meta data with 20 key-value pairs and 866 tensors from "
      "/models/mtp.gguf (version GGUF V3 (latest))\n"
      "done_getting_tensors: partial load - used 18 of 866 tensors\n"
      "load_tensors: offloaded 33/33 layers to GPU\n"
      "load_tensors:   CPU_Mapped model buffer size =   900.00 MiB\n"
      "load_tensors:        CUDA0 model buffer size =   300.00 MiB\n");
  ASSERT_NE(main_load(log), nullptr);
  EXPECT_NEAR(sum_mib(*main_load(log), BufferUse::weights, DeviceKind::hardware_gpu), 8000, 0.01);
  EXPECT_EQ(count_of(log, LoadRole::draft), 1U);
}

TEST(LogLoads, ImageEncoderOnTheCpuIsNotTheModel) {
  const EngineLog log =
      read_engine_log(main_lines("CUDA0", 33, "8000.00") +
                      "clip_model_loader: model name:   vision\n"
                      "clip_ctx: CLIP using CPU backend\n"
                      "load_hparams: model size:         1289.95 MiB\n"
                      "alloc_compute_meta:        CPU compute buffer size =   248.10 MiB\n"
                      "alloc_compute_meta: graph splits = 7, nodes = 823\n"
                      "llama_perf_context_print:        eval time =    2911.87 ms /   127 runs   ( "
                      "  22.93 ms per token,    43.61 tokens per second)\n");
  const Load* load = main_load(log);
  ASSERT_NE(load, nullptr);
  EXPECT_NEAR(sum_mib(*load, BufferUse::compute, DeviceKind::host), 0, 0.01);
  EXPECT_EQ(load->splits->prefill, 2);
  const auto side = std::ranges::find(log.loads, LoadRole::projector, &Load::role);
  ASSERT_NE(side, log.loads.end());
  EXPECT_EQ(side->devices, std::vector<std::string>{"CPU"});
  EXPECT_NEAR(sum_mib(*side, BufferUse::compute, DeviceKind::host), 248.10, 0.01);
}

TEST(LogLoads, OldImageEncoderWeights) {
  const EngineLog log = read_engine_log(
      "clip_model_load: CLIP using CUDA backend\n"
      "clip_model_load: params backend buffer size =  1289.95 MB (521 tensors)\n" +
      main_lines("CUDA0", 33, "8000.00"));
  ASSERT_NE(main_load(log), nullptr);
  EXPECT_NEAR(sum_mib(*main_load(log), BufferUse::weights, DeviceKind::hardware_gpu), 8000, 0.01);
}

TEST(LogLoads, RetryAfterOutOfMemory) {
  const EngineLog log = read_engine_log(
      "load_tensors: offloading 32 repeating layers to GPU\n"
      "load_tensors: offloaded 33/33 layers to GPU\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n"
      "alloc_tensor_range: failed to allocate CUDA0 buffer of size 8589934592\n"
      "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
      "llama_model_load_from_file_impl: failed to load model\n" +
      main_lines("CUDA0", 20, "5000.00"));
  ASSERT_EQ(log.loads.size(), 2U);
  EXPECT_TRUE(log.loads[0].failure.has_value());
  const Load* load = main_load(log);
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->claim->on_gpu, 20);
  EXPECT_FALSE(load->failure.has_value());
  EXPECT_TRUE(has_event(log, LogEventKind::allocation_failed)) << "why the second try was smaller";
}

TEST(LogLoads, FailedForGood) {
  const EngineLog log = read_engine_log(
      "load_tensors: offloaded 33/33 layers to GPU\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc "
      "failed: out of memory\n"
      "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
      "main: error: unable to load model\n");
  ASSERT_NE(main_load(log), nullptr);
  EXPECT_TRUE(main_load(log)->failure.has_value());
  EXPECT_TRUE(has_event(log, LogEventKind::load_failed));
  EXPECT_EQ(log.loads.size(), 1U);
}

TEST(LogLoads, AnotherModelsFailureLeavesAWorkingLoadAlone) {
  const EngineLog log = read_engine_log(main_lines("CUDA0", 33, "8000.00") +
                                        "llama_model_load: error loading model: "
                                        "llama_model_loader: failed to load model from /m/b\n");
  ASSERT_EQ(log.loads.size(), 2U);
  EXPECT_FALSE(log.loads[0].failure.has_value());
  EXPECT_EQ(main_load(log), &log.loads[0]);
}

TEST(LogLoads, RunnerThatDiesAtWorkDidLoad) {
  const EngineLog log = read_engine_log(main_lines("CUDA0", 33, "8000.00") +
                                        "time=2025-08-02T13:00:00Z level=ERROR source=server.go:1 "
                                        "msg=\"llama runner process has terminated\"\n");
  EXPECT_FALSE(main_load(log)->failure.has_value());
  EXPECT_TRUE(has_event(log, LogEventKind::engine_error));
}

TEST(LogLoads, CutOffAfterAnAllocationFailed) {
  const EngineLog log = read_engine_log(
      "load_tensors: offloaded 33/33 layers to GPU\n"
      "load_tensors:        CUDA0 model buffer size =  8000.00 MiB\n"
      "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 999999\n");
  EXPECT_TRUE(main_load(log)->failure.has_value());
}

TEST(LogLoads, EnginesOwnSecondTryIsNoEvidence) {
  const EngineLog log = read_engine_log(
      "load_tensors: offloaded 33/33 layers to GPU\n"
      "load_tensors:        CUDA0 model buffer size =  8000.00 MiB\n"
      "llama_context: pipeline parallelism enabled (n_copies=4)\n"
      "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 999999\n"
      "graph_reserve: failed to allocate compute buffers\n"
      "llama_context: compute buffer allocation failed, retrying without pipeline parallelism\n"
      "llama_context:      CUDA0 compute buffer size =   353.01 MiB\n"
      "llama_context: graph splits = 2\n");
  EXPECT_FALSE(main_load(log)->failure.has_value());
  EXPECT_FALSE(has_event(log, LogEventKind::allocation_failed));
}

TEST(LogLoads, HarmlessLinesMakeNoEvents) {
  const EngineLog log = read_engine_log(
      "load_tensors: tensor 'token_embd.weight' (q4_K) (and 0 others) cannot be used with "
      "preferred buffer type CUDA_Host, using CPU instead\n"
      "ggml_backend_load_best: failed to enumerate /usr/lib/ggml: No such file or directory\n"
      "load_backend: failed to load /opt/libggml-cpu-sapphirerapids.so: wrong machine\n"
      "ggml_cuda_set_main_device: using device 0 (NVIDIA GeForce RTX 3090) as main device\n"
      "hipMallocManaged unsupported, falling back to hipMalloc.\n"
      "time=2025-01-01T00:00:00Z level=INFO source=gpu.go:1 msg=\"Unable to load cudart CUDA "
      "management library\" error=\"libcuda.so.1: wrong ELF class: ELFCLASS32\"\n"
      "ggml_cuda_init: GGML_CUDA_FORCE_MMQ:    no\n");
  EXPECT_TRUE(log.events.empty()) << dump(log);
}

TEST(LogLoads, ReservationsReplaceCachesAdd) {
  const EngineLog log = read_engine_log(
      "load_tensors:        CUDA0 model buffer size =  8000.00 MiB\n"
      "llama_context: constructing llama_context\n"
      "llama_kv_cache_iswa: creating non-SWA KV cache, size = 8192 cells\n"
      "llama_kv_cache:      CUDA0 KV buffer size =    96.00 MiB\n"
      "llama_kv_cache_iswa: creating     SWA KV cache, size = 1024 cells\n"
      "llama_kv_cache:      CUDA0 KV buffer size =    18.00 MiB\n"
      "sched_reserve: reserving ...\n"
      "sched_reserve:      CUDA0 compute buffer size =   500.00 MiB\n"
      "sched_reserve:  CUDA_Host compute buffer size =    20.00 MiB\n"
      "sched_reserve: graph splits = 2\n"
      "sched_reserve: reserving ...\n"
      "sched_reserve:      CUDA0 compute buffer size =   400.00 MiB\n"
      "sched_reserve:  CUDA_Host compute buffer size =    16.00 MiB\n"
      "sched_reserve: graph splits = 2\n"
      "~llama_context:      CUDA0 compute buffer size is 400.0000 MiB, matches expectation of "
      "400.0000 MiB\n");
  const Load* load = main_load(log);
  ASSERT_NE(load, nullptr);
  EXPECT_NEAR(sum_mib(*load, BufferUse::kv, DeviceKind::hardware_gpu), 114, 0.01);
  EXPECT_NEAR(sum_mib(*load, BufferUse::compute, DeviceKind::hardware_gpu), 400, 0.01);
  EXPECT_NEAR(sum_mib(*load, BufferUse::compute, DeviceKind::host), 16, 0.01);
}

TEST(LogLoads, ModelSwitchInAJournal) {
  const EngineLog log = read_engine_log(
      "time=2025-08-02T12:00:00Z level=INFO source=server.go:1 msg=\"starting llama server\" "
      "cmd=\"/usr/bin/ollama runner --model /m/one --n-gpu-layers 33\"\n" +
      main_lines("CUDA0", 33, "8000.00") +
      "time=2025-08-02T13:00:00Z level=INFO source=server.go:1 msg=\"starting llama server\" "
      "cmd=\"/usr/bin/ollama runner --model /m/two --n-gpu-layers 5\"\n" +
      main_lines("CUDA0", 5, "1000.00"));
  ASSERT_EQ(log.loads.size(), 2U);
  EXPECT_EQ(main_load(log)->model_path, "/m/two");
  EXPECT_EQ(main_load(log)->claim->on_gpu, 5);
  EXPECT_NEAR(sum_mib(*main_load(log), BufferUse::weights, DeviceKind::hardware_gpu), 1000, 0.01);
}

TEST(LogLoads, TokenizerOnlyLoadIsNoLoad) {
  const std::string loader =
      "llama_model_loader: loaded meta data with 20 key-value pairs and 75 tensors from /m/a "
      "(version GGUF V3 (latest))\n";
  const EngineLog log = read_engine_log(main_lines("CUDA0", 33, "8000.00") + loader +
                                        "llama_model_load: vocab only - skipping tensors\n");
  ASSERT_NE(main_load(log), nullptr);
  EXPECT_EQ(main_load(log)->claim->on_gpu, 33);
}

TEST(LogLoads, GoEngineLastBlockCounts) {
  const auto block = [](int layers, const char* gpu, const char* cpu) {
    const std::string at = "time=2025-10-20T17:38:57Z level=DEBUG source=ggml.go:1 msg=";
    return at + "\"offloading " + std::to_string(layers) + " repeating layers to GPU\"\n" + at +
           "\"offloaded " + std::to_string(layers) + "/25 layers to GPU\"\n" + at +
           "\"model weights\" device=CUDA0 size=\"" + gpu + "\"\n" + at +
           "\"model weights\" device=CPU size=\"" + cpu + "\"\n";
  };
  const EngineLog log = read_engine_log(
      "time=2025-10-20T17:38:56Z level=INFO source=server.go:672 msg=\"loading model\" \"model "
      "layers\"=25 requested=-1\n"
      "time=2025-10-20T17:38:56Z level=INFO source=runner.go:1 msg=load request=\"{Operation:fit "
      "LoraPath:[] GPULayers:25[ID:GPU-1 Layers:25(0..24)] MultiUserCache:false}\"\n" +
      block(25, "11.8 GiB", "1.1 GiB") +
      "time=2025-10-20T17:38:56Z level=INFO source=runner.go:1 msg=load "
      "request=\"{Operation:commit LoraPath:[] GPULayers:10[ID:GPU-1 Layers:10(0..9)] "
      "MultiUserCache:false}\"\n" +
      block(10, "4.0 GiB", "8.9 GiB") +
      "time=2025-10-20T17:48:56Z level=INFO source=runner.go:1 msg=load request=\"{Operation:close "
      "GPULayers:[] MultiUserCache:false}\"\n");
  const Load* load = main_load(log);
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->claim->on_gpu, 10);
  EXPECT_NEAR(sum_mib(*load, BufferUse::weights, DeviceKind::hardware_gpu), 4096, 0.01);
  ASSERT_TRUE(log.plan.has_value());
  EXPECT_EQ(log.plan->offload, 10);
  EXPECT_EQ(log.plan->requested, -1);
}

TEST(LogLoads, ServerRestartForgetsTheOldProcess) {
  const EngineLog log = read_engine_log(
      "time=2025-10-20T10:00:00Z level=INFO source=types.go:1 msg=\"inference compute\" id=cpu "
      "library=cpu\n"
      "time=2025-10-20T11:00:00Z level=INFO source=routes.go:1 msg=\"server config\" "
      "env=\"map[CUDA_VISIBLE_DEVICES: OLLAMA_LLM_LIBRARY:]\"\n"
      "time=2025-10-20T11:00:00Z level=INFO source=routes.go:2 msg=\"Listening on [::]:11434 "
      "(version 0.12.6)\"\n"
      "time=2025-10-20T11:00:01Z level=INFO source=types.go:1 msg=\"inference compute\" id=GPU-1 "
      "library=CUDA name=CUDA0 description=\"NVIDIA X\" type=discrete total=\"24.0 GiB\" "
      "available=\"23.0 GiB\"\n" +
      main_lines("CUDA0", 33, "8000.00"));
  EXPECT_TRUE(log.events.empty()) << dump(log);
  EXPECT_EQ(log.version, "0.12.6");
  const EngineLog lost = read_engine_log(main_lines("CUDA0", 33, "8000.00") +
                                         "time=2025-10-20T11:00:00Z level=INFO source=routes.go:2 "
                                         "msg=\"Listening on [::]:11434 (version 0.12.6)\"\n"
                                         "time=2025-10-20T11:00:01Z level=INFO source=types.go:1 "
                                         "msg=\"inference compute\" id=cpu library=cpu\n");
  EXPECT_EQ(main_load(lost), nullptr) << "the card was there before the restart only";
  EXPECT_TRUE(has_event(lost, LogEventKind::no_gpu_discovered));
}

TEST(LogLoads, PlanningPassIsTold) {
  const EngineLog log = read_engine_log(
      "common_params_fit_impl: getting device memory data for initial parameters:\n"
      "print_info: no_alloc              = 1\n"
      "load_tensors: offloaded 33/33 layers to GPU\n"
      "load_tensors:        CUDA0 model buffer size =     0.00 MiB\n"
      "common_memory_breakdown_print: | memory breakdown [MiB] | total    free     self   model   "
      "context   compute    unaccounted |\n"
      "common_memory_breakdown_print: |   - CUDA0 (RTX 3090)   | 24124 = 23860 + (15945 = 15364 +  "
      "   411 +     170) +      -15681 |\n"
      "common_fit_params: failed to fit params to free device memory: n_gpu_layers already set by "
      "user to 99, abort\n" +
      main_lines("CUDA0", 33, "8000.00"));
  ASSERT_NE(probe_load(log), nullptr);
  EXPECT_EQ(probe_load(log)->breakdown.at(0).unaccounted_mib, -15681);
  EXPECT_TRUE(main_load(log)->breakdown.empty());
  ASSERT_TRUE(log.fit.has_value());
  EXPECT_EQ(log.fit->succeeded, false);
  EXPECT_EQ(log.fit->failure, "n_gpu_layers already set by user to 99, abort");
  ASSERT_EQ(log.events.size(), 1U) << "the abort itself convicts nobody";
  EXPECT_EQ(log.events[0].kind, LogEventKind::gpu_layers_asked);
}

TEST(LogLoads, BenchTables) {
  const EngineLog log = read_engine_log(
      "| model                          |       size |     params | backend    | ngl |            "
      "test |                  t/s |\n"
      "| ------------------------------ | ---------: | ---------: | ---------- | --: | "
      "--------------: | -------------------: |\n"
      "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA,RPC   |   0 |           "
      "pp512 |        212.09 \xC2\xB1 1.66 |\n"
      "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA,RPC   |   0 |           "
      "tg128 |          7.31 \xC2\xB1 0.01 |\n"
      "\nbuild: 50aa9389 (6123)\n");
  ASSERT_TRUE(log.plan.has_value());
  EXPECT_EQ(log.plan->requested, 0);
  EXPECT_EQ(log.backends, "CUDA,RPC");
  EXPECT_TRUE(log.events.empty()) << "a backend column is no placement";
  EXPECT_TRUE(log.loads.empty());
  ASSERT_EQ(log.timings.size(), 1U);
  EXPECT_DOUBLE_EQ(log.timings[0].prefill_tokens_per_second.value(), 212.09);
  EXPECT_DOUBLE_EQ(log.timings[0].decode_tokens_per_second.value(), 7.31);
  const EngineLog host = read_engine_log(
      "| model | size | params | backend | threads | test | t/s |\n"
      "| llama 7B Q4_0 | 3.56 GiB | 6.74 B | BLAS | 8 | tg128 | 7.31 \xC2\xB1 0.01 |\n");
  EXPECT_TRUE(has_event(host, LogEventKind::not_compiled_for_gpu));
  EXPECT_EQ(host.threads, 8);
  EXPECT_FALSE(host.plan.has_value());
}

TEST(LogLoads, HostileRepetitionStaysBounded) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += "llama_model_loader: loaded meta data with 1 pairs and 1 tensors from x (version 1)\n";
    text += "load_tensors:        CUDA" + std::to_string(i) + " model buffer size =  1.00 MiB\n";
    text += "x: using device CUDA" + std::to_string(i) + " (X) - 1 MiB free\n";
  }
  for (const std::string_view odd :
       {"'<unk>'msg=\"offload to ", "[msg=\"offload to ] x", " layers MiB used,: layers",
        "{\"msg\":\"", "time=2", "x time=2 level= time=2 level=", "| test | t/s |\n\xC2\xB1"}) {
    text += std::string(odd) + "\n";
  }
  const EngineLog log = read_engine_log(text);
  EXPECT_LE(log.loads.size(), 1000U);
  EXPECT_LE(log.devices.size(), 256U);
  ASSERT_NE(main_load(log), nullptr);
}

// NOLINTEND(bugprone-unchecked-optional-access)

}  // namespace
}  // namespace picchio
