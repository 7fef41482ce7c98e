#include "meters/amdgpu/meter.h"

#include "meters/amdgpu/card.h"
#include "meters/made_up_gpus.h"
#include "meters/made_up_metrics.h"
#include "meters/missing_reason.h"

#include <gtest/gtest.h>

#include <map>

namespace picchio::meters::amdgpu {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// A machine with one AMD GPU, with the attributes of a discrete card unless told otherwise.
struct OneCard : MadeUpGpus {
  OneCard() : device(pci_card(1, "0000:03:00.0", "1002:744c", "amdgpu")) {
    attributes({{"revision", "0xc8\n"},
                {"power/runtime_status", "active\n"},
                {"gpu_busy_percent", "37\n"},
                {"mem_info_vram_total", "25753026560\n"},
                {"mem_info_vram_used", "1073741824\n"},
                {"mem_info_gtt_total", "33554432000\n"},
                {"mem_info_gtt_used", "104857600\n"},
                {"pp_dpm_sclk", "0: 500Mhz\n1: 2100Mhz *\n2: 2500Mhz\n"},
                {"pp_dpm_mclk", "0: 96Mhz *\n1: 1249Mhz\n"},
                {"current_link_speed", "16.0 GT/s PCIe\n"},
                {"current_link_width", "8\n"},
                {"max_link_speed", "16.0 GT/s PCIe\n"},
                {"max_link_width", "16\n"},
                {"hwmon/hwmon7/name", "amdgpu\n"},
                {"hwmon/hwmon7/power1_average", "120500000\n"},
                {"hwmon/hwmon7/power1_cap", "303000000\n"},
                {"hwmon/hwmon7/temp1_input", "56000\n"},
                {"hwmon/hwmon7/freq1_input", "2124000000\n"},
                {"hwmon/hwmon7/freq2_input", "1249000000\n"}});
    attribute("gpu_metrics", metrics_v1_3(1'000'000).bytes());
  }
  void attribute(const std::string& name, std::string_view text) const {
    file(device + "/" + name, text);
  }
  void attributes(const std::map<std::string, std::string>& all) const {
    for (const auto& [name, text] : all) attribute(name, text);
  }
  void without(const std::string& name) const { remove_all({device + "/" + name}); }

  std::string device;
};

struct OneApu : OneCard {
  OneApu() {
    attributes({{"mem_info_vram_total", "536870912\n"},
                {"mem_info_vram_used", "500000000\n"},
                {"mem_info_gtt_total", "68719476736\n"},
                {"mem_info_gtt_used", "25864192000\n"},
                {"hwmon/hwmon7/power1_input", "33000000\n"}});
    attribute("gpu_metrics", MadeUpMetrics(2, 2, 128).bytes());
    without("hwmon/hwmon7/power1_average");
    without("hwmon/hwmon7/power1_cap");
    without("hwmon/hwmon7/temp1_input");
  }
};

std::string client(int id, int vram_mib, int gtt_mib, long compute_ns) {
  return fmt::format(
      "drm-driver:\tamdgpu\ndrm-client-id:\t{}\ndrm-pdev:\t0000:03:00.0\n"
      "drm-memory-vram:\t{} MiB\ndrm-memory-gtt:\t{} MiB\namd-evicted-vram:\t3 MiB\n"
      "drm-engine-compute:\t{} ns\n",
      id, vram_mib, gtt_mib, compute_ns);
}

TEST(AmdgpuMeter, ReadsADiscreteCard) {
  const OneCard tree;
  tree.file(
      "/usr/share/libdrm/amdgpu.ids",
      "# List\n1.0.0\n744C,\tCC,\tAMD Radeon RX 7900 XT\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n");
  const auto meter = probe(tree.place());
  ASSERT_TRUE(meter);
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(gpu.name, "AMD Radeon RX 7900 XTX");
  EXPECT_EQ(gpu.address, "0000:03:00.0");
  EXPECT_EQ(gpu.driver, "amdgpu");
  EXPECT_EQ(gpu.memory_bytes, 25753026560);
  EXPECT_FALSE(gpu.unified_memory || gpu.power_is_package || gpu.asleep);
  EXPECT_EQ(gpu.link_max, (PcieLink{.generation = 4, .width = 16}));
  EXPECT_TRUE(gpu.missing.empty());
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.busy_percent, 37.0);
  EXPECT_EQ(reading.memory_bytes, kGiB) << "GTT is the host's memory";
  EXPECT_DOUBLE_EQ(reading.power_watts.value_or(0), 120.5);
  EXPECT_DOUBLE_EQ(reading.clock_mhz.value_or(0), 2124.0);
  EXPECT_DOUBLE_EQ(reading.memory_clock_mhz.value_or(0), 1249.0);
  EXPECT_DOUBLE_EQ(reading.temperature_celsius.value_or(0), 56.0);
  EXPECT_EQ(reading.link, (PcieLink{.generation = 4, .width = 8}));
  EXPECT_EQ(reading.throttling, Throttling());
  EXPECT_EQ(reading.energy_joules, std::nullopt) << "one look does not show that it moves";
}

