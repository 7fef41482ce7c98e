#include "meters/jetson/meter.h"

#include "meters/made_up_gpus.h"
#include "meters/missing_reason.h"

#include <gtest/gtest.h>

namespace picchio::meters::jetson {
namespace {

TEST(JetsonMeter, FindsTheLoadWhereverItIs) {
  const char* const places[] = {
      "/sys/devices/gpu.0/load",
      "/sys/devices/platform/gpu.0/load",
      "/sys/devices/platform/bus@0/17000000.gpu/load",
      "/sys/class/devfreq/17000000.gpu/device/load",
      "/sys/class/devfreq/57000000.gpu/device/load",
  };
  for (const char* place : places) {
    const MadeUpGpus tree;
    tree.file(place, "437\n");
    const auto meter = probe(tree.place());
    ASSERT_TRUE(meter) << place;
    EXPECT_DOUBLE_EQ((*meter)->sample()[0].busy_percent.value_or(-1), 43.7) << place;
  }
}

TEST(JetsonMeter, ReadsABoard) {
  const MadeUpGpus tree;
  tree.file("/sys/class/devfreq/17000000.gpu/device/load", "0\n");
  tree.file("/sys/class/devfreq/17000000.gpu/cur_freq", "918000000\n");
  tree.file("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
  tree.file("/sys/class/thermal/thermal_zone0/temp", "70000\n");
  tree.file("/sys/class/thermal/thermal_zone1/type", "gpu-thermal\n");
  tree.file("/sys/class/thermal/thermal_zone1/temp", "48500\n");
  tree.file("/proc/device-tree/model", std::string("NVIDIA Jetson Orin Nano Developer Kit\0", 38));
  const auto meter = probe(tree.place());
  ASSERT_TRUE(meter);
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(gpu.name, "GPU of NVIDIA Jetson Orin Nano Developer Kit");
  EXPECT_TRUE(gpu.unified_memory);
  EXPECT_EQ(gpu.memory_bytes, std::nullopt);
  EXPECT_NE(reason(gpu, GpuFigure::memory), "");
  EXPECT_EQ(reason(gpu, GpuFigure::clocks), "");
  const GpuReading reading = (*meter)->sample()[0];
  EXPECT_EQ(reading.busy_percent, 0.0);
  EXPECT_DOUBLE_EQ(reading.clock_mhz.value_or(0), 918.0);
  EXPECT_DOUBLE_EQ(reading.temperature_celsius.value_or(0), 48.5);
  const int pids[] = {1};
  EXPECT_EQ((*meter)->process_use(pids).error().kind, ErrorKind::unsupported);
}

TEST(JetsonMeter, LoadsThatAreNoneAreAbsent) {
  const MadeUpGpus tree;
  tree.file("/sys/devices/gpu.0/load", "1000\n");
  const auto meter = probe(tree.place());
  EXPECT_EQ((*meter)->sample()[0].busy_percent, 100.0);
  for (const char* text : {"1001\n", "-1\n", "busy\n", ""}) {
    tree.file("/sys/devices/gpu.0/load", text);
    EXPECT_EQ((*meter)->sample()[0].busy_percent, std::nullopt) << text;
  }
}

TEST(JetsonMeter, IsNotFoundElsewhere) {
  const MadeUpGpus tree;
  tree.file("/sys/class/devfreq/gpu-gpc-0/cur_freq", "1\n");  // Thor has no load file
  EXPECT_EQ(probe(tree.place()).error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace picchio::meters::jetson
