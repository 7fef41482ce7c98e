#include "meters/amdgpu/kfd.h"

#include "meters/made_up_gpus.h"

#include <gtest/gtest.h>

namespace picchio::meters::amdgpu {
namespace {

TEST(KfdNode, IsPlacedByItsLocation) {
  struct Case {
    const char* id;
    const char* properties;
    const char* address;  // "" for none
    bool has_cpu;
  };
  const Case cases[] = {
      {"51437", "cpu_cores_count 0\nsimd_count 192\nlocation_id 768\ndomain 0\n", "0000:03:00.0",
       false},
      {"1", "location_id 50176\ndomain 1\ncpu_cores_count 16\n", "0001:c4:00.0", true},
      {"7", "location_id 1290\n", "0000:05:01.2", false},
      {"0", "cpu_cores_count 16\nlocation_id 0\n", "", false},
      {"12", "simd_count 4\n", "", false},
      {"12", "location_id -1\n", "", false},
      {"12", "location_id 65536\n", "", false},
      {"../../x", "location_id 768\n", "", false},
      {"", "", "", false},
  };
  for (const Case& each : cases) {
    const auto node = parse_kfd_node(each.id, each.properties);
    EXPECT_EQ(node ? node->address : "", each.address) << each.properties;
    EXPECT_EQ(node && node->has_cpu, each.has_cpu) << each.properties;
  }
}

struct KfdTree : MadeUpGpus {
  KfdTree() {
    file("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    file("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 16\nlocation_id 0\n");
    file("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51437\n");
    file("/sys/class/kfd/kfd/topology/nodes/1/properties", "location_id 768\ndomain 0\n");
    file("/sys/class/kfd/kfd/proc/50/vram_51437", "4096\n");
    file("/sys/class/kfd/kfd/proc/50/vram_999", "1\n");
  }
};

TEST(Kfd, TellsMemoryOfProcesses) {
  const KfdTree tree;
  Kfd kfd(tree.root());
  ASSERT_EQ(kfd.nodes().size(), 1U);
  const int pids[] = {49, 50};
  const auto first = kfd.look(Micros(0), pids);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].pid, 50);
  EXPECT_EQ(first[0].address, "0000:03:00.0");
  EXPECT_EQ(first[0].memory_bytes, 4096);
  tree.file("/sys/class/kfd/kfd/proc/50/vram_51437", "8192\n");
  EXPECT_EQ(kfd.look(Micros(1000), pids).at(0).memory_bytes, 8192);
  tree.remove_all({"/sys/class/kfd/kfd/proc/50"});
  EXPECT_TRUE(kfd.look(Micros(2000), pids).empty());
}

TEST(Kfd, KnowsThatAContainersNumbersAreNotTheHosts) {
  const KfdTree tree;
  const int pids[] = {50};
  tree.link("/proc/self/ns/pid", "pid:[4026532999]");
  EXPECT_TRUE(Kfd(tree.root()).look(Micros(0), pids).empty());
  tree.remove_all({"/proc/self/ns/pid"});
  tree.link("/proc/self/ns/pid", "pid:[4026531836]");
  EXPECT_EQ(Kfd(tree.root()).look(Micros(0), pids).size(), 1U);
}

}  // namespace
}  // namespace picchio::meters::amdgpu
