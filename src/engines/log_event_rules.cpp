// Lines that a cause can rest on. Most are a marker and a kind; the few with conditions leave out
// what looks alike and is harmless.
#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

using Kind = LogEventKind;

void add(LogState& state, const LogLine& line, LogEventKind kind, std::string_view subject) {
  state.event(kind, subject, readable(line.text), line.number);
}

bool plain_event(LogState& state, const LogLine& line, const Found& found) {
  add(state, line, found.rule->kind, found.rule->subject);
  return false;
}

// "load_backend: loaded CUDA backend from /opt/llama/libggml-cuda.so"
bool backend_loaded(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t at = found.rest.find(" backend from ");
  if (at == std::string_view::npos) return false;
  state.event(Kind::backend_loaded, found.rest.substr(0, at), trim(found.rest.substr(at + 14)),
              line.number);
  return false;
}

// "load_backend: failed to load /opt/libggml-cuda.so: libcudart.so.12: cannot open shared object
// file" "ggml_backend_load_best: failed to load ...", "failed to find ggml_backend_init in ..."
bool backend_not_loaded(LogState& state, const LogLine& line, const Found& found) {
  // "ggml_backend_load_best: failed to enumerate": a folder that need not be there
  const std::string_view text = line.text;
  if (!contains_any(text, {"ggml-", "ggml_backend_init"})) return false;
  const std::size_t colon = found.rest.find(": ");
  const std::string_view path = found.rest.substr(0, colon);
  const std::string_view backend = backend_of_library(path.substr(path.find_last_of("/\\") + 1));
  if (backend == "CPU") return false;  // one of many variants; another one fits this chip
  add(state, line, Kind::backend_load_failed, backend);
  return false;
}

// "libcuda.so.1: cannot open shared object file"; libcudart is the toolkit's, not the driver's
bool driver_library(LogState& state, const LogLine& line, const Found& found) {
  if (contains_any(line.text, {"cannot open shared object", "not found"}) &&
      !line.text.contains("wrong ELF class")) {
    add(state, line, Kind::driver_library_missing, found.rule->subject);
  }
  return false;
}

// "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected"
bool init_failed(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view subject = found.rest.substr(0, found.rest.find_first_of(": "));
  if (subject != "CUDA" && subject != "ROCm" && subject != "MUSA") return false;
  add(state, line, Kind::backend_init_failed, subject);
  return false;
}

// "ggml_init_cublas: no CUDA devices found, CUDA will be disabled"               to 2024
bool will_be_disabled(LogState& state, const LogLine& line, const Found& found) {
  std::string_view head = found.head;
  add(state, line, Kind::backend_init_failed, take_last_word(head));
  return false;
}

// "CUDA error 35 at ...: CUDA driver version is insufficient ..." (2023, with a number)
// "CUDA error: no kernel image is available for execution on the device"
bool gpu_error(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view subject = found.rule->subject;
  const std::string_view rest = found.rest;
  if (contains_any(rest, {"no kernel image", "invalid device function"})) {
    add(state, line, Kind::gpu_unsupported, subject);
  } else if (contains_any(rest, {"out of memory"})) {
    add(state, line, Kind::allocation_failed, subject);
    state.doubt_load(line.text, line.number);
  } else if (rest.starts_with(' ') || contains_any(rest, {"no CUDA-capable", "no ROCm-capable",
                                                          "driver version is insufficient"})) {
    add(state, line, Kind::backend_init_failed, subject);
  } else {
    add(state, line, Kind::engine_error, subject);
  }
  return false;
}

// "open /dev/kfd: permission denied", "Unable to open /dev/kfd read-write: Permission denied"
bool permission(LogState& state, const LogLine& line, const Found&) {
  const std::string_view text = line.text;
  for (const std::string_view node :
       {"/dev/kfd", "/dev/dri", "/dev/nvidia", "/dev/nvmap", "/dev/dxg"}) {
    if (text.contains(node)) add(state, line, Kind::device_permission, node);
  }
  if (text.contains("NvRmMemInitNvmap")) add(state, line, Kind::device_permission, "/dev/nvmap");
  return false;
}

// "amdgpu is not supported (supported types:[gfx1030 ...])" gpu_type=gfx1031; an empty list means
// that the library's own kernels are missing, whatever the card
bool amd_types(LogState& state, const LogLine& line, const Found& found) {
  if (line.text.contains("supported types:[]") || line.text.contains("supported_types=\"[]\"")) {
    add(state, line, Kind::backend_load_failed, "ROCm");
    return false;
  }
  const auto type = slog_value(line.text, "gpu_type");
  add(state, line, Kind::gpu_unsupported, type ? std::string_view(*type) : found.rule->subject);
  return false;
}

