// A libnvidia-ml.so.1 with no GPU behind it: what it answers stands in the file that the
// environment variable PICCHIO_FAKE_NVML names (README.md beside this). Read anew whenever NVML is
// started.
//
// FAKE_DRIVER is the generation of the driver whose names it has: 440 (one list of processes, no
// energy), 470 (second list) or 550 (all).
#include "meters/nvml/abi.h"
#include "scenario.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#ifndef FAKE_DRIVER
#define FAKE_DRIVER 550
#endif

#define NVML extern "C" __attribute__((visibility("default"))) int

namespace abi = picchio::meters::nvml::abi;
using fake::Gpu;

namespace {

struct State {
  std::mutex mutex;
  fake::Scenario scenario;
  int started = 0;
  double steps_ms = 0;
  std::chrono::steady_clock::time_point since;
  unsigned worker = 0;  // of Scenario::since, when it was last seen alive
  std::chrono::steady_clock::time_point worker_since;
};

State& state() {
  static State the_state;
  return the_state;
}

double ms_since(std::chrono::steady_clock::time_point moment) {
  const auto passed = std::chrono::steady_clock::now() - moment;
  return std::chrono::duration<double, std::milli>(passed).count();
}

/// An engine that is started anew finds the card as it was.
double worker_ms(State& s) {
  const unsigned pid = fake::script_pid(s.scenario.since);
  const bool lives = pid > 1 && ::kill(static_cast<pid_t>(pid), 0) == 0;
  if (!lives) return s.worker = 0;
  if (pid != s.worker) {
    s.worker = pid;
    s.worker_since = std::chrono::steady_clock::now();
  }
  return 1 + ms_since(s.worker_since);
}

double now_ms(State& s) {
  if (!s.scenario.step_function.empty()) return s.steps_ms;
  return s.scenario.since.empty() ? ms_since(s.since) : worker_ms(s);
}

int index_of(const State& s, abi::Device device) {
  for (std::size_t i = 0; i < s.scenario.gpus.size(); ++i) {
    if (device == &s.scenario.gpus[i]) return static_cast<int>(i);
  }
  return -1;
}

/// What every call does first: time goes on, a slow one waits, a failing one fails. `device` -1 is
/// none.
int enter(State& s, std::string_view function, int device) {
  if (s.started == 0) return abi::kUninitialized;
  const double now = now_ms(s);
  if (function == s.scenario.step_function && device <= 0) s.steps_ms += s.scenario.step_ms;
  for (const fake::Slow& slow : s.scenario.slow) {
    if (slow.function == function && (slow.device < 0 || slow.device == device)) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(slow.ms));
    }
  }
  for (const fake::Failure& failure : s.scenario.failures) {
    const bool meant = failure.function == function || (failure.function == "*" && device >= 0);
    const bool here = failure.device < 0 || failure.device == device;
    if (meant && here && now >= failure.from_ms && now < failure.to_ms) return failure.code;
  }
  return abi::kSuccess;
}

/// Looks the device up, then lets `fill(gpu, now in ms)` answer.
template <class Fill>
int answer(std::string_view function, abi::Device device, const Fill& fill) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const int index = index_of(s, device);
  if (s.started != 0 && index < 0) return abi::kInvalidArgument;
  const double now = now_ms(s);
  const int code = enter(s, function, index);
  if (code != abi::kSuccess) return code;
  return fill(s.scenario.gpus[static_cast<std::size_t>(index)], now);
}

int copy_text(std::string_view text, char* into, unsigned length) {
  if (text.size() + 1 > length) return abi::kInsufficientSize;
  std::memcpy(into, text.data(), text.size());
  into[text.size()] = '\0';
  return abi::kSuccess;
}

/// A curve's value, or what NVML says of a figure that a GPU does not have.
template <class Number>
int tell(const fake::Curve& curve, double now, double scale, Number* into) {
  const auto value = curve.at(now);
  if (!value) return abi::kNotSupported;
  *into = static_cast<Number>(*value * scale + 0.5);
  return abi::kSuccess;
}

