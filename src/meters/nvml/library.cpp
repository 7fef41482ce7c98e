#include "meters/nvml/library.h"

#include "meters/nvml/presence.h"
#include "os/file.h"

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

namespace picchio::meters::nvml {
namespace {

// Never the name without ".1": only development packages have it, and there it can be a stub whose
// every call fails.
constexpr std::array kPlaces = {
    "libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",         // WSL2, where the loader was not told
    "/run/opengl-driver/lib/libnvidia-ml.so.1"};  // NixOS

// Names newest first. Where a newer one writes another layout only its entries' size differs, which
// processes.h finds out by itself.
template <class Function>
void find(const os::DynamicLibrary& library, Function*& into,
          std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (library.load(name, into)) return;
  }
}

Functions find_functions(const os::DynamicLibrary& library) {
  Functions f;
  find(library, f.init, {"nvmlInit_v2", "nvmlInit"});
  find(library, f.shutdown, {"nvmlShutdown"});
  find(library, f.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, f.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(library, f.by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(library, f.by_address, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(library, f.name, {"nvmlDeviceGetName"});
  // The second fills a shorter struct, whose fields up to the device's number are the same.
  find(library, f.pci, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"});
  find(library, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(library, f.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, f.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  find(library, f.power, {"nvmlDeviceGetPowerUsage"});
  find(library, f.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, f.clock, {"nvmlDeviceGetClockInfo"});
  find(library, f.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  find(library, f.bus_width, {"nvmlDeviceGetMemoryBusWidth"});
  find(library, f.temperature, {"nvmlDeviceGetTemperature"});
  find(library, f.temperature_v, {"nvmlDeviceGetTemperatureV"});
  find(library, f.throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, f.link_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  find(library, f.link_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  find(library, f.max_link_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(library, f.max_link_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(library, f.mig_mode, {"nvmlDeviceGetMigMode"});
  find(library, f.compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses"});
  find(library, f.graphics_processes,
       {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
        "nvmlDeviceGetGraphicsRunningProcesses"});
  find(library, f.mps_processes,
       {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
        "nvmlDeviceGetMPSComputeRunningProcesses"});
  find(library, f.process_utilization, {"nvmlDeviceGetProcessUtilization"});
  return f;
}

struct Reason {
  abi::Return code;
  std::string_view text;
};
constexpr Reason kReasons[] = {
    {kUnknownLayout, "NVML's list of processes has an unknown layout"},
    {abi::kUninitialized, "NVML says not initialised"},
    {abi::kInvalidArgument, "NVML says invalid argument"},
    {abi::kNotSupported, "NVML says not supported"},
    {abi::kNoPermission, "NVML says no permission"},
    {abi::kNotFound, "NVML says not found"},
    {abi::kDriverNotLoaded, "NVML says the driver is not loaded"},
    {abi::kTimeout, "NVML says timed out"},
    {abi::kFunctionNotFound, "this driver's NVML has no such call"},
    {abi::kGpuIsLost, "NVML says the GPU is lost"},
    {abi::kResetRequired, "NVML says the GPU must be reset"},
    {abi::kOperatingSystem, "NVML says the operating system blocks the GPU"},
    {abi::kVersionMismatch, "NVML says driver and library do not match"},
    {abi::kArgumentVersionMismatch, "NVML does not know this version of the call"},
    {abi::kUnknown, "NVML says unknown error"},
};

std::unexpected<Error> cannot_load(const Place& place, const Error& loader) {
  const std::string sign = sign_of_gpu(place.root);
  if (sign.empty()) return fail(ErrorKind::not_found, "this machine has no NVIDIA GPU");
  return with_hint(
      fail(ErrorKind::unsupported, "no libnvidia-ml.so.1 although this machine has {}: {}", sign,
           loader.message),
      "install NVIDIA's own driver; in a container, give it the GPU and the driver's libraries");
}

std::unexpected<Error> not_loaded(const std::string& root) {
  const std::string sign = sign_of_gpu(root);
  if (sign.empty()) return fail(ErrorKind::not_found, "this machine has no NVIDIA GPU");
  const std::string version = kernel_driver_version(root);
  if (version.empty()) {
    return with_hint(fail(ErrorKind::unsupported,
                          "the NVIDIA kernel driver is not loaded, but there is {}", sign),
                     "load it ('modprobe nvidia'), or see in the kernel's log why it failed");
  }
  return with_hint(
      fail(ErrorKind::unsupported,
           "the NVIDIA driver {} runs, but its device files cannot be used here", version),
      "in a container, give it the GPU; else see that /dev/nvidiactl is there");
}

std::unexpected<Error> mismatch(const std::string& root) {
  const std::string version = kernel_driver_version(root);
  return with_hint(
      fail(ErrorKind::unsupported,
           "the NVIDIA driver in the kernel{}{} and its library libnvidia-ml.so.1 are of different "
           "versions: one was updated while the other ran on",
           version.empty() ? "" : " ", version),
      "reboot, or unload and load the nvidia modules; start a container anew");
}

std::unexpected<Error> cannot_start(const std::string& root, abi::Return code) {
  switch (code) {
    case abi::kVersionMismatch:
      return mismatch(root);
    case abi::kDriverNotLoaded:
      return not_loaded(root);
    case abi::kNoPermission:
      return with_hint(
          fail(ErrorKind::denied, "no permission to ask the NVIDIA driver (/dev/nvidiactl)"),
          "be in the group that owns /dev/nvidiactl, often 'video' or 'render'");
    case abi::kOperatingSystem:
      return with_hint(fail(ErrorKind::denied, "the operating system blocks the NVIDIA driver"),
                       "allow the container or service to use /dev/nvidia*");
    case abi::kFunctionNotFound:
      return fail(ErrorKind::unsupported, "libnvidia-ml.so.1 has no nvmlInit");
    default:
      return fail(ErrorKind::failed, "the NVIDIA driver's NVML does not start: {}",
                  reason_of(code));
  }
}

}  // namespace

std::string reason_of(abi::Return code) {
  for (const Reason& reason : kReasons) {
    if (reason.code == code) return std::string(reason.text);
  }
  return fmt::format("NVML says error {}", code);
}

Result<Library> Library::load(const Place& place) {
  std::vector<const char*> names(kPlaces.begin(), kPlaces.end());
  if (!place.nvml_library.empty()) names = {place.nvml_library.c_str()};
  const auto loaded = os::DynamicLibrary::open("libnvidia-ml.so.1", names);
  if (!loaded) return cannot_load(place, loaded.error());
  return Library(find_functions(*loaded), place.root);
}

Result<> Library::start() {
  if (started_) return {};
  const abi::Return code = ask(functions_.init);
  if (code != abi::kSuccess) return cannot_start(root_, code);
  started_ = true;
  return {};
}

Library::Library(Library&& other) noexcept
    : functions_(other.functions_),
      root_(std::move(other.root_)),
      started_(std::exchange(other.started_, false)) {}

Library::~Library() {
  // What it says changes nothing: the library stays loaded and the process goes on.
  if (started_) (void)ask(functions_.shutdown);
}

}  // namespace picchio::meters::nvml
