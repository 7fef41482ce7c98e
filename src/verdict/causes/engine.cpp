// Causes by which an engine or a driver refuses a GPU. All of them need a run that is on the CPU: a
// backend that did not load explains nothing where another one works.
#include "base/text.h"
#include "verdict/causes/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace picchio {
namespace {

const LogEvent* refused(const CauseEvidence& e, LogEventKind kind) {
  return e.nothing_on_gpu ? e.event(kind) : nullptr;
}

const LogEvent* refused_saying(const CauseEvidence& e, std::string_view words) {
  return e.nothing_on_gpu ? e.event_saying(words) : nullptr;
}

const LogEvent* first_saying(const CauseEvidence& e, std::span<const std::string_view> wordings) {
  for (std::string_view words : wordings) {
    if (const LogEvent* found = refused_saying(e, words)) return found;
  }
  return nullptr;
}

/// The part of a line that tells: what stands after its last ": ".
std::string tail(std::string_view text) {
  const std::size_t colon = text.rfind(": ");
  std::string_view out = trim(colon == std::string_view::npos ? text : text.substr(colon + 2));
  if (out.ends_with('.')) out.remove_suffix(1);
  return std::string(out);
}

/// "libggml-cuda.so: libcudart.so.12: cannot open ..." -> "libcudart.so.12: cannot open ...".
std::string loader_text(std::string_view text) {
  std::string_view rest = text;
  take_prefix(rest, "load_backend: ");
  if (const std::size_t at = rest.find("failed to load "); at != std::string_view::npos) {
    rest.remove_prefix(at + std::string_view("failed to load ").size());
  }
  const std::size_t colon = rest.find(": ");
  const std::string_view path = rest.substr(0, colon);
  const std::size_t slash = path.find_last_of("/\\");
  std::string file(slash == std::string_view::npos ? path : path.substr(slash + 1));
  if (colon == std::string_view::npos) return file;
  std::string_view reason = rest.substr(colon + 2);
  return fmt::format("{}: {}", file, reason.substr(0, reason.find(": cannot open")));
}

bool names_driver_library(std::string_view text) {
  const std::string name = lower(text);
  return name.contains("libcuda.so") || name.contains("nvcuda.dll");
}

bool is_cpu_backend(std::string_view name) {
  const std::string word = lower(name);
  return word.starts_with("cpu") || word == "blas" || word == "rpc";
}

/// Every backend that the log says was loaded is the CPU's (or RPC's, which is no device).
bool only_cpu_loaded(const EngineLog& log) {
  bool any = false;
  for (const LogEvent& event : log.events) {
    if (event.kind != LogEventKind::backend_loaded) continue;
    any = true;
    if (!is_cpu_backend(event.subject)) return false;
  }
  return any;
}

/// The same by what was mapped into the engine's process.
bool only_cpu_mapped(const CauseEvidence& e) {
  if (e.run == nullptr || e.run->raw.passes.empty()) return false;
  const ProcessFacts& facts = e.run->raw.passes.front().process;
  if (!facts.readable) return false;
  bool cpu = false;
  for (const std::string& library : facts.libraries) {
    const std::size_t at = library.find("ggml-");
    if (at == std::string::npos) continue;
    const std::string_view backend = std::string_view(library).substr(at + 5);
    if (backend.starts_with("base")) continue;
    if (!is_cpu_backend(backend.substr(0, backend.find_first_of(".-")))) return false;
    cpu = true;
  }
  return cpu;
}

struct InitText {
  std::string_view words;
  std::string_view fix;
};

constexpr InitText kInitTexts[] = {
    {"unsupported display driver", "reboot after the driver update; same version in a container"},
    {"insufficient for", "a newer driver, or a build for the older runtime"},
    {"no cuda-capable device", "check nvidia-smi as this user; pass the GPU into the container"},
    {"no rocm-capable device", "check rocminfo as this user: groups render, video"},
    {"not yet initialized", "start nvidia-fabricmanager"},
    {"not permitted", "restart the container with the GPU passed in"},
    {"initialization error", "run nvidia-modprobe -u, then start again"},
};

Cause init_cause(std::string_view id, const LogEvent& event) {
  const std::string text = lower(event.text);
  std::string_view fix = "check that the driver works: nvidia-smi or rocminfo";
  for (const InitText& row : kInitTexts) {
    if (text.contains(row.words)) {
      fix = row.fix;
      break;
    }
  }
  const std::string backend = event.subject.empty() ? "GPU backend" : event.subject;
  return cause(id, fmt::format("{}: {}", backend, tail(event.text)), fix);
}

}  // namespace