template <class Number>
int tell(std::optional<std::int64_t> value, Number* into) {
  if (!value) return abi::kNotSupported;
  *into = static_cast<Number>(*value);
  return abi::kSuccess;
}

template <class Entry>
Entry entry_of(const fake::Process& process, double now) {
  Entry entry{};
  entry.pid = process.pid_now();
  const auto bytes = process.memory.at(now);
  entry.used_memory = bytes ? static_cast<std::uint64_t>(*bytes) : abi::kValueNotAvailable;
  if constexpr (sizeof(Entry) >= sizeof(abi::Process24)) {
    entry.gpu_instance = process.gpu_instance;
    entry.compute_instance = process.gpu_instance == ~0U ? ~0U : 0U;
  }
  return entry;
}

/// A driver writes entries of its own size, whatever the caller thinks: `stride`.
int list(std::string_view function, abi::Device device, unsigned* count, void* entries,
         std::string_view kind, int own_stride) {
  return answer(function, device, [&](const Gpu& gpu, double now) -> int {
    const fake::Scenario& scenario = state().scenario;
    const auto stride = static_cast<std::size_t>(
        own_stride == 24 ? scenario.stride.value_or(own_stride) : own_stride);
    const unsigned room = *count;
    if (scenario.clears_lists && entries != nullptr) std::memset(entries, 0, room * stride);
    unsigned found = 0;
    auto* out = static_cast<char*>(entries);
    for (const fake::Process& process : gpu.processes) {
      if (process.kind != kind || !process.there_at(now)) continue;
      if (++found > room) continue;
      const auto put = [&](const auto& entry) {
        std::memcpy(out, &entry, sizeof(entry));
        out += sizeof(entry);
      };
      if (stride == sizeof(abi::Process16)) put(entry_of<abi::Process16>(process, now));
      if (stride == sizeof(abi::Process24)) put(entry_of<abi::Process24>(process, now));
      if (stride == sizeof(abi::Process32)) put(entry_of<abi::Process32>(process, now));
    }
    *count = found;
    return found > room ? abi::kInsufficientSize : abi::kSuccess;
  });
}

}  // namespace

NVML nvmlInit_v2() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.started == 0) {
    s.scenario = fake::read_scenario();
    s.steps_ms = 0;
    s.since = std::chrono::steady_clock::now();
    if (s.scenario.init_code != abi::kSuccess) return s.scenario.init_code;
  }
  ++s.started;
  return abi::kSuccess;
}

NVML nvmlShutdown() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.started == 0) return abi::kUninitialized;
  --s.started;
  return abi::kSuccess;
}

/// Of the fake alone, for tests: how many starts were not yet followed by a shutdown.
NVML fakeNvmlStarted() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.started;
}

NVML nvmlSystemGetDriverVersion(char* version, unsigned length) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const int code = enter(s, __func__, -1);
  return code != abi::kSuccess ? code : copy_text(s.scenario.driver, version, length);
}

NVML nvmlDeviceGetCount_v2(unsigned* count) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const int code = enter(s, __func__, -1);
  if (code == abi::kSuccess) *count = static_cast<unsigned>(s.scenario.gpus.size());
  return code;
}

NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, abi::Device* device) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (index >= s.scenario.gpus.size()) return abi::kInvalidArgument;
  const int code = enter(s, __func__, static_cast<int>(index));
  if (code == abi::kSuccess) *device = &s.scenario.gpus[index];
  return code;
}

NVML nvmlDeviceGetHandleByPciBusId_v2(const char* address, abi::Device* device) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  for (std::size_t i = 0; i < s.scenario.gpus.size(); ++i) {
    if (s.scenario.gpus[i].bus_id() != fake::upper(address)) continue;
    const int code = enter(s, __func__, static_cast<int>(i));
    if (code == abi::kSuccess) *device = &s.scenario.gpus[i];
    return code;
  }
  return abi::kNotFound;
}

