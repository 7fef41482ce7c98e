// Every cause's line becomes its event.
#include "engines/log_dump.h"
#include "engines/log_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace picchio {
namespace {

// The logs are written so that the field is there; a crash here is a failed test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)

std::string slog(std::string_view rest) {
  return "time=2024-05-21T10:00:00.000Z level=INFO source=gpu.go:1 " + std::string(rest) + "\n";
}

TEST(LogEvents, EveryCauseHasItsLine) {
  struct Case {
    std::string line;
    LogEventKind kind;
    std::string_view subject = {};  // NOLINT(readability-redundant-member-init): for GCC
  };
  using enum LogEventKind;
  const Case cases[] = {
      {"load_backend: loaded CUDA backend from /usr/lib/ollama/cuda_v12/libggml-cuda.so\n",
       backend_loaded, "CUDA"},
      {"load_backend: failed to load /opt/libggml-hip.so: libamdhip64.so.6: cannot open shared "
       "object file\n",
       backend_load_failed, "ROCm"},
      {"load_backend: failed to find ggml_backend_init in C:\\llama\\ggml-vulkan.dll\n",
       backend_load_failed, "Vulkan"},
      {"load_backend: failed to load /opt/libggml-cuda.so: libcuda.so.1: cannot open shared object "
       "file\n",
       driver_library_missing, "libcuda.so.1"},
      {"RuntimeError: Failed to load shared library '/x/libllama.so': libcuda.so.1: cannot open "
       "shared object file\n",
       driver_library_missing, "libcuda.so.1"},
      {"extract_cuda_dso: note: prebuilt binary /zip/ggml-cuda.so not found\n", backend_load_failed,
       "CUDA"},
      {"fatal error: support for --gpu nvidia was explicitly requested, but it wasn't available\n",
       backend_load_failed},
      {slog("msg=\"compatible gpu libraries\" compatible=[]"), backend_load_failed},
      {slog("msg=\"Dynamic LLM libraries\" runners=[cpu]"), backend_load_failed},
      {slog("msg=\"amdgpu is not supported (supported types:[])\" gpu_type=gfx1100"),
       backend_load_failed, "ROCm"},
      {slog("msg=\"unable to locate gpu dependency libraries\""), backend_load_failed},
      {"ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected\n",
       backend_init_failed, "CUDA"},
      {"ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n",
       backend_init_failed, "ROCm"},
      {"ggml_init_cublas: no CUDA devices found, CUDA will be disabled\n", backend_init_failed,
       "CUDA"},
      {"CUDA error 100 at ggml-cuda.cu:5544: no CUDA-capable device is detected\n",
       backend_init_failed, "CUDA"},
      {"ggml_vulkan: No devices found.\n", no_devices_found, "Vulkan"},
      {"ggml_cuda_init: found 0 CUDA devices:\n", no_devices_found, "CUDA"},
      {"ggml_vulkan: Found 0 Vulkan devices:\n", no_devices_found, "Vulkan"},
      {"Available devices:\n  (none)\n", no_devices_found, "device list"},
      {"AVX = 1 | AVX2 = 1 | BLAS = 0 | SSE3 = 1 | VSX = 0 | \n", not_compiled_for_gpu, "CPU"},
      {"warning: no usable GPU found, --gpu-layers option will be ignored\n", no_usable_gpu},
      {"warning: not compiled with GPU offload support, --n-gpu-layers option will be ignored\n",
       not_compiled_for_gpu},
      {R"({"timestamp":1,"level":"WARNING","message":"Not compiled with GPU offload support, --n-gpu-layers option will be ignored."})"
       "\n",
       not_compiled_for_gpu},
      {"ggml_vulkan: Invalid device index 3 in GGML_VK_VISIBLE_DEVICES.\n", device_masked,
       "GGML_VK_VISIBLE_DEVICES"},
      {slog("msg=\"filtering out device per user request\" id=0 visible_devices=[1]"),
       device_masked},
      {slog("msg=\"user overrode visible devices\" HIP_VISIBLE_DEVICES=1"), device_masked,
       "HIP_VISIBLE_DEVICES"},
      {slog("msg=\"server config\" env=\"map[CUDA_VISIBLE_DEVICES:-1 GPU_DEVICE_ORDINAL: "
            "HTTP_PROXY:]\""),
       device_masked, "CUDA_VISIBLE_DEVICES"},
      {slog("msg=\"amdgpu devices detected but permission problems block access\" error=\"open "
            "/dev/kfd: permission denied\""),
       device_permission, "/dev/kfd"},
      {"Unable to open /dev/kfd read-write: Permission denied\n", device_permission, "/dev/kfd"},
      {"NvRmMemInitNvmap failed with Permission denied\n", device_permission, "/dev/nvmap"},
      {"cuInit err: 999\n", driver_failed, "CUDA"},
      {slog("msg=\"version mismatch between driver and cuda driver library - reboot or upgrade may "
            "be required\""),
       driver_failed, "CUDA"},
      {slog("msg=\"failure during GPU discovery\" error=\"failed to finish discovery before "
            "timeout\""),
       driver_failed, "discovery"},
      {slog("msg=\"llama-server GPU discovery watchdog timed out\" error=\"context deadline "
            "exceeded\""),
       driver_failed, "discovery"},
      {slog("msg=\"NVIDIA driver too old\" device=x compute=6.1 driver=535 required_driver=\"550 "
            "or newer\""),
       driver_failed, "NVIDIA"},
      {"cuda driver library failed to get device context 800" +
           slog("msg=\"error looking up nvidia GPU memory\""),
       driver_failed, "CUDA"},
      {slog("msg=\"[0] CUDA GPU is too old. Compute Capability detected: 3.7\""), gpu_unsupported,
       "CUDA"},
      {slog("msg=\"amdgpu is not supported (supported types:[gfx1030 gfx1100])\" gpu_type=gfx1031"),
       gpu_unsupported, "gfx1031"},
      {"rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
       "or directory for GPU arch : gfx1103\n",
       gpu_unsupported, "gfx1103"},
      {"CUDA error: no kernel image is available for execution on the device\n", gpu_unsupported,
       "CUDA"},
      {slog("msg=\"CPU does not have minimum vector extensions, GPU inference disabled\" "
            "required=avx"),
       gpu_unsupported, "CPU"},
      {slog("msg=\"dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1\" "
            "description=\"NVIDIA X\""),
       gpu_dropped, "integrated"},
      {slog("msg=\"insufficient VRAM to load any model layers\""), allocation_failed, "plan"},
      {"ggml_vulkan: Device memory allocation of size 1234 failed.\nggml_vulkan: "
       "vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n",
       allocation_failed},
      {"llama_model_load: error loading model: unknown model architecture: 'x'\n", load_failed},
      {"ggml_metal_buffer_log_allocated_size: warning: current allocated size is greater than the "
       "recommended max working set size\n",
       memory_overcommit, "Metal"},
      {"create_backend: using CPU backend\n", remote_is_cpu, "CPU"},
      {"create_backend: using CUDA backend\n", remote_is_gpu, "CUDA"},
      {slog("msg=\"Invalid OLLAMA_LLM_LIBRARY cuda - not found\""), library_override,
       "OLLAMA_LLM_LIBRARY"},
      {slog("msg=\"user override\" OLLAMA_LLM_LIBRARY=cpu_avx2 path=x"), library_override,
       "OLLAMA_LLM_LIBRARY"},
      {slog("msg=\"starting llama-server\" cmd=\"/usr/lib/ollama/llama-server --model /m/x -ngl 12 "
            "-c 8192\""),
       gpu_layers_asked, "12"},
      {slog("msg=\"starting llama server\" cmd=\"/tmp/ollama/runners/cpu_avx/ollama_llama_server "
            "--model /m/x\""),
       cpu_runner, "cpu_avx"},
      {slog("msg=\"inference compute\" id=0 library=cpu variant=avx2"), no_gpu_discovered, "cpu"},
      {slog("msg=\"entering low vram mode\" \"total vram\"=\"0 B\" threshold=\"20.0 GiB\""),
       no_gpu_discovered},
      {slog("msg=\"no compatible GPUs were discovered\""), no_gpu_discovered},
      {"Strict GPU VRAM cap is ON\n", memory_guard, "LM Studio"},
      {"llama_context: Flash Attention was auto, set to disabled\n", flash_attention_off},
      {"Aborted (core dumped)\n", engine_error},
      {"0.00.013.205 E llama_completion: error: unable to create context\n", engine_error},
      {"/x/ollama_llama_server: error while loading shared libraries: libcudart.so.12: cannot open "
       "shared object file\n",
       engine_error},
  };
  for (const Case& c : cases) {
    const EngineLog log = read_engine_log(c.line);
    const bool found = std::ranges::any_of(log.events, [&c](const LogEvent& event) {
      return event.kind == c.kind && (c.subject.empty() || event.subject == c.subject);
    });
    EXPECT_TRUE(found) << c.line << dump(log);
    for (const LogEvent& event : log.events) {
      EXPECT_FALSE(event.text.starts_with("time=")) << event.text;
    }
  }
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a flat table under gtest's macros
TEST(LogEvents, PlansAreNumbersNotPlacements) {
  struct Case {
    std::string line;
    std::optional<int> requested;
    std::optional<int> model;
    std::optional<int> offload;
    std::string_view library = {};  // NOLINT(readability-redundant-member-init): for GCC
  };
  const Case cases[] = {
      {slog("msg=offload library=cuda layers.requested=-1 layers.model=33 layers.offload=31 "
            "layers.split=\"\""),
       -1, 33, 31, "cuda"},
      {slog("msg=\"offload to rocm\" layers.requested=0 layers.model=33 layers.offload=0"), 0, 33,
       0, "rocm"},
      {slog("msg=\"offload to gpu\" reallayers=30 layers=30 required=\"5033.0 MiB\""),
       {},
       {},
       30,
       "gpu"},
      {slog("msg=\"loading model\" \"model layers\"=25 requested=0"), 0, 25, {}},
      {slog("msg=load request=\"{Operation:commit GPULayers:[] MultiUserCache:false}\""),
       {},
       {},
       0},
      {"2023/11/27 16:54:54 llama.go:430: 8000 MB VRAM available, loading up to 33 GPU layers\n",
       {},
       {},
       33},
      {"srv          load:   --n-gpu-layers\nsrv          load:   999\n", 999, {}, {}},
      {"Namespace(model='x', gpulayers=0, threads=4)\n", 0, {}, {}},
      {"llama-server -m x -ngl 0 -c 4096\n", 0, {}, {}},
  };
  for (const Case& c : cases) {
    const EngineLog log = read_engine_log(c.line);
    ASSERT_TRUE(log.plan.has_value()) << c.line;
    EXPECT_EQ(log.plan->requested, c.requested) << c.line;
    EXPECT_EQ(log.plan->model_layers, c.model) << c.line;
    EXPECT_EQ(log.plan->offload, c.offload) << c.line;
    EXPECT_EQ(log.plan->library, c.library) << c.line;
    EXPECT_TRUE(main_load(log) == nullptr || !main_load(log)->claim) << c.line;
  }
}

TEST(LogEvents, OnlyTheLastRunnerCounts) {
  const std::string cpu =
      slog("msg=\"starting llama server\" cmd=\"/tmp/o/runners/cpu_avx2/x --model /m\"");
  const std::string gpu =
      slog("msg=\"starting llama server\" cmd=\"/tmp/o/runners/cuda_v12/x --model /m\"");
  const auto kinds = [](const EngineLog& log) {
    std::vector<LogEventKind> out;
    out.reserve(log.events.size());
    for (const LogEvent& e : log.events) out.push_back(e.kind);
    return out;
  };
  EXPECT_EQ(kinds(read_engine_log(cpu + gpu)), std::vector{LogEventKind::backend_loaded});
  EXPECT_EQ(kinds(read_engine_log(gpu + cpu)),
            (std::vector{LogEventKind::backend_loaded, LogEventKind::cpu_runner}));
}

// NOLINTEND(bugprone-unchecked-optional-access)

}  // namespace
}  // namespace picchio
