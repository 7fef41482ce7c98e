#include "meters/made_up_gpus.h"
#include "meters/meter.h"

#include <gtest/gtest.h>

#include <map>

namespace picchio::meters {
namespace {

TEST(Registry, NoMeterFindsAnythingInAnEmptyMachine) {
  const MadeUpGpus tree;
  for (const Candidate& candidate : candidates()) {
    const auto meter = candidate.probe(tree.place());
    ASSERT_FALSE(meter) << candidate.name;
    EXPECT_EQ(meter.error().kind, ErrorKind::not_found) << candidate.name;
  }
}

TEST(Registry, EachCardHasOneMeterThatReadsIt) {
  const MadeUpGpus tree;
  (void)tree.pci_card(0, "0000:00:02.0", "8086:46a6", "i915");
  (void)tree.pci_card(1, "0000:03:00.0", "1002:744c", "amdgpu");
  (void)tree.pci_card(2, "0000:04:00.0", "8086:e20b", "xe");
  (void)tree.pci_card(3, "0000:05:00.0", "10de:1380", "nouveau");
  std::map<std::string, std::string> meter_of;
  for (const Candidate& candidate : candidates()) {
    const auto meter = candidate.probe(tree.place());
    if (!meter) continue;
    const auto devices = (*meter)->devices();
    EXPECT_EQ((*meter)->sample().size(), devices.size()) << candidate.name;
    for (const MeteredGpu& gpu : devices) {
      EXPECT_EQ(gpu.meter, candidate.name);
      EXPECT_EQ(&gpu - devices.data(), gpu.index);
      EXPECT_TRUE(meter_of.emplace(gpu.address, gpu.meter).second) << gpu.address;
    }
  }
  const std::map<std::string, std::string> expected = {{"0000:00:02.0", "intel"},
                                                       {"0000:03:00.0", "amdgpu"},
                                                       {"0000:04:00.0", "intel"},
                                                       {"0000:05:00.0", "drm"}};
  EXPECT_EQ(meter_of, expected);
}

}  // namespace
}  // namespace picchio::meters