std::optional<Cause> backend_load_order(const CauseEvidence& e) {
  // Builds 9031 to 9049 decide before their backends are loaded; 9050 mended it.
  if (refused(e, LogEventKind::no_usable_gpu) == nullptr || !e.log.build) return std::nullopt;
  if (*e.log.build < 9031 || *e.log.build > 9049) return std::nullopt;
  return cause("engine_bug_backend_load_order",
               fmt::format("build {} looks for GPUs before it loads backends", *e.log.build),
               "update llama.cpp to b9050 or later");
}

std::optional<Cause> suspend_resume(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 4> kWordings = {
      "cuinit err: 999", "cudasetdevice err: 999", "init failure: 999", "unknown error (999)"};
  if (first_saying(e, kWordings) == nullptr) return std::nullopt;
  return cause("suspend_resume_lost_cuda",
               "CUDA error 999: the driver lost the card, as after sleep",
               "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm");
}

std::optional<Cause> container_lost_gpu(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 2> kWordings = {"failed to get device context 800",
                                                         "failed to get device context 999"};
  if (first_saying(e, kWordings) == nullptr) return std::nullopt;
  return cause("container_lost_gpu", "the container lost its GPU while running",
               "restart the container; cgroupfs driver or CDI keeps it");
}

std::optional<Cause> device_permission(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::device_permission);
  if (found == nullptr) return std::nullopt;
  return cause("device_permission", "no permission: " + found->text,
               "add the user to groups render and video, log in again");
}

std::optional<Cause> kernels_missing(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 2> kWordings = {"supported types:[]", "compatible=[]"};
  if (first_saying(e, kWordings) == nullptr) return std::nullopt;
  return cause("backend_library_not_loaded", "the engine found none of its GPU libraries",
               "install the engine again, whole, with its GPU package");
}

std::optional<Cause> gfx_target(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 4> kWordings = {
      "amdgpu is not supported", "tensilelibrary", "no rocblas support", "amdgpu too old"};
  const LogEvent* found = first_saying(e, kWordings);
  if (found == nullptr) return std::nullopt;
  const std::string target = found->subject.starts_with("gfx") ? found->subject : "this AMD GPU";
  const bool rdna2 = target.starts_with("gfx103");
  const bool rdna3 = target.starts_with("gfx110");
  return cause("gfx_target_unsupported", "ROCm libraries have no kernels for " + target,
               rdna2   ? "set HSA_OVERRIDE_GFX_VERSION=10.3.0 for the service"
               : rdna3 ? "set HSA_OVERRIDE_GFX_VERSION=11.0.0 for the service"
                       : "use the Vulkan backend");
}

std::optional<Cause> cpu_without_avx(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 2> kWordings = {"does not have avx",
                                                         "minimum vector extensions"};
  if (first_saying(e, kWordings) == nullptr) return std::nullopt;
  return cause("cpu_without_avx", "the engine wants AVX from the CPU before it uses a GPU",
               "give the virtual machine the host's CPU type");
}

std::optional<Cause> driver_too_old(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 2> kWordings = {"driver too old", "driver is too old"};
  const LogEvent* found = first_saying(e, kWordings);
  if (found == nullptr) return std::nullopt;
  return cause("driver_too_old", "the GPU driver is too old for this engine",
               "update the GPU driver");
}

std::optional<Cause> gpu_too_old(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 3> kWordings = {
      "gpu is too old", "compute capability not in", "no kernel image is available"};
  const LogEvent* found = first_saying(e, kWordings);
  if (found == nullptr) return std::nullopt;
  return cause("gpu_too_old", "this build has no kernels for a GPU that old",
               "a build for older GPUs (cuda_v12), or the Vulkan backend");
}

std::optional<Cause> driver_library(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::driver_library_missing);
  if (found == nullptr) {
    const LogEvent* load = refused(e, LogEventKind::backend_load_failed);
    if (load != nullptr && names_driver_library(load->text)) found = load;
  }
  if (found == nullptr) return std::nullopt;
  return cause("driver_library_missing",
               "the GPU driver's library is missing (libcuda.so.1 or kin)",
               "install the driver's user-space part; container: --gpus all");
}

std::optional<Cause> backend_not_loaded(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::backend_load_failed);
  if (found == nullptr || found->text.contains("ggml-cpu")) return std::nullopt;
  return cause("backend_library_not_loaded", "did not load: " + loader_text(found->text),
               "put the missing library beside the engine, or reinstall");
}