NVML nvmlDeviceGetName(abi::Device device, char* name, unsigned length) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double) { return copy_text(gpu.name, name, length); });
}

NVML nvmlDeviceGetPciInfo_v3(abi::Device device, abi::PciInfo* pci) {
  return answer(__func__, device, [&](const Gpu& gpu, double) -> int {
    *pci = {};
    pci->domain = gpu.domain;
    pci->bus = gpu.bus;
    pci->device = gpu.slot;
    const std::string text = gpu.bus_id();
    std::memcpy(pci->bus_id, text.data(), std::min(text.size(), sizeof(pci->bus_id) - 1));
    return abi::kSuccess;
  });
}

NVML nvmlDeviceGetUtilizationRates(abi::Device device, abi::Utilization* utilization) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) -> int {
    utilization->memory = 0;
    return gpu.mig ? abi::kNotSupported : tell(gpu.busy, now, 1, &utilization->gpu);
  });
}

NVML nvmlDeviceGetMemoryInfo(abi::Device device, abi::Memory* memory) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) -> int {
    if (!gpu.memory_total) return abi::kNotSupported;
    const auto used = static_cast<std::uint64_t>(gpu.memory_used.at(now).value_or(0));
    memory->total = static_cast<std::uint64_t>(*gpu.memory_total);
    memory->used = used + static_cast<std::uint64_t>(gpu.memory_reserved);
    memory->free = memory->total - memory->used;
    return abi::kSuccess;
  });
}

NVML nvmlDeviceGetPowerUsage(abi::Device device, unsigned* milliwatts) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double now) { return tell(gpu.power, now, 1000, milliwatts); });
}

NVML nvmlDeviceGetClockInfo(abi::Device device, int kind, unsigned* mhz) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) {
    return tell(kind == abi::kClockMemory ? gpu.memory_clock : gpu.clock, now, 1, mhz);
  });
}

NVML nvmlDeviceGetMaxClockInfo(abi::Device device, int kind, unsigned* mhz) {
  return answer(__func__, device, [&](const Gpu& gpu, double) -> int {
    return kind == abi::kClockMemory ? tell(gpu.max_memory_clock, mhz) : abi::kNotSupported;
  });
}

NVML nvmlDeviceGetMemoryBusWidth(abi::Device device, unsigned* bits) {
  return answer(__func__, device, [&](const Gpu& gpu, double) { return tell(gpu.bus_bits, bits); });
}

NVML nvmlDeviceGetTemperature(abi::Device device, int, unsigned* celsius) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double now) { return tell(gpu.temperature, now, 1, celsius); });
}

NVML nvmlDeviceGetCurrentClocksThrottleReasons(abi::Device device, unsigned long long* reasons) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double now) { return tell(gpu.throttle, now, 1, reasons); });
}

NVML nvmlDeviceGetCurrPcieLinkGeneration(abi::Device device, unsigned* generation) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double) { return tell(gpu.link_generation, generation); });
}

NVML nvmlDeviceGetCurrPcieLinkWidth(abi::Device device, unsigned* width) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double) { return tell(gpu.link_width, width); });
}

NVML nvmlDeviceGetMaxPcieLinkGeneration(abi::Device device, unsigned* generation) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double) { return tell(gpu.max_link_generation, generation); });
}

NVML nvmlDeviceGetMaxPcieLinkWidth(abi::Device device, unsigned* width) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double) { return tell(gpu.max_link_width, width); });
}

NVML nvmlDeviceGetComputeRunningProcesses(abi::Device device, unsigned* count, void* entries) {
  return list(__func__, device, count, entries, "compute", 16);
}

NVML nvmlDeviceGetGraphicsRunningProcesses(abi::Device device, unsigned* count, void* entries) {
  return list(__func__, device, count, entries, "graphics", 16);
}