TEST(AmdgpuMeter, CountsEnergyOnceItMoves) {
  const OneCard tree;
  const auto meter = probe(tree.place());
  (void)(*meter)->sample();
  EXPECT_EQ((*meter)->sample()[0].energy_joules, std::nullopt);
  tree.attribute("gpu_metrics", metrics_v1_3(1'000'000 + 65536 * 5).bytes());
  EXPECT_DOUBLE_EQ((*meter)->sample()[0].energy_joules.value_or(0), 5.0);
  tree.attribute("gpu_metrics", metrics_v1_3(10).bytes());
  EXPECT_DOUBLE_EQ((*meter)->sample()[0].energy_joules.value_or(0), 5.0) << "a reset card";
}

TEST(AmdgpuMeter, AnApusMemoryIsItsCarveOutAndGtt) {
  const OneApu tree;
  const auto meter = probe(tree.place());
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_TRUE(gpu.unified_memory);
  EXPECT_TRUE(gpu.power_is_package);
  EXPECT_EQ(gpu.memory_bytes, 536870912 + 68719476736);
  EXPECT_EQ(reason(gpu, GpuFigure::energy), "this card's gpu_metrics count no energy");
  EXPECT_EQ(reason(gpu, GpuFigure::temperature), "the driver has no temp1_input");
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.memory_bytes, 500000000 + 25864192000);
  EXPECT_DOUBLE_EQ(reading.power_watts.value_or(0), 33.0);
  EXPECT_EQ(reading.temperature_celsius, std::nullopt);
}

TEST(AmdgpuMeter, TellsWhatProcessesUse) {
  struct Case {
    const char* what;
    bool apu;
    std::int64_t memory_mib;
  };
  for (const Case& each : {Case{"card", false, 6000}, Case{"APU", true, 6100}}) {
    const auto tree = each.apu ? std::make_unique<OneApu>() : std::make_unique<OneCard>();
    tree->process(50);
    tree->open_gpu(50, 4, "/dev/dri/renderD129", client(1, 6000, 100, 0));
    const auto meter = probe(tree->place());
    const int pids[] = {50};
    (void)(*meter)->process_use(pids);
    tree->pass(milliseconds(100));
    tree->fdinfo(50, 4, client(1, 6000, 100, 80'000'000));
    const auto use = (*meter)->process_use(pids);
    ASSERT_TRUE(use && use->size() == 1) << each.what;
    EXPECT_NEAR(use->at(0).busy_percent.value_or(-1), 80.0, 1e-9) << each.what;
    EXPECT_EQ(use->at(0).memory_bytes, each.memory_mib << 20) << each.what;
    EXPECT_EQ(use->at(0).evicted_bytes, 3 << 20) << each.what;
  }
}

struct RocmTree : OneCard {
  RocmTree() {
    file("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51437\n");
    file("/sys/class/kfd/kfd/topology/nodes/1/properties", "location_id 768\ndomain 0\n");
    file("/sys/class/kfd/kfd/proc/50/vram_51437", "7516192768\n");
    process(50);
  }
};

