#include "machine/processor.h"

#include "machine/ram_bandwidth.h"
#include "os/made_up_tree.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace picchio {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

void add_cpu(const MadeUpTree& t, int number, const std::string& threads, const std::string& l3,
             const std::string& l3_cpus) {
  const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(number);
  t.file(cpu + "/topology/thread_siblings_list", threads + "\n");
  const auto cache = [&](int index, const char* level, const std::string& size,
                         const std::string& cpus) {
    const std::string folder = cpu + "/cache/index" + std::to_string(index);
    t.file(folder + "/level", std::string(level) + "\n");
    t.file(folder + "/size", size + "\n");
    t.file(folder + "/shared_cpu_list", cpus + "\n");
  };
  cache(0, "1", "32K", threads);
  cache(1, "1", "32K", threads);
  cache(2, "2", "512K", threads);
  if (!l3.empty()) cache(3, "3", l3, l3_cpus);
}

struct Layout {
  const char* name;
  std::function<void(const MadeUpTree&)> make;
  std::optional<int> cores;
  std::optional<std::int64_t> cache;
};

const Layout kLayouts[] = {
    {"nothing told", [](const MadeUpTree&) {}, std::nullopt, std::nullopt},
    {"four cores of two threads, one cache",
     [](const MadeUpTree& t) {
       for (int i = 0; i < 8; ++i) {
         const int core = i % 4;
         add_cpu(t, i, std::to_string(core) + "," + std::to_string(core + 4), "16384K", "0-7");
       }
     },
     4, 16 * kMiB},
    {"two clusters with a cache each",
     [](const MadeUpTree& t) {
       for (int i = 0; i < 4; ++i) {
         add_cpu(t, i, std::to_string(i), "32M", i < 2 ? "0-1" : "2-3");
       }
     },
     4, 64 * kMiB},
    {"no third level: the second ones add up",
     [](const MadeUpTree& t) {
       for (int i = 0; i < 2; ++i) add_cpu(t, i, std::to_string(i), "", "");
     },
     2, kMiB},
    {"a virtual machine that tells no caches",
     [](const MadeUpTree& t) {
       t.file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
       t.file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
     },
     2, std::nullopt},
    {"one processor's cache is not told",
     [](const MadeUpTree& t) {
       add_cpu(t, 0, "0", "16384K", "0");
       t.file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
     },
     2, std::nullopt},
    {"an offline processor",
     [](const MadeUpTree& t) {
       add_cpu(t, 0, "0", "16384K", "0");
       t.dir("/sys/devices/system/cpu/cpu1");
       t.dir("/sys/devices/system/cpu/cpufreq");
       t.dir("/sys/devices/system/cpu/cpuidle");
     },
     1, 16 * kMiB},
    {"nonsense",
     [](const MadeUpTree& t) {
       add_cpu(t, 0, "0-99999999999", "16384K", "0");
       add_cpu(t, 1, "7-3", "-4K", "1");
       add_cpu(t, 2, "x", "99999999999999999999K", "2");
     },
     std::nullopt, std::nullopt},
};

TEST(Processor, CoresAndCachesAreCountedOnce) {
  for (const Layout& layout : kLayouts) {
    const MadeUpTree tree;
    layout.make(tree);
    const Processor processor = read_processor(tree.root());
    EXPECT_EQ(processor.physical_cores, layout.cores) << layout.name;
    EXPECT_EQ(processor.last_level_cache_bytes, layout.cache) << layout.name;
  }
}

struct Room {
  const char* name;
  std::function<void(const MadeUpTree&)> make;
  std::optional<std::int64_t> mib;
};

std::string bytes(std::int64_t mib) { return std::to_string(mib * kMiB) + "\n"; }

