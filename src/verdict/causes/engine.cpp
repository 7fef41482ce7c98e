// Causes by which an engine or a driver refuses a GPU. All of them need a run that is on the CPU: a
// backend that did not load explains nothing where another one works.
#include "base/text.h"
#include "verdict/causes/catalogue.h"
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
  return e.nothing_on_gpu || e.died ? e.event_saying(words) : nullptr;
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
  take_prefix(rest, "extract_cuda_dso: note: ");
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

/// On a machine of AMD's CUDA's library is missing as it should be.
bool rocm_refused(const CauseEvidence& e) {
  const LogEvent* failed = e.event(LogEventKind::backend_init_failed);
  return failed != nullptr && lower(failed->subject + failed->text).contains("rocm");
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

/// The same of a build without libraries to load: its system line names the CPU alone.
bool only_cpu_built(const EngineLog& log) {
  return log.backends == "CPU" && std::ranges::none_of(log.events, [](const LogEvent& event) {
           return event.kind == LogEventKind::backend_loaded && !is_cpu_backend(event.subject);
         });
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
    {"no cuda-capable device", "check nvidia-smi as this user; in a container pass the GPU"},
    {"version mismatch", "reboot after the driver update; same version in a container"},
    {"unknown error", "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm"},
    {"no rocm-capable device", "check rocminfo as this user: groups render, video"},
    {"not yet initialized", "start nvidia-fabricmanager"},
    {"not permitted", "restart the container with the GPU passed in"},
    {"initialization error", "run nvidia-modprobe -u, then start again"},
};

static_assert(std::ranges::all_of(kInitTexts, [](const InitText& row) {
  return row.fix.size() <= kRemedyColumns;
}));

Cause init_cause(std::string_view id, const LogEvent& event) {
  const std::string text = lower(event.text);
  std::string_view fix;
  for (const InitText& row : kInitTexts) {
    if (text.contains(row.words)) {
      fix = row.fix;
      break;
    }
  }
  const std::string backend = event.subject.empty() ? "GPU backend" : event.subject;
  return cause(id, fmt::format("{}: {}", backend, tail(event.text)), proof(event), fix);
}

}  // namespace

std::optional<Cause> backend_load_order(const CauseEvidence& e) {
  // Builds 9031 to 9049 decide before their backends are loaded; 9050 mended it.
  const LogEvent* found = refused(e, LogEventKind::no_usable_gpu);
  if (found == nullptr || !e.log.build) return std::nullopt;
  if (e.event(LogEventKind::backend_load_failed) != nullptr) return std::nullopt;
  if (*e.log.build < 9031 || *e.log.build > 9049) return std::nullopt;
  return cause("engine_bug_backend_load_order",
               fmt::format("build {} looks for GPUs before it loads backends", *e.log.build),
               proof(*found));
}

std::optional<Cause> wsl_driver(const CauseEvidence& e) {
  if (e.log.platform != "wsl") return std::nullopt;
  const LogEvent* found = refused_saying(e, "cuctxcreate_v3");
  if (found == nullptr) return std::nullopt;
  return cause("wsl_driver", "an old libcuda was found before the one that WSL brings",
               proof(*found));
}

std::optional<Cause> device_permission(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::device_permission);
  if (found == nullptr) return std::nullopt;
  const bool node = found->subject.starts_with("/dev/");
  return cause("device_permission",
               node ? "no permission to open " + found->subject : "no permission: " + found->text,
               proof(*found));
}

std::optional<Cause> gfx_target(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 5> kWordings = {
      "amdgpu is not supported", "tensilelibrary", "no rocblas support", "amdgpu too old",
      "rocm error: invalid device function"};
  const LogEvent* found = first_saying(e, kWordings);
  if (found == nullptr) return std::nullopt;
  const std::string target = found->subject.starts_with("gfx") ? found->subject : "this AMD GPU";
  const bool rdna2 = target.starts_with("gfx103");
  const bool rdna3 = target.starts_with("gfx110");
  // Chips of one family run each other's kernels; the variable exists on Linux only.
  const bool linux = e.log.platform != "windows" && e.log.platform != "macos";
  const std::string_view stand_in = rdna2 ? "10.3.0" : rdna3 ? "11.0.0" : "";
  return cause("gfx_target_unsupported", "ROCm libraries have no kernels for " + target,
               proof(*found),
               linux && !stand_in.empty()
                   ? fmt::format("set HSA_OVERRIDE_GFX_VERSION={} for the service", stand_in)
                   : "");
}

std::optional<Cause> driver_library(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::driver_library_missing);
  if (rocm_refused(e)) return std::nullopt;
  if (found == nullptr) {
    const LogEvent* load = refused(e, LogEventKind::backend_load_failed);
    if (load != nullptr && names_driver_library(load->text)) found = load;
  }
  if (found == nullptr) return std::nullopt;
  return cause("driver_library_missing",
               "the GPU driver's library is missing (libcuda.so.1 or kin)", proof(*found));
}

std::optional<Cause> backend_not_loaded(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::backend_load_failed);
  if (found == nullptr || found->text.contains("ggml-cpu")) return std::nullopt;
  if (names_driver_library(found->text) && rocm_refused(e)) return std::nullopt;
  return cause("backend_library_not_loaded", "did not load: " + loader_text(found->text),
               proof(*found));
}

