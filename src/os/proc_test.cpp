#include "os/proc.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace picchio::os {
namespace {

std::string stat_line(int pid, const std::string& comm, char state, int parent, int utime,
                      int stime, int cutime, int cstime) {
  return std::to_string(pid) + " (" + comm + ") " + state + " " + std::to_string(parent) +
         " 1 1 0 -1 4194304 100 0 0 0 " + std::to_string(utime) + " " + std::to_string(stime) +
         " " + std::to_string(cutime) + " " + std::to_string(cstime) +
         " 20 0 1 0 777 1000 200 0 0 0\n";
}

class Proc : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "picchio_proc_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void put(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root + "/proc/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  void link(const std::string& name, const std::string& target) const {
    const std::filesystem::path path = root + "/proc/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
  }

  std::string root;
};

TEST(ProcStat, NamesThatLookLikeFields) {
  for (const char* comm : {"sh", "a) S 1 (b", "x y", "(((", ")))", "", "line\nend"}) {
    const ProcStat stat =
        parse_proc_stat(stat_line(42, comm, 'R', 7, 1, 2, 4, 8)).value_or(ProcStat());
    EXPECT_EQ(stat.comm, comm);
    EXPECT_EQ(std::tuple(stat.pid, stat.state, stat.parent), std::tuple(42, 'R', 7)) << comm;
    EXPECT_EQ(std::tuple(stat.own_ticks, stat.children_ticks, stat.start_ticks),
              std::tuple(3, 12, 777))
        << comm;
  }
}

TEST(ProcStat, WhatIsNoStatLine) {
  for (const char* text : {"", "42", "42 (sh", "42 (sh)", "42 (sh) R 7 1 1", ") 42 (sh R 7",
                           "x (sh) R 7 1 1 0 -1 4 1 0 0 0 1 2 4 8 20 0 1 0 777 1 1",
                           "4 (sh) R 7 1 1 0 -1 4 1 0 0 0 a 2 4 8 20 0 1 0 777 1 1"}) {
    EXPECT_FALSE(parse_proc_stat(text)) << text;
  }
}

TEST_F(Proc, TreeAndItsCpuTimeFromChildrenLists) {
  put("10/stat", stat_line(10, "sh", 'S', 1, 1, 1, 100, 0));
  put("10/task/10/children", "11 ");
  put("10/task/12/children", "13 \n");  // forked by another thread
  put("11/stat", stat_line(11, "llama-server", 'R', 10, 200, 50, 0, 0));
  put("11/task/11/children", "");
  put("13/stat", stat_line(13, "gone", 'R', 10, 0, 0, 0, 50));
  put("99/stat", stat_line(99, "stranger", 'R', 1, 9999, 0, 0, 0));
  EXPECT_EQ(process_tree(root, 10), (std::vector{10, 11, 13}));
  const double per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(cpu_seconds_of_tree(root, 10), 402 / per_second);
  EXPECT_EQ(cpu_seconds_of_tree(root, 11), 250 / per_second);
}

TEST_F(Proc, TreeFromParentsWhereTheKernelListsNoChildren) {
  put("10/stat", stat_line(10, "sh", 'S', 1, 1, 0, 0, 0));
  put("30/stat", stat_line(30, "sh", 'S', 40, 4, 0, 0, 0));  // a child with a lower number
  put("40/stat", stat_line(40, "x) R 1 (", 'S', 10, 2, 0, 0, 0));
  put("50/stat", stat_line(50, "other", 'S', 1, 500, 0, 0, 0));
  put("cpuinfo", "");
  EXPECT_EQ(process_tree(root, 10), (std::vector{10, 40, 30}));
  EXPECT_EQ(all_processes(root), (std::vector{10, 30, 40, 50}));
}

TEST_F(Proc, AProcessThatIsGoneIsAbsent) {
  put("cpuinfo", "");
  EXPECT_TRUE(process_tree(root, 10).empty());
  EXPECT_EQ(cpu_seconds_of_tree(root, 10), std::nullopt);
  EXPECT_EQ(mapped_files(root, 10), std::nullopt);
  EXPECT_EQ(open_files(root, 10), std::nullopt);
  EXPECT_EQ(comm_of(root, 10), std::nullopt);
  EXPECT_EQ(all_processes(root + "/none"), std::nullopt);
}

TEST_F(Proc, MappedFilesOnceEach) {
  put("10/maps",
      "55d0-55d1 r--p 00000000 fe:00 12   /opt/my engine/libggml-cuda.so\n"
      "55d1-55d2 r-xp 00001000 fe:00 12   /opt/my engine/libggml-cuda.so\n"
      "7f00-7f01 rw-p 00000000 00:00 0 \n"
      "7f01-7f02 r--p 00000000 fe:00 13   /usr/lib/libcuda.so.1 (deleted)\n"
      "7f02-7f03 r--p 00000000 fe:00 14   /tmp/odd\\012name.so\n"
      "7f03-7f04 rw-s 00000000 00:05 15   /dev/nvidia0\n"
      "7ffe-7fff rw-p 00000000 00:00 0    [stack]\n"
      "7fff-8000 r-xp 00000000 00:00 0    anon_inode:[perf_event]\n");
  EXPECT_EQ(mapped_files(root, 10),
            (std::vector<std::string>{"/dev/nvidia0", "/opt/my engine/libggml-cuda.so",
                                      "/tmp/odd\nname.so", "/usr/lib/libcuda.so.1"}));
}

TEST_F(Proc, DescriptorsWordsAndNames) {
  link("10/fd/0", "/dev/null");
  link("10/fd/5", "socket:[1234]");
  put("10/comm", "llama (x) y\n");
  put("10/cmdline", std::string("/bin/llama\0-m\0\0", 15));
  put("10/environ", std::string("A=1\0B=\0", 7));
  EXPECT_EQ(open_files(root, 10), (std::vector<std::string>{"/dev/null", "socket:[1234]"}));
  EXPECT_EQ(comm_of(root, 10), "llama (x) y");
  EXPECT_EQ(command_line(root, 10), (std::vector<std::string>{"/bin/llama", "-m", ""}));
  EXPECT_EQ(environment_of(root, 10), (std::vector<std::string>{"A=1", "B="}));
}

TEST(ProcLive, ThisProcess) {
  const int pid = ::getpid();
  EXPECT_EQ(read_proc_stat("/", pid).value_or(ProcStat()).parent, ::getppid());
  const auto tree = process_tree("/", ::getppid());
  EXPECT_NE(std::ranges::find(tree, pid), tree.end());
  const auto files = mapped_files("/", pid).value_or(std::vector<std::string>());
  EXPECT_TRUE(std::ranges::any_of(files, [](const auto& f) { return f.contains("libc.so"); }));
  const auto words = command_line("/", pid).value_or(std::vector<std::string>{""});
  EXPECT_TRUE(words.front().contains("os_test")) << words.front();
}

TEST(ProcLive, CpuTimeOfThisProcess) {
  const double own = static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
  const double seconds = cpu_seconds_of_tree("/", ::getpid()).value_or(-1);
  EXPECT_GE(seconds, 0.0);
  EXPECT_LT(seconds, own + 5.0);
}

}  // namespace
}  // namespace picchio::os