TEST(AmdgpuMeter, RocmShowsAsMemoryAndNeverAsIdle) {
  const RocmTree tree;
  tree.open_gpu(50, 4, "/dev/dri/renderD129", client(1, 100, 0, 0));
  const auto meter = probe(tree.place());
  const int pids[] = {50};
  (void)(*meter)->process_use(pids);
  tree.pass(milliseconds(100));
  const auto use = (*meter)->process_use(pids);
  ASSERT_TRUE(use && use->size() == 1);
  EXPECT_EQ(use->at(0).memory_bytes, 7 * kGiB);
  EXPECT_EQ(use->at(0).busy_percent, std::nullopt);
  EXPECT_EQ(use->at(0).gpu_seconds, std::nullopt);
}

TEST(AmdgpuMeter, AnOpenKfdAloneMakesTimeUnknown) {
  const OneCard tree;
  tree.process(50);
  tree.open_gpu(50, 3, "/dev/kfd", "pos:\t0\n");
  tree.open_gpu(50, 4, "/dev/dri/renderD129", client(1, 100, 0, 0));
  const auto meter = probe(tree.place());
  const int pids[] = {50};
  EXPECT_EQ((*meter)->process_use(pids)->at(0).gpu_seconds, std::nullopt);
}

TEST(AmdgpuMeter, RocmOfAProcessThatShowsNoFiles) {
  const RocmTree tree;
  tree.remove_all({"/proc/50"});
  const auto meter = probe(tree.place());
  const int pids[] = {50};
  const auto use = (*meter)->process_use(pids);
  ASSERT_TRUE(use && use->size() == 1);
  EXPECT_EQ(use->at(0).memory_bytes, 7 * kGiB);
}

TEST(AmdgpuMeter, LeavesACardAsleepAlone) {
  const OneCard tree;
  tree.attribute("power/runtime_status", "suspended\n");
  const auto meter = probe(tree.place());
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_TRUE(gpu.asleep);
  EXPECT_FALSE(gpu.unified_memory);
  EXPECT_EQ(gpu.memory_bytes, std::nullopt);
  EXPECT_TRUE(gpu.missing.empty()) << "nothing is known to be missing";
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_TRUE(reading.asleep);
  EXPECT_FALSE(reading.busy_percent || reading.memory_bytes || reading.power_watts ||
               reading.clock_mhz || reading.temperature_celsius || reading.link);
  tree.attribute("power/runtime_status", "active\n");
  const GpuReading awake = (*meter)->sample()[0];
  EXPECT_FALSE(awake.asleep);
  EXPECT_EQ(awake.busy_percent, 37.0);
  EXPECT_EQ(awake.memory_bytes, kGiB);
}

TEST(AmdgpuMeter, TellsACardThatIsGone) {
  const OneCard tree;
  const auto meter = probe(tree.place());
  tree.remove_all({tree.device});
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.lost, "the device is gone");
  EXPECT_EQ(reading.busy_percent, std::nullopt);
}

TEST(AmdgpuMeter, SaysWhatItCannotReadAndReadsTheRest) {
  const OneCard tree;
  tree.without("gpu_busy_percent");
  tree.dir(tree.device + "/gpu_busy_percent");  // is there and refuses to be read
  tree.without("hwmon");
  tree.without("gpu_metrics");
  tree.without("mem_info_vram_used");
  tree.without("current_link_speed");
  const auto meter = probe(tree.place());
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(reason(gpu, GpuFigure::busy), "gpu_busy_percent: is a directory");
  EXPECT_EQ(reason(gpu, GpuFigure::memory), "the driver has no mem_info_vram_used");
  EXPECT_EQ(reason(gpu, GpuFigure::power), "the driver has no hwmon attributes here");
  EXPECT_EQ(reason(gpu, GpuFigure::energy), "the driver has no gpu_metrics");
  EXPECT_EQ(reason(gpu, GpuFigure::link), "the driver has no current_link_speed");
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.busy_percent, std::nullopt);
  EXPECT_EQ(reading.memory_bytes, std::nullopt);
  EXPECT_EQ(reading.clock_mhz, 2100.0) << "from the marked level";
  EXPECT_EQ(reading.memory_clock_mhz, 96.0);
}

