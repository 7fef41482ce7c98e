// What one engine log says: facts with their lines, before any judgement. Made by the log readers
// of engines/, read by verdict/. A field that the log does not hold stays absent.
#pragma once

#include "base/time.h"
#include "evidence/device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {

/// One line of an engine's stderr with the time it reached us, counted from the engine's start.
/// A log that somebody pasted has no times.
struct StampedLine {
  std::string_view text;  // without its line end; a view into the log's bytes
  std::optional<Micros> at;
};

enum class BufferUse { weights, kv, recurrent, compute, output };

/// "load_tensors:   CPU_Mapped model buffer size =   281.25 MiB"
struct BufferLine {
  std::string buffer;  // as printed: "CPU_Mapped", "CUDA0_Split", "RPC0[127.0.0.1:50052]"
  std::string
      device;  // whose memory: "CPU", "CUDA0", "RPC0[127.0.0.1:50052]"; "CUDA_Host" -> "CPU"
  DeviceKind kind = DeviceKind::host;
  BufferUse use = BufferUse::weights;
  std::int64_t bytes = 0;
  bool copy = false;    // CPU_REPACK and kin that repeat weights a mapped span holds: never added
  bool mapped = false;  // *_Mapped: a span of the file, which can overlap what lies elsewhere
  int line = 0;
};

/// "offloaded 33/33 layers to GPU": a claim, never a measurement.
struct LayerClaim {
  int on_gpu = 0;
  int total = 0;  // layers + 1 since late 2023 (the output layer counts), + 3 before
  int line = 0;
};

/// "load_tensors: layer   5 assigned to device Vulkan0" / "llama_kv_cache: layer   5: dev =
/// Vulkan0"
struct LayerDevice {
  int layer = 0;  // 0-based; the last one is the output layer in the first form
  std::string device;
};

/// "tensor blk.0.ffn_up.weight (0 MiB q4_K) buffer type overridden to Vulkan_Host"
struct TensorOverride {
  std::string tensor;
  std::string buffer;
  int line = 0;
};

/// Graph splits: 1 all on one backend, 2 one GPU with everything, N+1 N GPUs, dozens when work
/// bounces.
struct GraphSplits {
  std::int64_t prefill = 0;            // large batch (bs=512)
  std::optional<std::int64_t> decode;  // bs=1; absent: the log gave one number for both
  std::optional<std::int64_t> nodes;   // of the prefill graph
  int line = 0;
  bool measured = false;  // "graph splits (measure): 3", to March 2024: one more for the same graph
};

/// A row of the memory breakdown table, in MiB as printed. Wrapped unsigned numbers are unwrapped.
struct MemoryRow {
  std::string name;                       // "CUDA0", "Host", "CPU_REPACK"
  std::string description;                // "RTX 4090"; empty for host rows
  std::optional<std::int64_t> total_mib;  // device rows only, with free and unaccounted
  std::optional<std::int64_t> free_mib;
  std::int64_t self_mib = 0;
  std::int64_t model_mib = 0;
  std::int64_t context_mib = 0;
  std::int64_t compute_mib = 0;
  std::optional<std::int64_t> unaccounted_mib;
  int line = 0;
};

/// The automatic fit's last plan for one device.
struct FitRow {
  std::string device;
  int layers = 0;
  int overflowing = 0;  // layers with parts left on the next device or the host
  std::int64_t used_mib = 0;
  std::int64_t free_mib = 0;
};

struct FitFacts {
  std::vector<FitRow> rows;
  std::optional<std::int64_t> projected_mib;  // "projected to use N MiB of device memory
  std::optional<std::int64_t> available_mib;  //  vs. M MiB of free device memory"
  std::optional<std::int64_t> reduce_by_mib;  // "need to reduce device memory by N MiB"
  std::optional<std::pair<std::int64_t, std::int64_t>> context_cut;  // "reduced from A to B"
  std::optional<bool> succeeded;
  std::string failure;  // text after "failed to fit params to free device memory: "
  int line = 0;
};

enum class LoadRole {
  main,
  probe,      // planning pass: its weight buffers are 0.00 MiB
  draft,      // speculative draft or MTP side model
  projector,  // mmproj / CLIP
};

/// One load of a model; a log can hold several (probe, retry, draft, runner restart).
struct Load {
  LoadRole role = LoadRole::main;
  std::string model_path;
  std::vector<BufferLine> buffers;
  std::optional<LayerClaim> claim;
  std::vector<LayerDevice> layers;
  std::vector<LayerDevice> kv_layers;
  std::vector<TensorOverride> overrides;
  std::optional<GraphSplits> splits;
  std::vector<MemoryRow> breakdown;
  std::vector<std::string> devices;          // of its "using device" lines, in order
  std::optional<std::int64_t> weight_bytes;  // "file size = 5.28 GiB": sum of all tensors
  std::optional<double> parameters;          // "model params = 8.95 B"
  std::string model_name;                    // general.name
  std::string file_type;                     // "Q4_K - Medium"
  std::optional<std::int64_t> n_layer;
  std::optional<std::int64_t> n_vocab;
  std::optional<std::int64_t> n_embd;
  std::optional<std::int64_t> n_ctx;  // what the context really got
  std::optional<std::int64_t> n_ctx_train;
  std::string kv_type_k;  // "f16"
  std::string kv_type_v;
  std::optional<bool> flash_attention;   // as resolved
  bool flash_attention_on_cpu = false;   // forced on although its tensor sits on the CPU
  std::vector<std::string> refused_ops;  // operations a backend would not take
  bool mmap = true;                      // "(mmap = false)", "(load_mode = none)"
  std::optional<std::string> failure;    // this load ended in an error: its line
  int first_line = 0;
  int last_line = 0;
};

