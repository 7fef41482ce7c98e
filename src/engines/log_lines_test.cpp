// One line kind at a time: the real line, and the one fact it must become.
#include "engines/log_dump.h"
#include "engines/log_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace picchio {
namespace {

// The logs are written so that the field is there; a crash here is a failed test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)

struct Case {
  const char* name;
  std::string_view log;
  std::vector<std::string_view> facts;  // each a part of the dump
};

void expect_facts(std::span<const Case> cases) {
  for (const Case& c : cases) {
    const std::string text = dump(read_engine_log(c.log));
    for (const std::string_view fact : c.facts) {
      EXPECT_TRUE(text.contains(fact)) << c.name << ": no '" << fact << "' in\n" << text;
    }
    EXPECT_FALSE(text.contains("\nnote ")) << c.name << "\n" << text;
  }
}

TEST(LogLines, BuffersOfEveryEra) {
  const Case cases[] = {
      {"2023 host and card",
       "llm_load_tensors: mem required  = 5407.71 MB (+ 1026.00 MB per state)\n"
       "llm_load_tensors: offloading 32 repeating layers to GPU\n"
       "llm_load_tensors: offloading non-repeating layers to GPU\n"
       "llm_load_tensors: offloading v cache to GPU\n"
       "llm_load_tensors: offloading k cache to GPU\n"
       "llm_load_tensors: offloaded 35/35 layers to GPU\n"
       "llm_load_tensors: VRAM used: 4474 MB\n"
       "llama_new_context_with_model: kv self size  =  256.00 MB\n"
       "llama_new_context_with_model: total VRAM used: 5105 MB (model: 4474 MB, context: 631 MB)\n",
       {"claim=35/35", "weights CPU on CPU (host): 5407.71",
        "weights VRAM on VRAM (hardware gpu): 4474.00", "kv VRAM on VRAM (hardware gpu): 128.00",
        "compute VRAM on VRAM (hardware gpu): 631.00"}},
      {"Dec 2023",
       "llm_load_tensors: system memory used  =   70.44 MiB\n"
       "llm_load_tensors: VRAM used           = 4095.06 MiB\n"
       "llm_load_tensors: offloaded 33/33 layers to GPU\n",
       {"weights CPU on CPU (host): 70.44", "weights VRAM on VRAM (hardware gpu): 4095.06"}},
      {"2023 VRAM cache",
       "llm_load_tensors: VRAM used: 10 MB\nllama_kv_cache_init: VRAM kv self = 256.00 MB\n",
       {"kv VRAM on VRAM (hardware gpu): 256.00"}},
      {"2024",
       "llm_load_tensors:      CUDA0 buffer size =  3847.55 MiB\n",
       {"weights CUDA0 on CUDA0 (hardware gpu): 3847.55"}},
      {"decimal comma", "llm_load_tensors:      CUDA0 buffer size =  1008,19 MiB\n", {"1008.19"}},
      {"today",
       "load_tensors:   CPU_Mapped model buffer size =   281.25 MiB\n",
       {"weights CPU_Mapped on CPU (host): 281.25 MiB mapped"}},
      {"input buffer",
       "llama_new_context_with_model:  CUDA_Host input buffer size   =    13.14 MiB\n",
       {"output CUDA_Host on CPU (host): 13.14"}},
      {"cache of spring 2025", "init:      CUDA0 KV buffer size =   800.00 MiB\n", {"kv CUDA0"}},
      {"unified cache",
       "llama_kv_cache_unified:      CUDA0 KV buffer size =  2048.00 MiB\n",
       {"kv CUDA0"}},
      {"recurrent",
       "llama_memory_recurrent:      CUDA0 RS buffer size =    62.81 MiB\n",
       {"recurrent CUDA0"}},
      {"remote",
       "load_tensors: RPC0[127.0.0.1:50052] model buffer size =    14.77 MiB\n",
       {"weights RPC0[127.0.0.1:50052] on RPC0[127.0.0.1:50052] (remote): 14.77"}},
      {"OpenCL",
       "load_tensors:       OpenCL model buffer size =  4000.00 MiB\n",
       {"weights OpenCL on GPUOpenCL (hardware gpu)"}},
      {"Kompute",
       "llm_load_tensors:   Kompute0 buffer size =  4000.00 MiB\n",
       {"weights Kompute0"}},
      {"Go, 0.6 to 0.11.4",
       "time=2025-08-02T12:32:35Z level=INFO source=ggml.go:379 msg=\"model weights\" buffer=CUDA0 "
       "size=\"4.1 GiB\"\n",
       {"weights CUDA0 on CUDA0 (hardware gpu): 4198.40"}},
      {"Go, 0.11.5 on",
       "time=2025-10-20T17:38:57Z level=INFO source=device.go:217 msg=\"kv cache\" device=CPU "
       "size=\"300.0 MiB\"\n",
       {"kv CPU on CPU (host): 300.00", "engine ollama"}},
  };
  expect_facts(cases);
}

TEST(LogLines, NoRepackedCopyIsCountedTwiceAndNoOnlyCopyIsLost) {
  const auto copy_of = [](std::string_view log) {
    return dump(read_engine_log(log)).contains("MiB copy");
  };
  EXPECT_TRUE(
      copy_of("print_info: file size   = 4.58 GiB (4.89 BPW)\n"
              "load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB\n"
              "load_tensors:   CPU_REPACK model buffer size =  3204.00 MiB\n"));
  EXPECT_FALSE(
      copy_of("print_info: file size   = 15.00 MiB (4.83 BPW)\n"
              "load_tensors:   CPU_Mapped model buffer size =     3.44 MiB\n"
              "load_tensors:   CPU_REPACK model buffer size =    11.53 MiB\n"));
  EXPECT_FALSE(
      copy_of("load_tensors: loading model tensors, this can take a while... (mmap = false)\n"
              "load_tensors:          CPU model buffer size =   300.00 MiB\n"
              "load_tensors:   CPU_REPACK model buffer size =  3204.00 MiB\n"));
  EXPECT_TRUE(
      copy_of("load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB\n"
              "load_tensors:  CPU_AARCH64 model buffer size =  3204.00 MiB\n"));
}

TEST(LogLines, ContextAndGraph) {
  const Case cases[] = {
      {"splits, one number",
       "llama_context: graph nodes  = 1366\nllama_context: graph splits = 2\n",
       {"splits=2 nodes=1366"}},
      {"splits, two",
       "llama_context: graph splits = 124 (with bs=512), 3 (with bs=1)\n",
       {"splits=124 decode=3"}},
      {"splits, measured",
       "llama_new_context_with_model: graph splits (measure): 3\n",
       {"splits=3"}},
      {"b11669, two",
       "0.00.078.680 I sched_reserve: graph (pp bs=512, tg bs=1): nodes = 257 / 255, splits = 50 / "
       "34, input objects = 4 / 4, input tensors = 9 / 9\n",
       {"splits=50 decode=34 nodes=257"}},
      {"b11669, one",
       "sched_reserve: graph: nodes = 133, splits = 1, input objects = 4, input tensors = 9\n",
       {"splits=1 nodes=133"}},
      {"Go graph",
       "time=2025-11-02T17:14:50Z level=DEBUG source=ggml.go:857 msg=\"compute graph\" nodes=1445 "
       "splits=325\n"
       "time=2025-11-02T17:14:50Z level=DEBUG source=ggml.go:857 msg=\"compute graph\" nodes=1445 "
       "splits=3\n",
       {"splits=325 decode=3 nodes=1445"}},
      {"context got",
       "llama_context: n_ctx         = 8192\ngenerate: n_ctx = 4096, n_batch = 2048\n",
       {"n_ctx=8192"}},
      {"KV types",
       "llama_kv_cache: size = 17.00 MiB ( 4096 cells, 8 layers, 1/1 seqs), K (q8_0): 8.50 MiB, V "
       "(q4_0): 8.50 MiB\n",
       {"k=q8_0 v=q4_0"}},
      {"KV types, early 2025",
       "llama_kv_cache_init: kv_size = 4096, offload = 1, type_k = 'f16', type_v = 'q4_0', n_layer "
       "= 32\n",
       {"k=f16 v=q4_0"}},
      {"flash on", "llama_context: flash_attn    = 1\n", {"flash=true"}},
      {"flash auto off",
       "llama_context: flash_attn    = auto\n"
       "llama_context: layer 0 is assigned to device Vulkan0 but the Flash Attention tensor is "
       "assigned to device CPU (usually due to missing support)\n"
       "llama_context: Flash Attention was auto, set to disabled\n",
       {"flash=false"}},
      {"flash resolved", "resolve_fused_ops: Flash Attention enabled\n", {"flash=true"}},
      {"refused operation",
       "sched_reserve: layer 3 is assigned to device Vulkan0 but the fused Gated Delta Net tensor "
       "is assigned to device CPU (usually due to missing support)\n",
       {"refused=fused Gated Delta Net"}},
      {"no mmap",
       "load_tensors: loading model tensors, this can take a while... (load_mode = none)\n",
       {"no_mmap"}},
      {"override",
       "tensor blk.0.ffn_up.weight (0 MiB q4_K) buffer type overridden to Vulkan_Host\n"
       "Tensor blk.3.ffn_up_exps.weight buffer type overriden to CPU\n",
       {"overrides=2"}},
      {"layers",
       "load_tensors: layer   5 assigned to device Vulkan0, is_swa = 0\nllama_kv_cache: layer   5: "
       "dev = Vulkan0\n",
       {"layers=1 kv_layers=1"}},
      {"meta",
       "print_info: general.name          = tiny random llama\nprint_info: model params          = "
       "26.03 M\n"
       "print_info: n_layer               = 8\nprint_info: n_vocab               = 832\n"
       "print_info: n_embd                = 512\nprint_info: n_ctx_train           = 8192\n"
       "print_info: file type   = Q4_K - Medium\n",
       {"parameters=26030000 name=tiny random llama type=Q4_K - Medium n_layer=8 n_vocab=832 "
        "n_embd=512 n_ctx_train=8192"}},
      {"meta, 2024",
       "llm_load_print_meta: n_vocab          = 32000\nllm_load_print_meta: model ftype      = "
       "mostly Q4_K - Medium\n"
       "llm_load_print_meta: model size       = 14.96 GiB (16.00 BPW) \n",
       {"weight_bytes=16063177687", "type=Q4_K - Medium n_vocab=32000"}},
  };
  expect_facts(cases);
}

TEST(LogLines, ForcedFlashAttentionOnTheCpu) {
  const EngineLog log = read_engine_log(
      "llama_context: flash_attn    = enabled\n"
      "llama_context: layer 0 is assigned to device CUDA0 but the Flash Attention tensor is "
      "assigned to device CPU (usually due to missing support)\n");
  ASSERT_NE(main_load(log), nullptr);
  EXPECT_TRUE(main_load(log)->flash_attention_on_cpu);
  const EngineLog other = read_engine_log(
      "llama_context: flash_attn    = enabled\n"
      "llama_context: layer 0 is assigned to device CPU but the Flash Attention tensor is assigned "
      "to device CUDA0 (usually due to missing support)\n");
  EXPECT_FALSE(main_load(other)->flash_attention_on_cpu) << "the harmless direction";
}

TEST(LogLines, DevicesOfEveryBackend) {
  const Case cases[] = {
      {"CUDA 2026",
       "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 24080 MiB):\n"
       "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes, VRAM: 24080 MiB\n",
       {"device CUDA0 'NVIDIA GeForce RTX 4090' hardware gpu total=25249710080"}},
      {"ROCm",
       "ggml_cuda_init: found 1 ROCm devices:\n  Device 0: AMD Radeon RX 6800, gfx1030 (0x1030), "
       "VMM: no, Wave Size: 32\n",
       {"device ROCm0 'AMD Radeon RX 6800' hardware gpu"}},
      {"cuBLAS 2023",
       "ggml_init_cublas: found 1 CUDA devices:\n  Device 0: NVIDIA GeForce RTX 3090\n",
       {"device CUDA0 'NVIDIA GeForce RTX 3090'"}},
      {"Vulkan",
       "ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 1 | fp16: 1 | warp "
       "size: 64\n",
       {"device Vulkan0 'AMD Radeon RX 7900 XTX (RADV NAVI31)' hardware gpu integrated=true"}},
      {"Vulkan 2024",
       "Vulkan0: NVIDIA GeForce RTX 2060 (NVIDIA) | uma: 0 | fp16: 1 | warp size: 32\n",
       {"device Vulkan0 'NVIDIA GeForce RTX 2060' hardware gpu integrated=false"}},
      {"llvmpipe",
       "ggml_vulkan: 1 = llvmpipe (LLVM 19.1.0, 256 bits) (llvmpipe) | uma: 0 | fp16: 1 |\n"
       "ggml_vulkan: Warning: Device type is CPU. This is probably not the device you want.\n",
       {"device Vulkan1 'llvmpipe (LLVM 19.1.0, 256 bits)' software device",
        "event software_device [Vulkan1]"}},
      {"a software device that no list knows",
       "ggml_vulkan: 0 = Some Renderer (drv) | uma: 0 |\nggml_vulkan: Warning: Device type is CPU. "
       "This is probably not the device you want.\n"
       "load_tensors:      Vulkan0 model buffer size =  1918.35 MiB\n",
       {"device Vulkan0 'Some Renderer' software device because device type is CPU",
        "weights Vulkan0 on Vulkan0 (software device)"}},
      {"description after the buffers",
       "load_tensors:      Vulkan0 model buffer size =  1918.35 MiB\n"
       "common_memory_breakdown_print: |   - Vulkan0 (llvmpipe (LLVM 20.1.8, 256 bits)) | 31877 = "
       "13120 + (2622 =  1918 +     448 +     256) +       16135 |\n",
       {"weights Vulkan0 on Vulkan0 (software device)"}},
      {"SYCL row",
       "| 2|     [opencl:cpu:0]|          13th Gen Intel Core i5-13600K|    3.0|     20|    8192|  "
       " 64| 33536M|x|\n",
       {"device SYCL2 '13th Gen Intel Core i5-13600K' software device because [opencl:cpu:0]"}},
      {"Metal",
       "ggml_metal_init: found device: Apple M4 Pro\nggml_metal_init: recommendedMaxWorkingSetSize "
       " = 28991.03 MB\n",
       {"device Metal 'Apple M4 Pro' hardware gpu total=28991030000"}},
      {"OpenCL on a CPU",
       "ggml_opencl: selected platform: 'Portable Computing Language'\nggml_opencl: device: "
       "'cpu-haswell-x (OpenCL 3.0 PoCL)'\n",
       {"device GPUOpenCL 'cpu-haswell-x' software device"}},
      {"OpenCL on Adreno",
       "ggml_opencl: selected platform: 'QUALCOMM Snapdragon(TM)'\nggml_opencl: device: 'QUALCOMM "
       "Adreno(TM) 750 (OpenCL 3.0 Adreno(TM) 750)'\n",
       {"device GPUOpenCL 'QUALCOMM Adreno(TM) 750' hardware gpu"}},
      {"Hexagon",
       "ggml-hex: allocating new session: HTP0\n",
       {"device HTP0 'Hexagon NPU' hardware gpu"}},
      {"using, nested brackets",
       "x: using device Vulkan0 (llvmpipe (LLVM 20.1.8, 256 bits)) (unknown id) - 15840 MiB free\n",
       {"device Vulkan0 'llvmpipe (LLVM 20.1.8, 256 bits)' software device selected",
        "uses=Vulkan0"}},
      {"using, no id",
       "x: using device Vulkan0 (AMD Radeon (RADV NAVI31)) - 100 MiB free\n",
       {"device Vulkan0 'AMD Radeon (RADV NAVI31)' hardware gpu selected free=104857600"}},
      {"device_info",
       "0.00.091.880 I cmn  common_param:   - Vulkan1 : AMD Radeon RX 6600 (RADV NAVI23) (8192 "
       "MiB, 8186 MiB free)\n",
       {"device Vulkan1 'AMD Radeon RX 6600 (RADV NAVI23)' hardware gpu total=8589934592"}},
      {"device_info, CPU only",
       "I device_info:\nI   - CPU     : AMD EPYC (24105 MiB, 24105 MiB free)\nI   - BLAS : "
       "OpenBLAS (0 MiB, 0 MiB free)\n",
       {"event no_devices_found [device list]"}},
      {"list",
       "Available devices:\n  CUDA0: NVIDIA GeForce RTX 4090 (24080 MiB, 23000 MiB free)\n",
       {"device CUDA0 'NVIDIA GeForce RTX 4090'"}},
      {"ollama to 0.12.3",
       "time=2024-09-05T09:20:35Z level=INFO source=types.go:107 msg=\"inference compute\" "
       "id=GPU-1 library=rocm variant=\"\" compute=gfx1100 driver=6.8 name=1002:744c total=\"24.0 "
       "GiB\" available=\"23.0 GiB\"\n",
       {"device ROCm0 '1002:744c' hardware gpu total=25769803776"}},
      {"ollama iGPU",
       "time=2025-11-01T00:00:00Z level=INFO source=types.go:42 msg=\"inference compute\" id=1 "
       "library=Vulkan name=Vulkan0 description=\"AMD Radeon 780M\" type=iGPU total=\"16.0 GiB\" "
       "available=\"15.0 GiB\"\n",
       {"device Vulkan0 'AMD Radeon 780M' hardware gpu integrated=true"}},
      {"worker's list",
       "Starting RPC server v8.0.0\nDevices:\n  CUDA0: NVIDIA T4 (15000 MiB, 14000 MiB free)\n",
       {"event remote_is_gpu [CUDA0]"}},
  };
  expect_facts(cases);
}

TEST(LogLines, Rates) {
  const Case cases[] = {
      {"2023",
       "llama_print_timings:        load time =  2104.77 ms\n"
       "llama_print_timings:      sample time =    15.90 ms /   128 runs   (    0.12 ms per token, "
       " 8050.31 tokens per second)\n"
       "llama_print_timings: prompt eval time =   411.02 ms /    14 tokens (   29.36 ms per token, "
       "   34.06 tokens per second)\n"
       "llama_print_timings:        eval time = 22713.44 ms /   127 runs   (  178.85 ms per token, "
       "    5.59 tokens per second)\n"
       "llama_print_timings:       total time = 23164.91 ms /   141 tokens\n",
       {"timings load_ms=2104.77 prompt_ms=411.02 prompt_tokens=14 eval_ms=22713.44 eval_runs=127 "
        "total_ms=23164.91 prefill=34.06 decode=5.59"}},
      {"commas",
       "llama_print_timings:        eval time =    2177,98 ms /    63 runs   (   34,57 ms per "
       "token,    28,93 tokens per second)\n",
       {"decode=28.93"}},
      {"server, continuation lines",
       "2.05.870.752 I slot print_timing: id  3 | task 0 | \n"
       "prompt eval time =     751.87 ms /    25 tokens (   30.07 ms per token,    33.25 tokens "
       "per second)\n"
       "       eval time =   85931.90 ms /  1119 tokens (   76.79 ms per token,    13.02 tokens "
       "per second)\n"
       "      total time =   86683.77 ms /  1144 tokens\n",
       {"eval_runs=1119 total_ms=86683.77 prefill=33.25 decode=13.02"}},
      {"server that divides by one less",
       "0.00.564.530 I slot print_timing: id  0 | task 0 |        eval time =       3.32 ms /     "
       "8 tokens (    0.47 ms per token,  2110.98 tokens per second)\n",
       {"eval_runs=7", "decode=2110.98"}},
      {"json of 2024",
       R"x({"tid":"1","timestamp":1,"level":"INFO","function":"print_timings","line":1,"msg":"generation eval time =    1000.00 ms /    25 runs   (   40.00 ms per token,    25.00 tokens per second)","slot_id":0})x"
       "\n",
       {"eval_runs=25 decode=25.00"}},
      {"koboldcpp",
       "CtxLimit:1024/4096, Amt:200/200, Init:0.00s, Process:1.23s (12.3ms/T = 81.30T/s), "
       "Generate:9.87s (49.3ms/T = 20.27T/s), Total:11.10s\n",
       {"prompt_ms=1230 eval_ms=9870", "eval_runs=200", "prefill=81.30 decode=20.27"}},
      {"while running",
       "slot print_timing: id  3 | task 0 | n_decoded =   1081, tg =  12.93 t/s, tg_3s =  12.57 "
       "t/s\n",
       {"decode=12.93"}},
  };
  expect_facts(cases);
}

TEST(LogLines, WhatIsNotARateStaysAbsent) {
  for (const std::string_view line :
       {"common_perf_print:        eval time =       0.00 ms /     1 runs   (    0.00 ms per "
        "token,      inf tokens per second)\n",
        "common_perf_print:        eval time =       0.00 ms /     0 runs   (    -nan ms per "
        "token,     -nan tokens per second)\n",
        "common_perf_print:        eval time =      12.00 ms /     0 runs   (     inf ms per "
        "token,     0.00 tokens per second)\n",
        "common_perf_print:        eval time =    -nan ms /    10 runs   (    -nan ms per token,   "
        "  -nan tokens per second)\n"}) {
    const EngineLog log = read_engine_log(line);
    ASSERT_EQ(log.timings.size(), 1U) << line;
    EXPECT_EQ(log.timings[0].decode_tokens_per_second, std::nullopt) << line;
  }
}

TEST(LogLines, LastBlockIsTheMainModels) {
  const EngineLog log = read_engine_log(
      "draft:\n\n"
      "llama_perf_context_print: prompt eval time =    10.00 ms /    10 tokens (    1.00 ms per "
      "token,  1000.00 tokens per second)\n"
      "llama_perf_context_print:        eval time =    10.00 ms /     5 runs   (    2.00 ms per "
      "token,   500.00 tokens per second)\n"
      "\ntarget:\n\n"
      "llama_perf_context_print: prompt eval time =   100.00 ms /    10 tokens (   10.00 ms per "
      "token,   100.00 tokens per second)\n"
      "llama_perf_context_print:        eval time =   100.00 ms /     5 runs   (   20.00 ms per "
      "token,    50.00 tokens per second)\n");
  ASSERT_EQ(log.timings.size(), 2U);
  EXPECT_DOUBLE_EQ(log.timings[1].decode_tokens_per_second.value(), 50);
}

TEST(LogLines, VersionsSamplingThreadsCache) {
  const Case cases[] = {
      {"build 2023", "main: build = 3618 (3ba780e2)\n", {"engine llama.cpp b3618 build=3618"}},
      {"build 2025",
       "build: 7062 (1f1e57f2a) with cc (Ubuntu 13.3.0) 13.3.0 for x86_64-linux-gnu\n",
       {"b7062"}},
      {"server", "build_info: b2507-0fa27bb1\n", {"b2507 build=2507"}},
      {"version", "version: 9049 (2496f9c14)\n", {"build=9049"}},
      {"May 2026",
       "0.00.189.440 I common_params_print_info: build 9284 (afcda09d1) with GNU 13.3.0\n",
       {"build=9284"}},
      {"0.7.0", "version: 0.7.0 (build 11669, commit Debian)\n", {"build=11669"}},
      {"bench", "build: 50aa9389 (6123)\n", {"build=6123"}},
      {"json",
       R"({"timestamp":1,"level":"INFO","function":"main","line":1,"message":"build info","build":1021,"commit":"9e232f0"})"
       "\n",
       {"build=1021"}},
      {"ollama",
       "time=2024-02-23T17:04:11Z level=INFO source=routes.go:1019 msg=\"Listening on [::]:11434 "
       "(version 0.1.27)\"\nbuild: 7062 (1f1e57f2a) with cc\n",
       {"engine ollama 0.1.27 build=7062"}},
      {"koboldcpp", "Welcome to KoboldCpp - Version 1.78\n", {"engine koboldcpp 1.78"}},
      {"llamafile",
       "link_cuda_dso: GPU support loaded\n",
       {"engine llamafile", "event backend_loaded [CUDA]"}},
      {"sampling",
       "sampler seed: 7\n\ttop_k = 40, top_p = 0.950, min_p = 0.050, typical_p = 1.000, "
       "top_n_sigma = -1.000, temp = 0.800\n",
       {"sampling temp=0.8 top_k=40 top_p=0.95 min_p=0.05 seed=7"}},
      {"threads",
       "system_info: n_threads = 16 (n_threads_batch = 16) / 32 | CUDA : ARCHS = 860 | "
       "FA_ALL_QUANTS = 1 | CPU : SSE3 = 1 | \n",
       {"threads=16 cores=32 backends=CUDA, CPU", "all flash attention quants"}},
      {"flat",
       "system_info: n_threads = 4 / 8 | AVX = 1 | BLAS = 0 | SSE3 = 1 | \n",
       {"threads=4 cores=8 backends=CPU"}},
      {"cache 2026",
       "slot   operator(): id  0 | task 9 | cached n_tokens = 17, memory_seq_rm [17, end)\n",
       {"cached=17"}},
      {"cache 2024, second batch is no cache",
       "slot update_slots: id  0 | task 0 | kv cache rm [0, end)\nslot update_slots: id  0 | task "
       "0 | kv cache rm [2048, end)\n",
       {"cached=0"}},
  };
  expect_facts(cases);
}

TEST(LogLines, Wrapped) {
  const std::string_view line = "load_tensors:        CUDA0 model buffer size =  8351.36 MiB";
  const std::string wanted = "weights CUDA0 on CUDA0 (hardware gpu): 8351.36";
  std::string utf16 = "\xFF\xFE";
  for (const char c : std::string(line) + "\r\n") utf16 += std::string{c, '\0'};
  // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one long line in two parts
  const std::string forms[] = {
      std::string(line) + "\r\n",
      "\xEF\xBB\xBF" + std::string(line),
      utf16,
      "\x1b[32m0.00.1\x1b[0m \x1b[1m" + std::string(line) + "\x1b[0m\n",
      "..........................................." + std::string(line) + "\n",
      R"({"type":"log","time":31022,"level":"info","msg":"load_tensors:        CUDA0 model buffer size =  8351.36 MiB\n"})"
      "\n",
      "load_tensors:&nbsp;       CUDA0 model buffer size = &gt;\n" + std::string(line) + "\n",
      std::string(line) + "time=2024-05-21T10:00:00Z level=WARN source=gpu.go:1 msg=\"x\"\n",
      "Sep 05 09:20:35 host ollama[1391]: " + std::string(line),
  };
  for (const std::string& form : forms) {
    EXPECT_TRUE(dump(read_engine_log(form)).contains(wanted)) << form;
  }
}

TEST(LogLines, StampedLinesReadTheSame) {
  const StampedLine lines[] = {
      {"main: build = 3618 (x)", Micros{5}},
      {"load_tensors:        CUDA0 model buffer size =  8.00 MiB\r", Micros{9}}};
  const EngineLog log = read_engine_log(lines);
  EXPECT_EQ(log.build, 3618);
  ASSERT_EQ(log.loads.size(), 1U);
  EXPECT_EQ(log.loads[0].buffers[0].line, 2);
}

TEST(LogLines, UnreadableKnownLinesBecomeNotes) {
  for (const std::string_view line :
       {"load_tensors:        CUDA0 model buffer size =  many MiB\n",
        "load_tensors: offloaded 3/x layers to GPU\n", "llama_context: graph splits = none\n",
        "common_memory_breakdown_print: |   - Host               |       304 =   281 |\n",
        "common_params_fit_impl:   - CUDA0 (x): y layers,   1 MiB used,   2 MiB free\n",
        "system_info: nothing of use\n"}) {
    const EngineLog log = read_engine_log(line);
    ASSERT_EQ(log.notes.size(), 1U) << line;
    EXPECT_TRUE(log.notes[0].starts_with("line 1: cannot read '")) << log.notes[0];
  }
}

TEST(LogLines, NothingIsReadFromNothing) {
  for (const std::string_view text : {"", "\n", "\r\n\r\n", "hello world\n", "\0\0\0\0"}) {
    const EngineLog log = read_engine_log(text);
    EXPECT_EQ(dump(log), "engine  \nno placement lines\n");
    EXPECT_EQ(main_load(log), nullptr);
  }
}

// NOLINTEND(bugprone-unchecked-optional-access)

}  // namespace
}  // namespace picchio
