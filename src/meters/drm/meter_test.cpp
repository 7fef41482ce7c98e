#include "meters/drm/meter.h"

#include "meters/drm/client_watch.h"
#include "meters/made_up_gpus.h"
#include "meters/missing_reason.h"

#include <gtest/gtest.h>

namespace picchio::meters::drm {
namespace {

using std::chrono::milliseconds;

std::string adreno(int id, long ns, int mib) {
  return fmt::format(
      "drm-driver:\tmsm\ndrm-client-id:\t{}\ndrm-engine-gpu:\t{} ns\ndrm-resident-memory:\t{} "
      "MiB\n",
      id, ns, mib);
}

struct Adreno : MadeUpGpus {
  Adreno() { render_node(128, "platform/soc/3d00000.gpu", "msm"); }
};

TEST(DrmMeter, ListsWhatNoOtherMeterKnows) {
  const MadeUpGpus tree;
  (void)tree.pci_card(0, "0000:03:00.0", "1002:744c", "amdgpu");
  (void)tree.pci_card(1, "0000:00:02.0", "8086:56a0", "i915");
  (void)tree.pci_card(2, "0000:04:00.0", "8086:e20b", "xe");
  (void)tree.pci_card(3, "0000:05:00.0", "10de:2684", "nvidia");
  EXPECT_EQ(probe(tree.place()).error().kind, ErrorKind::not_found);
  (void)tree.pci_card(4, "0000:06:00.0", "10de:1380", "nouveau");
  tree.render_node(140, "platform/fb000000.gpu", "panthor");
  tree.render_node(141, "platform/vgem", "vgem");
  tree.pci("0000:c6:00.1", "1022:17f0", "0x118000", "amdxdna");
  tree.link("/sys/class/accel/accel0/device", tree.root() + "/sys/devices/pci0000:00/0000:c6:00.1");
  tree.file("/sys/devices/platform/fb000000.gpu/profiling", "0\n");

  const auto meter = probe(tree.place());
  ASSERT_TRUE(meter);
  const auto devices = (*meter)->devices();
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].name, "NVIDIA GPU 10de:1380 (driver nouveau)");
  EXPECT_EQ(devices[0].address, "0000:06:00.0");
  EXPECT_FALSE(devices[0].unified_memory);
  EXPECT_EQ(reason(devices[0], GpuFigure::process_busy), "nouveau counts no GPU time");
  EXPECT_EQ(devices[1].name, "AMD NPU 1022:17f0 (driver amdxdna)");
  EXPECT_EQ(devices[2].name, "Arm Mali GPU (driver panthor)");
  EXPECT_EQ(devices[2].address, "");
  EXPECT_TRUE(devices[2].unified_memory);
  EXPECT_NE(reason(devices[2], GpuFigure::process_busy).find("root can set"), std::string::npos);
  EXPECT_EQ(reason(devices[2], GpuFigure::power), "panthor tells nothing of the device as a whole");
  for (const GpuReading& reading : (*meter)->sample()) {
    EXPECT_FALSE(reading.busy_percent || reading.memory_bytes || reading.power_watts);
  }
}

TEST(DrmMeter, CountsATreeByItsOpenFiles) {
  const Adreno tree;
  tree.process(50);
  tree.process(51);
  tree.open_gpu(50, 4, "/dev/dri/renderD128", adreno(9, 1'000'000, 100));
  tree.open_gpu(50, 5, "/dev/dri/renderD128", adreno(9, 1'000'000, 100));  // dup
  tree.open_gpu(51, 3, "/dev/dri/renderD128", adreno(9, 1'000'000, 100));  // inherited
  tree.open_gpu(51, 4, "/dev/null", adreno(10, 1'000'000, 100));           // no GPU's file
  tree.open_gpu(51, 6, "/dev/dri/renderD128", adreno(11, 5'000'000, 7));
  const auto meter = probe(tree.place());
  ASSERT_TRUE(meter);
  const int pids[] = {50, 51};
  (void)(*meter)->process_use(pids);
  tree.pass(milliseconds(100));
  for (const int fd : {4, 5}) tree.fdinfo(50, fd, adreno(9, 51'000'000, 200));
  tree.fdinfo(51, 3, adreno(9, 51'000'000, 200));
  const auto use = (*meter)->process_use(pids);
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 2U);
  EXPECT_EQ((*use)[0].pid, 50);
  EXPECT_NEAR((*use)[0].busy_percent.value_or(-1), 50.0, 1e-9);
  EXPECT_NEAR((*use)[0].gpu_seconds.value_or(-1), 0.051, 1e-9);
  EXPECT_EQ((*use)[0].memory_bytes, 200 << 20);
  EXPECT_EQ((*use)[1].pid, 51);
  EXPECT_EQ((*use)[1].busy_percent, 0.0);
  EXPECT_EQ((*use)[1].memory_bytes, 7 << 20);
}