/// Rates as the engine printed them: llama_print_timings, llama_perf_context_print,
/// common_perf_print, slot print_timing, koboldcpp, ollama. A rate that is not a number stays
/// absent.
struct EngineTimings {
  std::optional<double> load_ms;
  std::optional<double> prompt_ms;
  std::optional<std::int64_t> prompt_tokens;
  std::optional<double> eval_ms;
  std::optional<std::int64_t> eval_runs;  // generated tokens less the first in the CLI
  bool eval_counts_first = false;         // eval_runs has the first one too, as servers count
  std::optional<double> total_ms;
  std::optional<double>
      prefill_tokens_per_second;  // as printed; recomputed where ms and count contradict it
  std::optional<double> decode_tokens_per_second;
  int line = 0;
};

struct Sampling {
  std::optional<double> temperature;
  std::optional<double> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<std::int64_t> seed;
};

/// Things a cause can rest on. Each carries its line's text, trimmed and without prefix.
enum class LogEventKind {
  backend_loaded,       // subject: "CUDA"; text: path
  backend_load_failed,  // "load_backend: failed to load ...: libcudart.so.12: cannot open ..."
  backend_init_failed,  // "ggml_cuda_init: failed to initialize CUDA: ..."; subject: CUDA|ROCm|MUSA
  no_devices_found,     // "ggml_vulkan: No devices found.", "found 0 ... devices"
  no_usable_gpu,        // "no usable GPU found, --gpu-layers option will be ignored"
  not_compiled_for_gpu,    // 2023-2024 wording of the same
  software_device,         // "Device type is CPU", llvmpipe, ...
  device_masked,           // a variable hides the card, said by the log
  device_permission,       // "/dev/kfd: permission denied", NvRmMemInitNvmap ...
  driver_library_missing,  // libcuda.so.1 ...
  driver_failed,           // cuInit 999/803/35, discovery time-out, driver too old
  gpu_unsupported,         // gfx target, compute capability, no AVX
  gpu_dropped,             // integrated GPU dropped
  allocation_failed,    // cudaMalloc failed, unable to allocate ... buffer, ErrorOutOfDeviceMemory
  load_failed,          // "error loading model", "failed to load model"
  memory_overcommit,    // over Metal's working set
  remote_is_cpu,        // worker's "create_backend: using CPU backend"
  remote_is_gpu,        // worker's "create_backend: using CUDA backend"
  library_override,     // OLLAMA_LLM_LIBRARY
  gpu_layers_asked,     // something asked for GPU layers (a flag in a cmd=, a request)
  cpu_runner,           // ollama started a CPU runner: .../runners/cpu_avx2/...
  no_gpu_discovered,    // ollama: library=cpu, "no compatible GPUs", "no GPU detected"
  memory_guard,         // a front end's own limit chose the layers (LM Studio)
  flash_attention_off,  // "Flash Attention was auto, set to disabled"
  engine_error,         // any other error-level line that tells why a run failed
};

struct LogEvent {
  LogEventKind kind = LogEventKind::engine_error;
  std::string subject;  // backend, variable, device: what it is about; may be empty
  std::string text;
  int line = 0;
};

/// What a front end planned; a plan is a request, never a placement.
struct OffloadPlan {
  std::optional<int> requested;  // -1: automatic
  std::optional<int> model_layers;
  std::optional<int> offload;
  std::string library;  // "cuda", "cpu"
  int line = 0;
};

struct EngineLog {
  std::string engine;   // "llama.cpp", "ollama", "koboldcpp", ...; empty when the log does not tell
  std::string version;  // "b11669", "0.12.6"
  std::optional<std::int64_t> build;
  std::vector<Device> devices;
  std::vector<Load> loads;
  std::vector<EngineTimings> timings;  // one per perf block, in order
  std::vector<LogEvent> events;
  std::optional<FitFacts> fit;  // the last fit before the main load
  std::optional<OffloadPlan> plan;
  Sampling sampling;
  std::optional<int> threads;
  std::optional<int> cores;  // "n_threads = 2 / 2": the second number
  std::string backends;      // system_info's "CUDA : ARCHS = 890 | ... | CPU : ..." names
  /// Docker's, Kubernetes' or compose's prefix, or a path or word that only a container has.
  bool in_container = false;
  std::string
      platform;  // "linux", "windows", "macos", "wsl" by its paths and libraries; empty: not told
  bool all_flash_quants = false;  // "FA_ALL_QUANTS = 1": attention kernels for every KV type
  std::optional<std::int64_t> prompt_tokens_cached;  // reused from a cache: spoils the prefill lane
  bool has_placement_lines = false;                  // any line that could carry placement was seen
  std::vector<std::string> notes;  // known lines that could not be read, with their number
};

/// The load that counts: the last one of the main model that is not a probe and did not fail, else
/// the last main load, else none.
[[nodiscard]] const Load* main_load(const EngineLog& log);
/// The same for the planning pass, whose memory table counts tensor bytes exactly.
[[nodiscard]] const Load* probe_load(const EngineLog& log);
[[nodiscard]] const Device* find_device(const EngineLog& log, std::string_view name);

}  // namespace picchio
