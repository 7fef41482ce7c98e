#include "meters/nvml/gpu.h"

#include "base/text.h"
#include "os/clock.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace picchio::meters::nvml {
namespace {

// "1/6 to 1 second, depending on the product": NVIDIA's documentation of the call.
constexpr double kLongestBusyWindow = 1.0;

struct CallInfo {
  GpuFigure figure;
  std::string_view part;  // where the figure has several
};
// In the order of Gpu::Call.
constexpr CallInfo kInfo[] = {
    {GpuFigure::busy, ""},
    {GpuFigure::memory, ""},
    {GpuFigure::power, ""},
    {GpuFigure::energy, ""},
    {GpuFigure::clocks, "compute clock: "},
    {GpuFigure::clocks, "memory clock: "},
    {GpuFigure::temperature, ""},
    {GpuFigure::throttling, ""},
    {GpuFigure::link, ""},
    {GpuFigure::link, ""},
    {GpuFigure::process_memory, ""},
    {GpuFigure::process_busy, ""},
};

// Codes with which a call will never give a figure on this GPU.
bool is_final(abi::Return code) {
  return code == abi::kNotSupported || code == abi::kNoPermission ||
         code == abi::kFunctionNotFound || code == abi::kInvalidArgument ||
         code == abi::kArgumentVersionMismatch;
}

std::optional<PcieLink> link_of(unsigned generation, unsigned width) {
  // Generations are counted from 1 and stand at 6; a link has at most 32 lanes.
  if (generation == 0 || width == 0 || generation > 16 || width > 32) return std::nullopt;
  return PcieLink{static_cast<int>(generation), static_cast<int>(width)};
}

std::string text_of(std::string_view buffer) { return plain(buffer.substr(0, buffer.find('\0'))); }

}  // namespace

template <class Function>
bool Gpu::call(Call which, const Function& function) {
  if (!lost_.empty() || !state(which).given_up.empty()) return false;
  const Micros before = os::monotonic_now();
  const abi::Return code = function();
  return judge(which, code, os::monotonic_now() - before);
}

bool Gpu::judge(Call which, abi::Return code, Micros took) {
  State& now = state(which);
  if (code == abi::kGpuIsLost || code == abi::kResetRequired) {
    lost_ = reason_of(code);
    return false;
  }
  now.slow = took > patience_.slow_call ? now.slow + 1 : 0;
  // Of what the driver samples by itself, "not found" is "no new sample": it says nothing.
  const bool no_sample =
      code == abi::kNotFound && (which == Call::busy || which == Call::process_busy);
  const bool failed = code != abi::kSuccess && !no_sample;
  now.failures = failed ? now.failures + 1 : 0;
  if (failed && (is_final(code) || now.failures >= patience_.failures)) {
    give_up(which, reason_of(code));
  } else if (now.slow >= patience_.slow_calls) {
    give_up(which, fmt::format("NVML takes {:.0f} ms to tell", seconds(took) * 1000));
  }
  return code == abi::kSuccess;
}

void Gpu::give_up(Call which, const std::string& reason) {
  const CallInfo& info = kInfo[static_cast<std::size_t>(which)];
  state(which).given_up = reason;
  if (std::ranges::find(named_, info.figure) != named_.end()) return;
  named_.push_back(info.figure);
  news_.push_back({info.figure, std::string(info.part) + reason});
}

void Gpu::give_up(GpuFigure figure, const std::string& reason) {
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (kInfo[i].figure != figure) continue;
    states_[i].given_up = reason;
    if (std::ranges::find(named_, figure) != named_.end()) continue;
    named_.push_back(figure);
    news_.push_back({figure, reason});
  }
}

