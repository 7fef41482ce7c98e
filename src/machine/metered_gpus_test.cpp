#include "machine/metered_gpus.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

MeteredGpu gpu(const std::string& meter, const std::string& address, const std::string& name) {
  MeteredGpu out;
  out.meter = meter;
  out.address = address;
  out.name = name;
  out.driver = "550.54.14";
  return out;
}

Machine machine_with(const std::string& vendor, const std::string& address) {
  Machine out;
  MachineGpu known;
  known.name = vendor + " 10de:2684 (driver nvidia)";
  known.vendor = vendor;
  known.address = address;
  out.gpus.push_back(known);
  return out;
}

TEST(MeteredGpus, AreAddedOnce) {
  const MeteredGpu cards[] = {gpu("nvml", "0000:01:00.0", "NVIDIA GeForce RTX 4090"),
                              gpu("nvml", "0000:02:00.0", "NVIDIA GeForce RTX 3060")};
  Machine machine = machine_with("NVIDIA", "0000:01:00.0");
  add_metered_gpus(machine, cards);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].name, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(machine.gpus[1].name, "NVIDIA GeForce RTX 3060");
  EXPECT_EQ(machine.gpus[1].vendor, "NVIDIA");
  EXPECT_TRUE(machine.gpus[1].can_compute);
  add_metered_gpus(machine, cards);
  EXPECT_EQ(machine.gpus.size(), 2U);
}

TEST(MeteredGpus, OffThePciBusThereIsOneOfAVendor) {
  Machine machine = machine_with("Apple", "");
  const MeteredGpu cards[] = {gpu("apple", "", "Apple M5")};
  add_metered_gpus(machine, cards);
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].name, "Apple M5");
}

TEST(MeteredGpus, AGenericCounterProvesNoGpu) {
  Machine machine;
  const MeteredGpu cards[] = {gpu("drm", "", "amdxdna")};
  add_metered_gpus(machine, cards);
  EXPECT_TRUE(machine.gpus.empty());
}

}  // namespace
}  // namespace picchio