TEST(AmdgpuMeter, TakesBusyFromTheMetricsWhereNothingElseTells) {
  const OneCard tree;
  tree.without("gpu_busy_percent");
  const auto meter = probe(tree.place());
  EXPECT_EQ(reason((*meter)->devices()[0], GpuFigure::busy), "");
  EXPECT_EQ((*meter)->sample()[0].busy_percent, 50.0);
}

TEST(AmdgpuMeter, NumbersThatAreNoneAreAbsent) {
  const OneCard tree;
  const auto meter = probe(tree.place());
  tree.attributes({{"gpu_busy_percent", "65535\n"},
                   {"mem_info_vram_used", "\n"},
                   {"hwmon/hwmon7/power1_average", "N/A\n"},
                   {"current_link_speed", "Unknown\n"}});
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.busy_percent, std::nullopt);
  EXPECT_EQ(reading.memory_bytes, std::nullopt);
  EXPECT_EQ(reading.power_watts, std::nullopt);
  EXPECT_EQ(reading.link, std::nullopt);
}

TEST(Apu, IsToldByTheBestSignThereIs) {
  struct Case {
    const char* what;
    ApuSigns signs;
    bool apu;
  };
  const auto sized = [](std::int64_t vram, std::int64_t gtt) {
    ApuSigns signs;
    signs.vram_bytes = vram * kGiB;
    signs.gtt_bytes = gtt * kGiB;
    return signs;
  };
  ApuSigns big_carve_out = sized(96, 16);
  big_carve_out.metrics_format = 3;
  ApuSigns small_card = sized(4, 64);
  small_card.metrics_format = 1;
  ApuSigns capped = sized(4, 64);
  capped.has_power_cap = true;
  ApuSigns by_voltage = sized(16, 8);
  by_voltage.has_north_bridge_voltage = true;
  ApuSigns by_node = sized(16, 8);
  by_node.shares_kfd_node = true;
  const Case cases[] = {
      {"firmware of an APU, most memory carved out", big_carve_out, true},
      {"firmware of a card, small beside the host's memory", small_card, false},
      {"a power cap", capped, false},
      {"a north bridge", by_voltage, true},
      {"one node with the processor", by_node, true},
      {"a small carve-out and nothing better", sized(1, 16), true},
      {"a card of 8 GiB beside 64 of GTT, old firmware", sized(8, 64), false},
      {"a card of 4 GiB in a small machine", sized(4, 4), false},
      {"nothing known", ApuSigns(), false},
  };
  for (const Case& each : cases) EXPECT_EQ(is_apu(each.signs), each.apu) << each.what;
}

TEST(DpmLevels, TheMarkedOneCounts) {
  EXPECT_EQ(current_level_mhz("0: 500Mhz \n1: 800Mhz *\n"), 800.0);
  EXPECT_EQ(current_level_mhz("S: 19Mhz *\n0: 615Mhz\n"), 19.0);
  EXPECT_EQ(current_level_mhz("0: 500Mhz\n"), std::nullopt);
  EXPECT_EQ(current_level_mhz("*\n: *\n0: fastMhz *\n"), std::nullopt);
  EXPECT_EQ(current_level_mhz(""), std::nullopt);
}

TEST(ListedName, NeedsDeviceAndRevision) {
  constexpr std::string_view kIds = "1.0.0\n15BF,\tC1,\tAMD Radeon 780M, mobile\n744C,\tC8,\tXTX\n";
  EXPECT_EQ(listed_name(kIds, "15bf", "c1"), "AMD Radeon 780M, mobile");
  EXPECT_EQ(listed_name(kIds, "744c", "C8"), "XTX");
  EXPECT_EQ(listed_name(kIds, "744c", "c9"), "");
  EXPECT_EQ(listed_name("", "744c", "c8"), "");
}

}  // namespace
}  // namespace picchio::meters::amdgpu