void Gpu::describe(MeteredGpu& about) {
  const Functions& f = *functions_;
  std::array<char, abi::kNameBytes> name{};
  if (ask(f.name, device_, name.data(), abi::kNameBytes) == abi::kSuccess) {
    about.name = text_of({name.data(), name.size()});
  }
  std::array<char, abi::kVersionBytes> version{};
  if (ask(f.driver_version, version.data(), abi::kVersionBytes) == abi::kSuccess) {
    about.driver = text_of({version.data(), version.size()});
  }
  if (about.name.contains("nvgpu")) {
    // "Orin (nvgpu)": there NVML answers with success and zeros that mean nothing.
    for (const CallInfo& info : kInfo)
      give_up(info.figure, "NVML does not measure Tegra's own GPU");
    about.unified_memory = true;
    about.missing = std::exchange(news_, {});
    return;
  }
  unsigned mig = 0;
  unsigned pending = 0;
  if (ask(f.mig_mode, device_, &mig, &pending) == abi::kSuccess && mig == abi::kMigOn) {
    give_up(GpuFigure::busy, "MIG is on: NVML has no utilisation of its parts or the whole");
    give_up(GpuFigure::process_busy, "MIG is on: NVML has no utilisation of processes");
  }
  describe_memory(about);
  describe_limits(about);
  about.busy_window_seconds = kLongestBusyWindow;
  const GpuReading first = sample();
  // Takes up what the driver remembers from before our time, too.
  std::vector<GpuProcessUse> nobody;
  add_process_use({}, 0, nobody);
  about.missing = first.given_up;
  std::ranges::move(std::exchange(news_, {}), std::back_inserter(about.missing));
  if (std::ranges::find(named_, GpuFigure::busy) != named_.end()) about.busy_window_seconds.reset();
}

void Gpu::describe_memory(MeteredGpu& about) {
  const Functions& f = *functions_;
  // One of the two for good: they count the driver's own part differently.
  abi::MemoryV2 newer{};
  newer.version = abi::version_of<abi::MemoryV2>(2);
  abi::Memory older{};
  abi::Return code = ask(f.memory_v2, device_, &newer);
  memory_v2_ = code == abi::kSuccess;
  if (!memory_v2_) code = ask(f.memory, device_, &older);
  memory_total_ = memory_v2_ ? newer.total : older.total;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (code == abi::kSuccess && memory_total_ > 0 && memory_total_ <= kMost) {
    about.memory_bytes = static_cast<std::int64_t>(memory_total_);
    return;
  }
  if (code == abi::kSuccess || code == abi::kNotSupported) {
    // GB10 answers either way, by driver. Its PCIe figures mean nothing.
    about.unified_memory = true;
    give_up(GpuFigure::memory, "NVML tells none: the GPU uses the system's memory");
    give_up(GpuFigure::link, "the GPU shares the system's memory, no link is between them");
  }
}

void Gpu::describe_limits(MeteredGpu& about) {
  const Functions& f = *functions_;
  unsigned mhz = 0;
  unsigned bits = 0;
  if (ask(f.max_clock, device_, abi::kClockMemory, &mhz) == abi::kSuccess &&
      ask(f.bus_width, device_, &bits) == abi::kSuccess && mhz > 0 && bits > 0) {
    // Two transfers a clock, as NVML counts it for every kind of memory since GDDR5 and HBM2.
    about.peak_bytes_per_second = 2.0 * mhz * 1e6 * bits / 8;
  }
  unsigned generation = 0;
  unsigned width = 0;
  if (!about.unified_memory && ask(f.max_link_generation, device_, &generation) == abi::kSuccess &&
      ask(f.max_link_width, device_, &width) == abi::kSuccess) {
    about.link_max = link_of(generation, width);
  }
  const abi::Temperature asked{abi::version_of<abi::Temperature>(1), abi::kSensorGpu, 0};
  abi::Temperature temperature = asked;
  temperature_v_ = ask(f.temperature_v, device_, &temperature) == abi::kSuccess;
}

GpuReading Gpu::sample() {
  GpuReading reading;
  read_load(reading);
  read_power(reading);
  read_clocks(reading);
  read_link(reading);
  // Figures from before the GPU went away and none from after would be half a look.
  if (!lost_.empty()) reading = {};
  reading.lost = lost_;
  reading.given_up = std::exchange(news_, {});
  return reading;
}

void Gpu::read_load(GpuReading& reading) {
  const Functions& f = *functions_;
  abi::Utilization utilization{};
  const auto busy = [&] { return ask(f.utilization, device_, &utilization); };
  if (call(Call::busy, busy) && utilization.gpu <= 100) reading.busy_percent = utilization.gpu;

  abi::MemoryV2 newer{};
  newer.version = abi::version_of<abi::MemoryV2>(2);
  abi::Memory older{};
  const auto memory = [&] {
    return memory_v2_ ? ask(f.memory_v2, device_, &newer) : ask(f.memory, device_, &older);
  };
  if (!call(Call::memory, memory)) return;
  const std::uint64_t used = memory_v2_ ? newer.used : older.used;
  const std::uint64_t total = memory_v2_ ? newer.total : older.total;
  if (total > 0 && used <= total) reading.memory_bytes = static_cast<std::int64_t>(used);
}