std::optional<Cause> discovery_timeout(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 4> kWordings = {
      "discovery before timeout", "discovery watchdog timed out", "context deadline exceeded",
      "failure during gpu discovery"};
  if (first_saying(e, kWordings) == nullptr) return std::nullopt;
  return cause("discovery_timeout", "the search for GPUs ran into its time limit",
               "update the GPU's kernel driver and reboot");
}

std::optional<Cause> container_without_gpu(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 4> kWordings = {
      "gpu libraries: []", "running in a container", "nvidia-smi command failed", "no /dev/nvidia"};
  if (first_saying(e, kWordings) == nullptr) return std::nullopt;
  return cause("container_without_gpu",
               "no GPU driver is visible to the engine: nothing passed in?",
               "pass the GPU in: --gpus all, or --device /dev/dri");
}

std::optional<Cause> init_failed_cuda(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::backend_init_failed);
  if (found == nullptr) found = refused(e, LogEventKind::driver_failed);
  if (found == nullptr || lower(found->subject + found->text).contains("rocm")) return std::nullopt;
  return init_cause("cuda_init_failed", *found);
}

std::optional<Cause> init_failed_rocm(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::backend_init_failed);
  if (found == nullptr || !lower(found->subject + found->text).contains("rocm"))
    return std::nullopt;
  return init_cause("rocm_init_failed", *found);
}

std::optional<Cause> gpu_dropped(const CauseEvidence& e) {
  const LogEvent* found = e.event(LogEventKind::gpu_dropped);
  if (found == nullptr) return std::nullopt;
  // Next to a discrete card at work a dropped integrated one is as it should be.
  const std::string text = lower(found->text);
  const bool discrete =
      text.contains("nvidia") || text.contains("geforce") || text.contains("radeon rx");
  if (!e.nothing_on_gpu && !discrete) return std::nullopt;
  return cause("wrong_device_igpu",
               discrete ? "a discrete GPU was dropped as if it were integrated"
                        : "the engine dropped an integrated GPU",
               "set OLLAMA_IGPU_ENABLE=1");
}

std::optional<Cause> cpu_runner(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::cpu_runner);
  if (found == nullptr) return std::nullopt;
  const bool planned = e.log.plan && e.log.plan->offload.value_or(0) > 0;
  if (!planned && !e.hardware_listed()) return std::nullopt;
  return cause("backend_library_not_loaded", "a GPU was planned for, yet a CPU runner was started",
               "install the engine with its GPU runners");
}

/// Its own meter could not be started, with a reason and a remedy.
std::optional<Cause> driver_not_working(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || e.run == nullptr || e.hardware_listed()) return std::nullopt;
  const std::vector<DriverTrouble>& troubles = e.run->raw.telemetry.troubles;
  if (troubles.empty()) return std::nullopt;
  return cause("driver_not_working", troubles.front().what, troubles.front().remedy);
}

std::optional<Cause> no_device_passed_in(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::no_devices_found);
  // Where the machine is known, its own row says more.
  if (found == nullptr || e.hardware_listed() || e.run != nullptr) return std::nullopt;
  return cause("container_without_gpu", tail(found->text) + ": no driver, or not passed in",
               "install the GPU's driver, or pass the GPU in");
}

std::optional<Cause> no_device_found(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::no_devices_found);
  if (found == nullptr || e.hardware_listed() || !e.machine_has_gpu()) return std::nullopt;
  return cause("no_device_found", "the backend finds no device: " + tail(found->text),
               "install the driver that this backend needs");
}

std::optional<Cause> cpu_only_build(const CauseEvidence& e) {
  if (!e.nothing_on_gpu) return std::nullopt;
  constexpr std::string_view kFix = "a release or build with a GPU backend";
  if (e.event(LogEventKind::not_compiled_for_gpu) != nullptr) {
    return cause("cpu_only_build", "the engine was compiled without GPU support", kFix);
  }
  if (e.event(LogEventKind::no_usable_gpu) != nullptr) {
    return cause("cpu_only_build", "no GPU backend in this engine, or none that sees a device",
                 kFix);
  }
  // What was not loaded can only be missed where there is a GPU.
  if (!e.machine_has_gpu() && !e.hardware_listed()) return std::nullopt;
  if (only_cpu_loaded(e.log) || only_cpu_mapped(e)) {
    return cause("cpu_only_build", "only CPU backends were loaded, and the machine has a GPU",
                 kFix);
  }
  return std::nullopt;
}

std::optional<Cause> no_gpu_in_machine(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || e.run == nullptr || !e.run->raw.machine.gpus_known) return std::nullopt;
  if (e.machine_has_gpu() || e.hardware_listed()) return std::nullopt;
  return cause("no_gpu_in_machine", "this machine has no GPU", "");
}

}  // namespace picchio
