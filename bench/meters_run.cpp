// What watching GPUs costs: the sampler as it runs beside an engine, on meters without hardware.
//
// usage: meters_run nvml|sysfs|apple [SECONDS]
//
// Ten looks a second for a minute, two of them with an engine's processes: the fake NVML with eight
// GPUs; a tree of four amdgpu cards, an i915 and an xe, with an engine of 64 open files; the fake
// Mac with 150 clients. Prints our CPU time as a share of one core (the fake's own work, in one
// process with us, is in it; what a real driver would do for us is not) and the resident memory
// after 5 seconds and at the end. Fails over 0.3 %, or when memory grows: the recording is held to
// so few samples that it is full by then.
#include "meters/made_up_gpus.h"
#include "meters/made_up_metrics.h"
#include "meters/sampler.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace picchio::meters {
namespace {

constexpr double kMostShare = 0.003;
constexpr std::int64_t kMostGrowth = 256 << 10U;
constexpr int kEngine = 4242;

double cpu_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

std::int64_t resident_bytes() {
  std::int64_t all = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

void play(const MadeUpGpus& tree, const char* variable, const std::string& scenario) {
  tree.file("/scenario", scenario);
  ::setenv(variable, (tree.root() + "/scenario").c_str(), 1);
}

Place eight_nvidia(const MadeUpGpus& tree) {
  std::string scenario = "driver 550.54.14\n";
  for (int i = 0; i < 8; ++i) {
    scenario += fmt::format(
        "gpu NVIDIA H100\nbus 0:{:x}:0\nmemory 85899345920\nused 0:1e9 3000:6e10\n"
        "busy 0:0 3000:97\npower 0:70 3000:600\nclock 0:1980\nmemory-clock 0:2619\n"
        "temperature 0:41\nthrottle 0:4\nmax-memory-clock 2619\nbus-width 5120\nlink 5 16 5 16\n"
        "process compute {} sm 90 memory 0:6e10\n",
        i + 1, kEngine);
  }
  play(tree, "PICCHIO_FAKE_NVML", scenario);
  tree.link("/proc/self/ns/pid", "pid:[4026531836]");
  Place place = tree.place();
  place.nvml_library = PICCHIO_FAKE_NVML;
  return place;
}

void add_amd(const MadeUpGpus& tree, int number) {
  const std::string address = fmt::format("0000:{:02x}:00.0", number + 3);
  const std::string device = tree.pci_card(number, address, "1002:744c", "amdgpu");
  const std::pair<const char*, const char*> attributes[] = {
      {"power/runtime_status", "active\n"},
      {"gpu_busy_percent", "97\n"},
      {"mem_info_vram_total", "25753026560\n"},
      {"mem_info_vram_used", "21073741824\n"},
      {"mem_info_gtt_total", "33554432000\n"},
      {"mem_info_gtt_used", "104857600\n"},
      {"current_link_speed", "16.0 GT/s PCIe\n"},
      {"current_link_width", "16\n"},
      {"max_link_speed", "16.0 GT/s PCIe\n"},
      {"max_link_width", "16\n"},
      {"hwmon/hwmon7/name", "amdgpu\n"},
      {"hwmon/hwmon7/power1_average", "320500000\n"},
      {"hwmon/hwmon7/temp1_input", "76000\n"},
      {"hwmon/hwmon7/freq1_input", "2124000000\n"},
      {"hwmon/hwmon7/freq2_input", "1249000000\n"},
  };
  for (const auto& [name, text] : attributes) tree.file(device + "/" + name, text);
  tree.file(device + "/gpu_metrics", metrics_v1_3(1'000'000).bytes());
  tree.open_gpu(kEngine, 10 + number, fmt::format("/dev/dri/renderD{}", 128 + number),
                fmt::format("drm-driver:\tamdgpu\ndrm-client-id:\t{}\ndrm-pdev:\t{}\n"
                            "drm-memory-vram:\t20000 MiB\ndrm-memory-gtt:\t100 MiB\n"
                            "drm-engine-compute:\t123456789 ns\n",
                            number + 1, address));
}

Place six_in_sysfs(const MadeUpGpus& tree) {
  tree.process(kEngine);
  for (int fd = 100; fd < 160; ++fd) tree.link(fmt::format("/proc/{}/fd/{}", kEngine, fd), "/x");
  for (int number = 0; number < 4; ++number) add_amd(tree, number);
  const std::string i915 = tree.pci_card(5, "0000:00:02.0", "8086:46a6", "i915");
  tree.file(i915 + "/drm/card5/gt_act_freq_mhz", "1300\n");
  tree.file(i915 + "/drm/card5/gt/gt0/rc6_residency_ms", "10000\n");
  tree.file(i915 + "/power/runtime_status", "active\n");
  const std::string xe = tree.pci_card(6, "0000:14:00.0", "8086:e20b", "xe");
  tree.file(xe + "/tile0/gt0/freq0/act_freq", "2850\n");
  tree.file(xe + "/tile0/gt0/gtidle/idle_residency_ms", "500\n");
  tree.file(xe + "/hwmon/hwmon3/energy1_input", "9000000000\n");
  tree.file(xe + "/power/runtime_status", "active\n");
  return tree.place();
}

Place a_mac(const MadeUpGpus& tree) {
  std::string scenario =
      "memory 137438953472\nheat 0:0\nprocess 4242 1000\nclocks 0 396000000 1398000000\n"
      "gpu AGXAcceleratorG15S\nmodel Apple M3 Max\ncores 40\n"
      "statistic Device_Utilization_% 0:3 3000:98\nstatistic In_use_system_memory 0:1e9 3000:6e10\n"
      "statistic In_use_system_memory_(driver) 0:0\nstatistic Alloc_system_memory 0:6e10\n";
  for (int i = 0; i < 150; ++i) {
    scenario += fmt::format("client {:x} {}\nqueue 0:0 60000:5e10\n", 0x200 + i,
                            i == 77 ? kEngine : 300 + i);
  }
  for (int i = 0; i < 60; ++i) {
    scenario += fmt::format("channel Energy_Model - CPU{} mJ 0:0 60000:99999\n", i);
  }
  scenario +=
      "channel Energy_Model - GPU_Energy nJ 0:0 60000:2.4e12\n"
      "channel GPU_Stats GPU_Performance_States GPUPH - 0:0\nstate OFF 0:0 60000:60\n"
      "state P1 0:0 60000:600\nstate P2 0:0 60000:6000\n";
  play(tree, "PICCHIO_FAKE_APPLE", scenario);
  Place place = tree.place();
  place.apple_libraries = PICCHIO_FAKE_APPLE_DIR;
  return place;
}

struct Machine {
  std::string_view name;
  Place (*make)(const MadeUpGpus& tree);
  std::size_t gpus;
};
constexpr Machine kMachines[] = {
    {"nvml", eight_nvidia, 8}, {"sysfs", six_in_sysfs, 6}, {"apple", a_mac, 1}};

int run(const Machine& machine, double seconds) {
  const MadeUpGpus tree;
  Place place = machine.make(tree);
  place.now = os::monotonic_now;
  MeterSet meters = MeterSet::open(place);
  if (meters.gpus().size() != machine.gpus) {
    fmt::print(stderr, "{}: {} GPUs are metered, not {}\n", machine.name, meters.gpus().size(),
               machine.gpus);
    return 1;
  }
  const auto began = std::chrono::steady_clock::now();
  const double cpu_before = cpu_seconds();
  Sampler sampler(std::move(meters), {.hz = 10, .process_hz = 2, .most = 40},
                  [] { return std::vector<int>{kEngine}; });
  std::this_thread::sleep_until(began + std::chrono::seconds(5));
  const std::int64_t early = resident_bytes();
  std::this_thread::sleep_until(began + std::chrono::duration_cast<std::chrono::microseconds>(
                                            std::chrono::duration<double>(seconds)));
  const std::int64_t late = resident_bytes();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
  const double share = (cpu_seconds() - cpu_before) / wall.count();
  const Telemetry told = sampler.stop();
  const bool use = !told.processes.empty() && !told.processes.back().use.empty();
  fmt::print("{}: {:.3f}% of one core, resident {} KiB after 5 s, {} KiB after {:.0f} s\n",
             machine.name, 100 * share, early >> 10U, late >> 10U, wall.count());
  if (!use) fmt::print(stderr, "{}: no use of the engine's process was told\n", machine.name);
  return use && share <= kMostShare && late - early <= kMostGrowth ? 0 : 1;
}

}  // namespace
}  // namespace picchio::meters

int main(int count, char** words) {
  const std::string_view wanted = count > 1 ? words[1] : "";
  const double seconds = count > 2 ? std::strtod(words[2], nullptr) : 60;
  for (const auto& machine : picchio::meters::kMachines) {
    if (machine.name == wanted) return picchio::meters::run(machine, seconds);
  }
  std::fputs("usage: meters_run nvml|sysfs|apple [SECONDS]\n", stderr);
  return 2;
}