void Gpu::read_power(GpuReading& reading) {
  const Functions& f = *functions_;
  constexpr double kMilli = 1e-3;
  unsigned milliwatts = 0;
  if (call(Call::power, [&] { return ask(f.power, device_, &milliwatts); })) {
    reading.power_watts = milliwatts * kMilli;
  }
  unsigned long long millijoules = 0;
  if (call(Call::energy, [&] { return ask(f.energy, device_, &millijoules); })) {
    reading.energy_joules = static_cast<double>(millijoules) * kMilli;
  }
}

void Gpu::read_clocks(GpuReading& reading) {
  const Functions& f = *functions_;
  unsigned mhz = 0;
  if (call(Call::clock, [&] { return ask(f.clock, device_, abi::kClockSm, &mhz); })) {
    reading.clock_mhz = mhz;
  }
  if (call(Call::memory_clock, [&] { return ask(f.clock, device_, abi::kClockMemory, &mhz); })) {
    reading.memory_clock_mhz = mhz;
  }
  abi::Temperature newer{abi::version_of<abi::Temperature>(1), abi::kSensorGpu, 0};
  unsigned older = 0;
  const auto temperature = [&] {
    return temperature_v_ ? ask(f.temperature_v, device_, &newer)
                          : ask(f.temperature, device_, abi::kSensorGpu, &older);
  };
  if (call(Call::temperature, temperature)) {
    reading.temperature_celsius = temperature_v_ ? newer.celsius : static_cast<int>(older);
  }
  unsigned long long reasons = 0;
  if (call(Call::throttling, [&] { return ask(f.throttle_reasons, device_, &reasons); })) {
    constexpr auto kThermal = abi::kSoftwareThermal | abi::kHardwareThermal;
    constexpr auto kHardware = abi::kHardwareSlowdown | abi::kHardwarePowerBrake;
    reading.throttling = Throttling{.power_cap = (reasons & abi::kSoftwarePowerCap) != 0,
                                    .thermal = (reasons & kThermal) != 0,
                                    .hardware = (reasons & kHardware) != 0};
  }
}

void Gpu::read_link(GpuReading& reading) {
  const Functions& f = *functions_;
  unsigned generation = 0;
  unsigned width = 0;
  if (call(Call::link_generation, [&] { return ask(f.link_generation, device_, &generation); }) &&
      call(Call::link_width, [&] { return ask(f.link_width, device_, &width); })) {
    reading.link = link_of(generation, width);
  }
}

void Gpu::add_process_use(const std::map<int, int>& ours_by_driver, int index,
                          std::vector<GpuProcessUse>& into) {
  ProcessList list;
  ProcessBusy::Answer busy;
  const bool listed = call(Call::process_list, [&] {
    list = list_processes(*functions_, device_);
    return list.code;
  });
  const bool sampled = call(Call::process_busy, [&] {
    busy = process_busy_.ask(*functions_, device_);
    return busy.code;
  });
  std::map<int, GpuProcessUse> use;
  if (listed) {
    for (const ProcessMemory& row : list.rows) {
      if (!ours_by_driver.contains(row.pid)) continue;
      GpuProcessUse& entry = use[row.pid];
      const bool sane = !row.bytes || memory_total_ == 0 ||
                        static_cast<std::uint64_t>(*row.bytes) <= memory_total_;
      if (sane) entry.memory_bytes = row.bytes;
      // The driver names every process that used the GPU since; this one it left out.
      if (sampled && !busy.percent.empty()) entry.busy_percent = 0;
    }
  }
  for (const auto& [pid, percent] : busy.percent) {
    if (ours_by_driver.contains(pid)) use[pid].busy_percent = percent;
  }
  for (auto& [pid, entry] : use) {
    entry.pid = ours_by_driver.at(pid);
    entry.device = index;
    into.push_back(std::move(entry));
  }
}

std::string Gpu::no_processes_because() const {
  const State& list = state(Call::process_list);
  return list.given_up.empty() || state(Call::process_busy).given_up.empty() ? std::string()
                                                                             : list.given_up;
}

}  // namespace picchio::meters::nvml