// "rocBLAS error: Cannot read .../TensileLibrary.dat: No such file or directory for GPU arch :
// gfx1103"
bool tensile(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t at = found.rest.find("arch : ");
  const std::string_view arch = at == std::string_view::npos ? "" : trim(found.rest.substr(at + 7));
  add(state, line, Kind::gpu_unsupported, arch.substr(0, arch.find(' ')));
  return false;
}

// "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc
// failed: out of memory"
bool allocation(LogState& state, const LogLine& line, const Found&) {
  // "compute buffer allocation failed, retrying without pipeline parallelism": handled by the
  // engine
  if (is_projector_line(line.text) || line.text.contains("retrying without pipeline")) return false;
  add(state, line, Kind::allocation_failed, "");
  state.doubt_load(line.text, line.number);
  return false;
}

// 0.1.x "not enough vram available, falling back to CPU only": the plan gives the card no layer
bool no_layer_fits(LogState& state, const LogLine& line, const Found&) {
  add(state, line, Kind::allocation_failed, "plan");
  if (!state.log.plan) state.log.plan.emplace();
  if (!state.log.plan->offload) state.log.plan->offload = 0;
  state.log.plan->line = line.number;
  return false;
}

// "llama_model_load: error loading model: ...", "failed to load model '/models/a.gguf'"
bool load_failed(LogState& state, const LogLine& line, const Found&) {
  if (is_projector_line(line.text)) {
    state.projector(line.number).failure = std::string(line.text);
    return false;
  }
  if (line.text.contains("llama_model_loader: failed to load") &&
      !line.text.contains("error loading")) {
    return false;
  }
  // A planning pass that fails is followed by the real attempt.
  if (!state.in_fit()) add(state, line, Kind::load_failed, "");
  state.fail_load(readable(line.text), line.number);
  return false;
}

// "llama runner process has terminated: exit status 2": a failed load only while there is one to
// fail
bool runner_died(LogState& state, const LogLine& line, const Found&) {
  add(state, line, Kind::engine_error, "");
  const auto is_context = [](const BufferLine& buffer) { return buffer.use != BufferUse::weights; };
  const auto& loads = state.log.loads;
  if (!loads.empty() && std::ranges::none_of(loads.back().buffers, is_context)) {
    state.fail_load(readable(line.text), line.number);
  }
  return false;
}

// "filtering out device per user request" id=...: which variable did it stands in
// `HIP_VISIBLE_DEVICES=`
bool masked(LogState& state, const LogLine& line, const Found& found) {
  std::string_view subject = found.rule->subject;
  for (const std::string_view name : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                      "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    if (line.text.contains(name)) subject = name;
  }
  add(state, line, Kind::device_masked, subject);
  return false;
}

// `--n-gpu-layers 33` or `-ngl 33` in a command; a router prints one argument per line
bool layers_flag(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  take_prefix(rest, "=");
  if (rest.empty()) {
    state.layers_flag_open = true;
    return false;
  }
  const auto layers = take_int(rest);
  if (!layers || *layers < -1 || *layers > 1'000'000) return false;  // "all", "auto", prose
  if (*layers != 0) {
    state.event(Kind::gpu_layers_asked, std::to_string(*layers), readable(line.text), line.number);
  }
  if (!state.log.plan) state.log.plan.emplace();
  OffloadPlan& plan = *state.log.plan;
  if (!plan.requested || !plan.model_layers) plan.requested = static_cast<int>(*layers);
  if (plan.line == 0) plan.line = line.number;
  return false;
}

// "srv          load:   999"
bool router_argument(LogState& state, const LogLine& line, const Found& found) {
  if (!state.layers_flag_open || found.rest.contains("--")) return false;
  state.layers_flag_open = false;
  const auto layers = parse_int(found.rest);
  if (!layers || *layers < -1 || *layers > 1'000'000) return false;
  if (*layers != 0) {
    state.event(Kind::gpu_layers_asked, std::to_string(*layers),
                "--n-gpu-layers " + std::to_string(*layers), line.number);
  }
  if (!state.log.plan) state.log.plan.emplace();
  state.log.plan->requested = static_cast<int>(*layers);
  state.log.plan->line = line.number;
  return false;
}

// "Discovered GPU libraries: []"
bool no_libraries(LogState& state, const LogLine& line, const Found& found) {
  if (found.rest.starts_with("[]")) add(state, line, Kind::no_gpu_discovered, "");
  return false;
}

// Paths and libraries tell where the engine ran.
bool on_platform(LogState& state, const LogLine&, const Found& found) {
  // WSL is a Linux too.
  std::string& platform = state.log.platform;
  if (platform.empty() || platform == "linux") platform = std::string(found.rule->subject);
  return false;
}