#if FAKE_DRIVER >= 470

NVML nvmlDeviceGetTotalEnergyConsumption(abi::Device device, unsigned long long* millijoules) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) {
    return tell(gpu.energy_mj_at(now), millijoules);
  });
}

NVML nvmlDeviceGetMigMode(abi::Device device, unsigned* current, unsigned* pending) {
  return answer(__func__, device, [&](const Gpu& gpu, double) -> int {
    *current = gpu.mig ? abi::kMigOn : 0;
    *pending = *current;
    return abi::kSuccess;
  });
}

/// When the scenario's time 0 was, in ms after NVML's start: the driver's own clock never goes
/// back, also where a second engine starts the scenario anew.
static double zero_ms(const State& s) {
  if (s.worker == 0) return 0;
  return std::chrono::duration<double, std::milli>(s.worker_since - s.since).count();
}

NVML nvmlDeviceGetProcessUtilization(abi::Device device, abi::ProcessUtilization* samples,
                                     unsigned* count, unsigned long long last_seen) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) -> int {
    if (gpu.mig) return abi::kNotSupported;
    const auto rows = gpu.samples_since(now, zero_ms(state()), last_seen);
    if (rows.empty()) return abi::kNotFound;
    if (rows.size() > *count) return abi::kInsufficientSize;
    *count = static_cast<unsigned>(rows.size());
    std::ranges::copy(rows, samples);
    return abi::kSuccess;
  });
}

NVML nvmlDeviceGetComputeRunningProcesses_v2(abi::Device device, unsigned* count, void* entries) {
  return list(__func__, device, count, entries, "compute", 24);
}

NVML nvmlDeviceGetGraphicsRunningProcesses_v2(abi::Device device, unsigned* count, void* entries) {
  return list(__func__, device, count, entries, "graphics", 24);
}

NVML nvmlDeviceGetMPSComputeRunningProcesses_v2(abi::Device device, unsigned* count,
                                                void* entries) {
  return list(__func__, device, count, entries, "mps", 24);
}

#endif
#if FAKE_DRIVER >= 550

NVML nvmlDeviceGetMemoryInfo_v2(abi::Device device, abi::MemoryV2* memory) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) -> int {
    if (memory->version != abi::version_of<abi::MemoryV2>(2)) return abi::kArgumentVersionMismatch;
    if (!gpu.memory_total) return abi::kNotSupported;
    memory->total = static_cast<std::uint64_t>(*gpu.memory_total);
    memory->reserved = static_cast<std::uint64_t>(gpu.memory_reserved);
    memory->used = static_cast<std::uint64_t>(gpu.memory_used.at(now).value_or(0));
    memory->free = memory->total - memory->used - memory->reserved;
    return abi::kSuccess;
  });
}

NVML nvmlDeviceGetTemperatureV(abi::Device device, abi::Temperature* temperature) {
  return answer(__func__, device, [&](const Gpu& gpu, double now) -> int {
    if (temperature->version != abi::version_of<abi::Temperature>(1)) {
      return abi::kArgumentVersionMismatch;
    }
    return tell(gpu.temperature, now, 1, &temperature->celsius);
  });
}

NVML nvmlDeviceGetCurrentClocksEventReasons(abi::Device device, unsigned long long* reasons) {
  return answer(__func__, device,
                [&](const Gpu& gpu, double now) { return tell(gpu.throttle, now, 1, reasons); });
}

NVML nvmlDeviceGetComputeRunningProcesses_v3(abi::Device device, unsigned* count, void* entries) {
  return list(__func__, device, count, entries, "compute", 24);
}

NVML nvmlDeviceGetGraphicsRunningProcesses_v3(abi::Device device, unsigned* count, void* entries) {
  return list(__func__, device, count, entries, "graphics", 24);
}

NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(abi::Device device, unsigned* count,
                                                void* entries) {
  return list(__func__, device, count, entries, "mps", 24);
}

#endif
