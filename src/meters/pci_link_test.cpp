#include "meters/pci_link.h"

#include "os/made_up_tree.h"

#include <gtest/gtest.h>

namespace picchio::meters {
namespace {

TEST(PciLink, IsReadFromTheKernelsWords) {
  struct Case {
    const char* speed;
    const char* width;
    std::optional<PcieLink> link;
  };
  const Case cases[] = {
      {"2.5 GT/s PCIe", "1", PcieLink{.generation = 1, .width = 1}},
      {"8.0 GT/s PCIe", "16", PcieLink{.generation = 3, .width = 16}},
      {"32.0 GT/s PCIe", "8", PcieLink{.generation = 5, .width = 8}},
      {"5 GT/s", "4", PcieLink{.generation = 2, .width = 4}},  // kernels before 5.11
      {"Unknown", "0", std::nullopt},
      {"16.0 GT/s PCIe", "0", std::nullopt},
      {"16.0 GT/s PCIe", "255", std::nullopt},
      {"12.0 GT/s PCIe", "8", std::nullopt},
      {"16.0", "8", std::nullopt},
      {"", "", std::nullopt},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(parse_link(each.speed, each.width), each.link) << each.speed << ' ' << each.width;
  }
}

TEST(PciLink, OfACardWithItsOwnSwitchIsTheSlots) {
  const MadeUpTree tree;
  const std::string port = "/sys/devices/pci0000:00/0000:00:01.1";
  const std::string upstream = port + "/0000:01:00.0";
  const std::string downstream = upstream + "/0000:02:00.0";
  const std::string gpu = downstream + "/0000:03:00.0";
  tree.file(port + "/vendor", "0x1022\n");
  tree.file(port + "/class", "0x060400\n");
  for (const std::string& bridge : {upstream, downstream}) {
    tree.file(bridge + "/vendor", "0x1002\n");
    tree.file(bridge + "/class", "0x060400\n");
  }
  tree.file(gpu + "/vendor", "0x1002\n");
  tree.file(gpu + "/class", "0x030000\n");
  EXPECT_EQ(slot_side(tree.root() + gpu), tree.root() + upstream);
  EXPECT_EQ(slot_side(tree.root() + port), tree.root() + port);
}

}  // namespace
}  // namespace picchio::meters