// "/app/libggml-cuda.so" is where the official images have it.
bool in_container(LogState& state, const LogLine&, const Found&) {
  state.log.in_container = true;
  return false;
}

// Levels of the engine's prefix and of slog
bool error_level(LogState& state, const LogLine& line, const Found& found) {
  const bool error = line.level == 'E' || found.rule->marker.starts_with(" level=");
  if (!error || is_projector_line(line.text)) return false;
  const bool told = std::ranges::any_of(
      state.log.events, [&line](const LogEvent& event) { return event.line == line.number; });
  if (!told) add(state, line, Kind::engine_error, "");
  return false;
}

constexpr LineRule kRules[] = {
    {"load_backend: loaded ", backend_loaded},
    {"load_backend: failed to load ", backend_not_loaded},
    {"ggml_backend_load_best: failed to load ", backend_not_loaded},
    {"failed to find ggml_backend_init in ", backend_not_loaded},
    {"incompatible API version", backend_not_loaded},
    {"ggml_backend_init returned NULL", backend_not_loaded},
    {"is not supported on this system", backend_not_loaded},
    {"unable to locate gpu dependency libraries", plain_event, Kind::backend_load_failed},
    {"amdgpu detected, but no compatible rocm library", plain_event, Kind::backend_load_failed,
     "ROCm"},
    {"unable to verify rocm library, will use cpu", plain_event, Kind::backend_load_failed, "ROCm"},
    {"/zip/ggml-cuda.so not found", plain_event, Kind::backend_load_failed, "CUDA"},
    {"was explicitly requested, but it wasn't available", plain_event, Kind::backend_load_failed},
    {"Failed to load shared library", plain_event, Kind::backend_load_failed},
    {"libcuda.so", driver_library, Kind::driver_library_missing, "libcuda.so.1"},
    {"nvcuda.dll", driver_library, Kind::driver_library_missing, "nvcuda.dll"},
    {"kfd driver not loaded", plain_event, Kind::driver_library_missing, "amdgpu kfd"},

    {"failed to initialize ", init_failed},
    {" devices found, CUDA will be disabled", will_be_disabled},
    {" devices found, ROCm will be disabled", will_be_disabled},
    {"CUDA error", gpu_error, Kind::engine_error, "CUDA"},
    {"ROCm error", gpu_error, Kind::engine_error, "ROCm"},
    {"MUSA error", gpu_error, Kind::engine_error, "MUSA"},
    {"cudaGetDeviceCount returned ", plain_event, Kind::backend_init_failed, "CUDA"},
    {"Could not initialize Tensile host", plain_event, Kind::device_permission, "ROCm"},
    {"ggml_vulkan: No devices found", plain_event, Kind::no_devices_found, "Vulkan"},
    {"Vulkan 1.2 required", plain_event, Kind::driver_failed, "Vulkan"},
    {"no nvidia devices detected", plain_event, Kind::no_devices_found, "CUDA"},
    {"no usable GPU found", plain_event, Kind::no_usable_gpu},
    {"ot compiled with GPU offload support", plain_event, Kind::not_compiled_for_gpu},
    {"disabling Kompute due to unsupported", plain_event, Kind::gpu_unsupported, "Kompute"},

    {"Invalid device index ", plain_event, Kind::device_masked, "GGML_VK_VISIBLE_DEVICES"},
    {"filtering out device per user request", masked},
    {"ermission denied", permission},
    {"permission problems block access", plain_event, Kind::device_permission, "/dev/kfd"},
    {"permissions not set up properly", plain_event, Kind::device_permission, "/dev/kfd"},

    {"cuInit err: ", plain_event, Kind::driver_failed, "CUDA"},
    {"cudaSetDevice err: ", plain_event, Kind::driver_failed, "CUDA"},
    {"init failure: ", plain_event, Kind::driver_failed, "CUDA"},
    {"unknown error initializing cuda driver library", plain_event, Kind::driver_failed, "CUDA"},
    {"version mismatch between driver and cuda driver", plain_event, Kind::driver_failed, "CUDA"},
    {"failed to get device context ", plain_event, Kind::driver_failed, "CUDA"},
    {"error looking up nvidia GPU memory", plain_event, Kind::driver_failed, "CUDA"},
    {"cuCtxCreate_v3", plain_event, Kind::driver_failed, "CUDA"},
    {"Failed to initialize NVML", plain_event, Kind::driver_failed, "CUDA"},
    {"failure during GPU discovery", plain_event, Kind::driver_failed, "discovery"},
    {"failure during llama-server GPU discovery", plain_event, Kind::driver_failed, "discovery"},
    {"GPU discovery watchdog timed out", plain_event, Kind::driver_failed, "discovery"},
    {"NVIDIA driver too old", plain_event, Kind::driver_failed, "NVIDIA"},
    {"AMD driver is too old", plain_event, Kind::driver_failed, "AMD"},

    {"amdgpu is not supported", amd_types, Kind::gpu_unsupported, "ROCm"},
    {"amdgpu too old", plain_event, Kind::gpu_unsupported, "ROCm"},
    {"TensileLibrary", tensile},
    {"GPU is too old", plain_event, Kind::gpu_unsupported, "CUDA"},
    {"skipping CUDA device ", plain_event, Kind::gpu_unsupported, "CUDA"},
    {"no rocblas support for gfx target", plain_event, Kind::gpu_unsupported, "ROCm"},
    {"CPU does not have AVX", plain_event, Kind::gpu_unsupported, "CPU"},
    {"CPU does not have minimum vector extensions", plain_event, Kind::gpu_unsupported, "CPU"},
    {"dropping integrated GPU", plain_event, Kind::gpu_dropped, "integrated"},
    {"unsupported Radeon iGPU detected", plain_event, Kind::gpu_dropped, "integrated"},
    {"appears to be an iGPU, skipping", plain_event, Kind::gpu_dropped, "integrated"},
    {"filtering device which didn't fully initialize", plain_event, Kind::gpu_dropped},

    {"cudaMalloc failed", allocation},
    {"unable to allocate ", allocation},
    {"failed to allocate ", allocation},
    {"ErrorOutOfDeviceMemory", allocation},
    {"Device memory allocation of size ", allocation},
    {"memory layout cannot be allocated", plain_event, Kind::allocation_failed},
    {"model layout did not fit", plain_event, Kind::allocation_failed},
    {"failed to commit memory for model", plain_event, Kind::allocation_failed},
    {"not enough vram available", no_layer_fits},
    {"less than 2 GB VRAM available", no_layer_fits},
    {"insufficient VRAM to load any model layers", no_layer_fits},
    {"too little memory to allocate any layers", no_layer_fits},
    {"than the recommended max working set size", plain_event, Kind::memory_overcommit, "Metal"},

    {"error loading model", load_failed},
    {"failed to load model", load_failed},
    {"unable to load model", load_failed},
    {"failed to initialize the context", load_failed},
    {"failed to create context", load_failed},
    {"exiting due to model loading error", load_failed},
    {"llama-server load failed", load_failed},
    {"llama runner process has terminated", runner_died},

    {"Invalid OLLAMA_LLM_LIBRARY", plain_event, Kind::library_override, "OLLAMA_LLM_LIBRARY"},
    {"user override\" OLLAMA_LLM_LIBRARY=", plain_event, Kind::library_override,
     "OLLAMA_LLM_LIBRARY"},
    {"skipping available library at user's request", plain_event, Kind::library_override,
     "OLLAMA_LLM_LIBRARY"},
    {"--n-gpu-layers", layers_flag},
    {" -ngl ", layers_flag},
    {" load:   ", router_argument},

    {"no compatible GPUs were discovered", plain_event, Kind::no_gpu_discovered},
    {"no compatible amdgpu devices detected", plain_event, Kind::no_gpu_discovered, "ROCm"},
    {"no GPU detected", plain_event, Kind::no_gpu_discovered},
    {"Discovered GPU libraries: ", no_libraries},
    {"nvidia-smi command failed", plain_event, Kind::no_gpu_discovered},

    {"/usr/lib/wsl/", on_platform, Kind::engine_error, "wsl"},
    {"microsoft-standard-WSL", on_platform, Kind::engine_error, "wsl"},
    {".so: ", on_platform, Kind::engine_error, "linux"},
    {"/dev/", on_platform, Kind::engine_error, "linux"},
    {".dll", on_platform, Kind::engine_error, "windows"},
    {":\\", on_platform, Kind::engine_error, "windows"},
    {"ggml_metal", on_platform, Kind::engine_error, "macos"},
    {"/app/libggml", in_container},
    {"/app/llama", in_container},
    {"/.dockerenv", in_container},

    {"unknown model architecture", plain_event, Kind::engine_error},
    {"error while loading shared libraries", plain_event, Kind::engine_error},
    {"DeviceLost", plain_event, Kind::engine_error, "Vulkan"},
    {"core dumped", plain_event, Kind::engine_error},
    {"GGML_ASSERT", plain_event, Kind::engine_error},
    {"error: unknown argument", plain_event, Kind::engine_error},
    {"error: invalid argument", plain_event, Kind::engine_error},
    {"quantized V cache was requested, but", plain_event, Kind::engine_error},
    {"V cache quantization requires flash_attn", plain_event, Kind::engine_error},
    {" E ", error_level},
    {" level=ERROR ", error_level},
};

}  // namespace

std::span<const LineRule> event_rules() { return kRules; }

}  // namespace picchio