const Room kRooms[] = {
    {"no group", [](const MadeUpTree&) {}, 8192},
    {"a group of version 2 without a limit",
     [](const MadeUpTree& t) {
       t.file("/proc/self/cgroup", "0::/user.slice\n");
       t.file("/sys/fs/cgroup/user.slice/memory.max", "max\n");
       t.file("/sys/fs/cgroup/user.slice/memory.current", bytes(100));
     },
     8192},
    {"a limit of version 2, of which cache does not count",
     [](const MadeUpTree& t) {
       t.file("/proc/self/cgroup", "0::/a/b\n");
       t.file("/sys/fs/cgroup/a/b/memory.max", bytes(1024));
       t.file("/sys/fs/cgroup/a/b/memory.current", bytes(900));
       t.file("/sys/fs/cgroup/a/b/memory.stat", "anon 1\ninactive_file " + bytes(400));
     },
     524},
    {"a parent's limit",
     [](const MadeUpTree& t) {
       t.file("/proc/self/cgroup", "0::/a/b\n");
       t.file("/sys/fs/cgroup/a/memory.max", bytes(512));
       t.file("/sys/fs/cgroup/a/memory.current", bytes(12));
     },
     500},
    {"a container of version 1, whose path is the host's",
     [](const MadeUpTree& t) {
       t.file("/proc/self/cgroup", "9:name=systemd:/\n4:memory,hugetlb:/x\n3:memory:/docker/77\n");
       t.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", bytes(2048));
       t.file("/sys/fs/cgroup/memory/memory.usage_in_bytes", bytes(1048));
       t.file("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file " + bytes(10));
     },
     1010},
    {"over its limit",
     [](const MadeUpTree& t) {
       t.file("/proc/self/cgroup", "0::/\n");
       t.file("/sys/fs/cgroup/memory.max", bytes(10));
       t.file("/sys/fs/cgroup/memory.current", bytes(11));
     },
     0},
};

TEST(Processor, MemoryIsWhatTheGroupsLeave) {
  for (const Room& room : kRooms) {
    const MadeUpTree tree;
    tree.file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n");
    room.make(tree);
    const auto available = available_memory(tree.root());
    ASSERT_TRUE(available) << room.name;
    EXPECT_EQ(*available / kMiB, *room.mib) << room.name;
  }
  EXPECT_FALSE(available_memory(MadeUpTree().root()));
}

TEST(RamBandwidth, TheBufferIsBeyondTheCachesAndWithinAnEighthOfTheMemory) {
  const auto planned = [](std::int64_t available_mib, const char* l3) {
    const MadeUpTree tree;
    tree.file("/proc/meminfo", "MemAvailable: " + std::to_string(available_mib * 1024) + " kB\n");
    add_cpu(tree, 0, "0", l3, "0");
    const auto probe = plan_ram_probe(tree.root());
    return probe ? probe->bytes / kMiB : -1;
  };
  EXPECT_EQ(planned(64000, "32768K"), 512);
  EXPECT_EQ(planned(64000, "1179648K"), 4608);
  EXPECT_EQ(planned(16000, "1179648K"), -1);
  EXPECT_EQ(planned(2048, "8192K"), 256);
  EXPECT_EQ(planned(1000, "8192K"), -1);
  EXPECT_FALSE(plan_ram_probe(MadeUpTree().root()));
}

// No time is asserted: only that the figure is a memory's, and that nothing hangs.
TEST(RamBandwidth, ReadsWhatAMemoryReads) {
  for (const int threads : {1, 2, 7}) {
    const auto rate = measure_ram_bandwidth(
        {.bytes = 64 * kMiB, .threads = threads, .patience = std::chrono::milliseconds(1)},
        [] { return true; });
    if (!rate) {
      // More threads than cores, or a busy machine.
      EXPECT_NE(rate.error().message.find("busy"), std::string::npos) << rate.error().message;
      continue;
    }
    EXPECT_GT(*rate, 0.2e9);
    EXPECT_LT(*rate, 20000e9);
  }
}

TEST(RamBandwidth, StopsWhenItIsTold) {
  int asked = 0;
  const auto rate = measure_ram_bandwidth({.bytes = 256 * kMiB, .threads = 2}, [&] {
    ++asked;
    return false;
  });
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(measure_ram_bandwidth({.bytes = kMiB, .threads = 1}, [] { return true; }));
}

}  // namespace
}  // namespace picchio