std::optional<Cause> container_without_gpu(const CauseEvidence& e) {
  constexpr std::array<std::string_view, 4> kWordings = {
      "gpu libraries: []", "running in a container", "nvidia-smi command failed", "no /dev/nvidia"};
  const LogEvent* found = first_saying(e, kWordings);
  if (found == nullptr && e.log.in_container && !e.hardware_listed()) {
    found = refused(e, LogEventKind::no_gpu_discovered);
  }
  if (found == nullptr) return std::nullopt;
  return cause("container_without_gpu",
               "no GPU driver is visible to the engine: nothing passed in?", proof(*found));
}

std::optional<Cause> init_failed_cuda(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::backend_init_failed);
  if (found == nullptr) found = refused(e, LogEventKind::driver_failed);
  // A search that crashed is no word of CUDA's.
  if (found != nullptr && found->subject == "discovery") return std::nullopt;
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
               proof(*found));
}

std::optional<Cause> cpu_runner(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::cpu_runner);
  if (found == nullptr) return std::nullopt;
  const bool planned = e.log.plan && e.log.plan->offload.value_or(0) > 0;
  if (e.log.plan && e.log.plan->offload == 0) return std::nullopt;  // planned for the CPU
  if (!planned && !e.hardware_listed()) return std::nullopt;
  return cause("backend_library_not_loaded", "a GPU was planned for, yet a CPU runner was started",
               proof(*found), "install the engine with its GPU runners");
}

/// What was seen of the machine before the run. Our own user's permissions are not those of a
/// server's user.
std::optional<Cause> broken_link(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || e.run == nullptr || e.hardware_listed()) return std::nullopt;
  for (const BrokenLink& link : e.run->raw.machine.broken_links) {
    const bool of_user = link.cause == "device_permission" || link.cause == "sandbox_hides_gpu";
    if (of_user && e.run->raw.server) continue;
    // The block has room for the fact; its details stand in the proof.
    const bool long_text = link.found.size() > kRemedyColumns;
    const std::string why = long_text ? link.found.substr(0, link.found.find(": ")) : link.found;
    return cause(link.cause, why, "the look at this machine: " + link.found, link.remedy);
  }
  return std::nullopt;
}

/// Its own meter could not be started, with a reason and a remedy.
std::optional<Cause> driver_not_working(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || e.run == nullptr || e.hardware_listed()) return std::nullopt;
  const std::vector<DriverTrouble>& troubles = e.run->raw.telemetry.troubles;
  if (troubles.empty()) return std::nullopt;
  return cause("driver_not_working", troubles.front().what, "the driver's own meter",
               troubles.front().remedy);
}

std::optional<Cause> no_device_passed_in(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::no_devices_found);
  // Where the machine is known, its own row says more.
  if (found == nullptr || e.hardware_listed() || e.run != nullptr) return std::nullopt;
  if (!e.log.in_container) return std::nullopt;
  return cause("container_without_gpu", tail(found->text) + ": nothing passed in", proof(*found));
}

std::optional<Cause> no_device_found(const CauseEvidence& e) {
  const LogEvent* found = refused(e, LogEventKind::no_devices_found);
  if (found == nullptr || e.hardware_listed()) return std::nullopt;
  if (e.run != nullptr && !e.machine_has_gpu()) return std::nullopt;
  return cause("no_device_found", "the backend finds no device: " + tail(found->text),
               proof(*found));
}

/// The distribution's own program, of which each backend is a package.
std::optional<Cause> backend_package(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || !e.machine_has_gpu() || !only_cpu_mapped(e)) return std::nullopt;
  const std::string& program = e.run->raw.engine.path;
  if (!program.starts_with("/usr/bin/") || e.run->raw.server) return std::nullopt;
  if (e.run->raw.machine.distribution != "debian") return std::nullopt;
  return cause("package_without_backend", "the GPU backend's package is not installed",
               program + " has mapped CPU backends only");
}

std::optional<Cause> cpu_only_build(const CauseEvidence& e) {
  if (!e.nothing_on_gpu) return std::nullopt;
  if (const LogEvent* found = e.event(LogEventKind::not_compiled_for_gpu)) {
    return cause("cpu_only_build", "the engine was compiled without GPU support", proof(*found));
  }
  const bool cpu_alone = only_cpu_loaded(e.log) || only_cpu_mapped(e) || only_cpu_built(e.log);
  if (const LogEvent* found = e.event(LogEventKind::no_usable_gpu)) {
    // It means the same when no device is visible, as in a container that got none.
    if (!cpu_alone && e.log.in_container) return std::nullopt;
    // A build whose system line names a GPU's backend has one; a Mac's nearly always has.
    const bool gpu_built = !e.log.backends.empty() && e.log.backends != "CPU";
    if (!cpu_alone && (gpu_built || e.log.platform == "macos")) return std::nullopt;
    return cause("cpu_only_build", "no GPU backend in this engine, or none that sees a device",
                 proof(*found));
  }
  // What was not loaded can only be missed where there is a GPU.
  if (!cpu_alone || (!e.machine_has_gpu() && !e.hardware_listed())) return std::nullopt;
  return cause("cpu_only_build", "only CPU backends were loaded, and the machine has a GPU",
               "the backends that the engine loaded or mapped");
}

std::optional<Cause> no_gpu_in_machine(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || e.run == nullptr || !e.run->raw.machine.gpus_known) return std::nullopt;
  if (e.machine_has_gpu() || e.hardware_listed()) return std::nullopt;
  return cause("no_gpu_in_machine", "this machine has no GPU", "the machine's buses and devices");
}

}  // namespace picchio