TEST(DrmMeter, FindsFilesThatAreOpenedLater) {
  const Adreno tree;
  tree.process(50);
  const auto meter = probe(tree.place());
  const int pids[] = {50};
  EXPECT_TRUE((*meter)->process_use(pids)->empty());
  tree.open_gpu(50, 4, "/dev/dri/renderD128", adreno(9, 0, 1));
  tree.pass(milliseconds(1000));
  EXPECT_EQ((*meter)->process_use(pids)->size(), 1U);
}

TEST(DrmMeter, OutlivesProcessesAndNumbersThatAreUsedAgain) {
  const Adreno tree;
  tree.process(50, 100);
  tree.open_gpu(50, 4, "/dev/dri/renderD128", adreno(9, 2'000'000'000, 5));
  const auto meter = probe(tree.place());
  const int pids[] = {50};
  EXPECT_EQ((*meter)->process_use(pids)->at(0).memory_bytes, 5 << 20);
  tree.end(50);
  tree.pass(milliseconds(100));
  auto use = (*meter)->process_use(pids);
  ASSERT_EQ(use->size(), 1U) << "what it used stays";
  EXPECT_EQ(use->at(0).gpu_seconds, 2.0);
  EXPECT_EQ(use->at(0).memory_bytes, std::nullopt);
  tree.process(50, 999);
  tree.pass(milliseconds(1000));
  EXPECT_TRUE((*meter)->process_use(pids)->empty()) << "another process has the number now";
}

TEST(DrmMeter, SaysWhenProcessesAreSomebodyElses) {
  const Adreno tree;
  tree.process(50);
  tree.process(51);
  tree.open_gpu(51, 4, "/dev/dri/renderD128", adreno(9, 0, 1));
  const auto dir = tree.root() + "/proc/50/fd";
  std::filesystem::permissions(dir, std::filesystem::perms::none);
  std::error_code error;
  const std::filesystem::directory_iterator readable(dir, error);
  if (!error) GTEST_SKIP() << "root may read everything";
  const auto meter = probe(tree.place());
  const int one[] = {50};
  const auto none = (*meter)->process_use(one);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::denied);
  EXPECT_NE(none.error().message.find("the same user or root"), std::string::npos);
  const int both[] = {50, 51};
  EXPECT_EQ((*meter)->process_use(both)->size(), 1U);
  std::filesystem::permissions(dir, std::filesystem::perms::owner_all);
}

TEST(ProcessLook, DeniedCountsOnlyWhereNothingElseIsTold) {
  EXPECT_TRUE(told({})->empty());
  ProcessLook look;
  look.denied = {12};
  EXPECT_EQ(told(look).error().message,
            "cannot see the GPU files of process 12: that needs the same user or root");
  look.use.emplace_back().pid = 3;
  EXPECT_EQ(told(look)->size(), 1U);
}

TEST(DrmMeter, TellsADeviceThatIsAsleep) {
  const Adreno tree;
  tree.file("/sys/devices/platform/soc/3d00000.gpu/power/runtime_status", "suspended\n");
  const auto meter = probe(tree.place());
  EXPECT_TRUE((*meter)->devices()[0].asleep);
  EXPECT_TRUE((*meter)->sample()[0].asleep);
  tree.file("/sys/devices/platform/soc/3d00000.gpu/power/runtime_status", "active\n");
  EXPECT_FALSE((*meter)->sample()[0].asleep);
}

}  // namespace
}  // namespace picchio::meters::drm
