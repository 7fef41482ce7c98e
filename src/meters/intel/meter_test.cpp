#include "meters/intel/meter.h"

#include "meters/made_up_gpus.h"
#include "meters/missing_reason.h"

#include <gtest/gtest.h>

namespace picchio::meters::intel {
namespace {

using std::chrono::milliseconds;

struct I915 : MadeUpGpus {
  I915() : device(pci_card(0, "0000:00:02.0", "8086:46a6", "i915")) {
    file(device + "/drm/card0/gt_act_freq_mhz", "1300\n");
    file(device + "/drm/card0/gt/gt0/rc6_residency_ms", "10000\n");
    file(device + "/power/runtime_status", "active\n");
  }
  void idle_ms(int ms) const {
    file(device + "/drm/card0/gt/gt0/rc6_residency_ms", std::to_string(ms) + "\n");
  }
  std::string device;
};

struct Xe : MadeUpGpus {
  Xe() : device(pci_card(1, "0000:04:00.0", "8086:e20b", "xe")) {
    file(device + "/tile0/gt0/freq0/act_freq", "2850\n");
    file(device + "/tile0/gt0/gtidle/idle_residency_ms", "500\n");
    file(device + "/hwmon/hwmon3/energy1_input", "9000000000\n");
    file(device + "/hwmon/hwmon3/temp2_input", "61000\n");
    file(device + "/power/runtime_status", "active\n");
  }
  std::string device;
};

TEST(IntelMeter, DescribesAnIntegratedGpu) {
  const I915 tree;
  const auto meter = probe(tree.place());
  ASSERT_TRUE(meter);
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(gpu.name, "Intel GPU 8086:46a6 (driver i915)");
  EXPECT_TRUE(gpu.unified_memory);
  EXPECT_TRUE(gpu.busy_is_upper_bound);
  EXPECT_EQ(reason(gpu, GpuFigure::busy), "");
  EXPECT_NE(reason(gpu, GpuFigure::energy).find("RAPL"), std::string::npos);
  EXPECT_NE(reason(gpu, GpuFigure::memory).find("CAP_PERFMON"), std::string::npos);
  EXPECT_EQ((*meter)->sample()[0].clock_mhz, 1300.0);
}

TEST(IntelMeter, BusyIsAtMostTheTimeThatItWasNotIdle) {
  const I915 tree;
  const auto meter = probe(tree.place());
  struct Look {
    int idle_ms;  // 100 ms after the look before
    std::optional<double> busy;
  };
  const Look looks[] = {
      {10000, std::nullopt},  // nothing to compare with
      {10000, std::nullopt},  // may have no idle states at all
      {10075, 25.0},         {10075, 100.0},
      {10180, 0.0},           // more than the clock saw: its own granularity
      {10000, std::nullopt},  // set back
      {10100, 0.0},
  };
  for (const Look& each : looks) {
    tree.idle_ms(each.idle_ms);
    const auto busy = (*meter)->sample()[0].busy_percent;
    EXPECT_EQ(busy.has_value(), each.busy.has_value()) << each.idle_ms;
    EXPECT_NEAR(busy.value_or(-1), each.busy.value_or(-1), 1e-9) << each.idle_ms;
    tree.pass(milliseconds(100));
  }
}

TEST(IntelMeter, DoesNotCountTheTimeThatItSlept) {
  const I915 tree;
  const auto meter = probe(tree.place());
  (void)(*meter)->sample();
  tree.idle_ms(10100);
  tree.pass(milliseconds(100));
  (void)(*meter)->sample();
  tree.file(tree.device + "/power/runtime_status", "suspended\n");
  tree.pass(milliseconds(5000));
  EXPECT_TRUE((*meter)->sample()[0].asleep);
  tree.file(tree.device + "/power/runtime_status", "active\n");
  tree.pass(milliseconds(100));
  EXPECT_EQ((*meter)->sample()[0].busy_percent, std::nullopt);
}

TEST(IntelMeter, ReadsADiscreteCardOfXe) {
  const Xe tree;
  const auto meter = probe(tree.place());
  ASSERT_TRUE(meter);
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_FALSE(gpu.unified_memory);
  EXPECT_EQ(reason(gpu, GpuFigure::energy), "");
  EXPECT_EQ(reason(gpu, GpuFigure::power), "the driver counts energy instead");
  GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.clock_mhz, 2850.0);
  EXPECT_DOUBLE_EQ(reading.temperature_celsius.value_or(0), 61.0);
  EXPECT_EQ(reading.energy_joules, std::nullopt);
  tree.file(tree.device + "/hwmon/hwmon3/energy1_input", "9012500000\n");  // past 32 bits
  EXPECT_DOUBLE_EQ((*meter)->sample()[0].energy_joules.value_or(0), 12.5);
}

TEST(IntelMeter, CountsProcessesByTimeOrByTicks) {
  const Xe tree;
  const auto igpu = tree.pci_card(0, "0000:00:02.0", "8086:46a6", "i915");
  const auto xe = [](int cycles, int total) {
    return fmt::format(
        "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:04:00.0\n"
        "drm-resident-vram0:\t5 MiB\ndrm-resident-gtt:\t1 MiB\n"
        "drm-cycles-ccs:\t{}\ndrm-total-cycles-ccs:\t{}\n",
        cycles, total);
  };
  const auto i915 = [](long ns) {
    return fmt::format(
        "drm-driver:\ti915\ndrm-client-id:\t3\ndrm-pdev:\t0000:00:02.0\n"
        "drm-resident-system0:\t7 MiB\ndrm-engine-render:\t{} ns\ndrm-engine-copy:\t5 ns\n",
        ns);
  };
  tree.process(50);
  tree.open_gpu(50, 4, "/dev/dri/renderD129", xe(100, 1000));
  tree.open_gpu(50, 5, "/dev/dri/renderD128", i915(0));
  const auto meter = probe(tree.place());
  const int pids[] = {50};
  (void)(*meter)->process_use(pids);
  tree.pass(milliseconds(100));
  tree.fdinfo(50, 4, xe(850, 2000));
  tree.fdinfo(50, 5, i915(10'000'000));
  const auto use = (*meter)->process_use(pids);
  ASSERT_TRUE(use && use->size() == 2);
  const auto devices = (*meter)->devices();
  EXPECT_EQ(devices[0].address, "0000:00:02.0");
  EXPECT_EQ(use->at(0).device, 0);
  EXPECT_NEAR(use->at(0).busy_percent.value_or(-1), 10.0, 1e-9);
  EXPECT_EQ(use->at(0).memory_bytes, 7 << 20);
  EXPECT_NEAR(use->at(1).busy_percent.value_or(-1), 75.0, 1e-9);
  EXPECT_EQ(use->at(1).memory_bytes, 5 << 20) << "its own memory only";
}

TEST(IntelMeter, LeavesACardAsleepAlone) {
  const Xe tree;
  tree.file(tree.device + "/power/runtime_status", "suspended\n");
  const auto meter = probe(tree.place());
  EXPECT_TRUE((*meter)->devices()[0].asleep);
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_TRUE(reading.asleep);
  EXPECT_FALSE(reading.clock_mhz || reading.temperature_celsius || reading.busy_percent);
}

TEST(IntelMeter, IsForIntelsDriversOnly) {
  const MadeUpGpus tree;
  (void)tree.pci_card(0, "0000:03:00.0", "1002:744c", "amdgpu");
  EXPECT_EQ(probe(tree.place()).error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace picchio::meters::intel
