#include "machine/process_memory.h"

#include "os/made_up_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace picchio {
namespace {

constexpr std::string_view kStatus =
    "Name:\tllama-server\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t42\nVmPeak:\t  496496 kB\n"
    "VmHWM:\t  103720 kB\nVmRSS:\t  103720 kB\nRssAnon:\t   72608 kB\nRssFile:\t   31112 kB\n"
    "RssShmem:\t       0 kB\nVmSwap:\t      12 kB\nThreads:\t9\n";

TEST(ProcessMemory, OfAStatus) {
  const MadeUpTree tree;
  tree.file("/proc/42/status", kStatus);
  const auto memory = residency_of(tree.root(), 42);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->resident, std::int64_t{103720} * 1024);
  EXPECT_EQ(memory->resident_files, std::int64_t{31112} * 1024);
  EXPECT_EQ(memory->swapped, std::int64_t{12} * 1024);
  EXPECT_EQ(residency_of(tree.root() + "/", 42)->resident, memory->resident);
  EXPECT_FALSE(residency_of(tree.root(), 43));
  EXPECT_FALSE(residency_of(tree.root(), -1));
}

TEST(ProcessMemory, AKernelWithoutSwapSwapsNothing) {
  const auto memory = parse_residency("VmRSS:\t 8 kB\nRssFile:\t 4 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->swapped, 0);
}

TEST(ProcessMemory, WhatIsNotToldIsAbsent) {
  for (const std::string_view text :
       {"", "Name:\tkworker/0:0\nThreads:\t1\n",           // a kernel's thread
        "VmRSS:\t 8 kB\n",                                 // before 4.5
        "VmRSS:\t 8 MB\nRssFile:\t 4 kB\n",                // another unit
        "VmRSS:\t -8 kB\nRssFile:\t 4 kB\n",               //
        "VmRSS:\t 9223372036854775807 kB\nRssFile: 4 kB",  // more bytes than can be counted
        "VmRSS:\t 99999999999999999999 kB\nRssFile: 4 kB",
        "VmRSS:\t 8 kB\nRssFile:\t 4 kB\nVmSwap:\t x kB\n",
        "Name:\tVmRSS:\t 8 kB\nRssFile:\t 4 kB\n"}) {
    EXPECT_FALSE(parse_residency(text)) << text;
  }
}

TEST(ProcessMemory, TouchedPagesOfAMappedFileAreSeen) {
  const auto before = residency_of("/", ::getpid());
  if (!before) GTEST_SKIP() << "this system tells no resident memory in /proc";
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const MadeUpTree tree;
  tree.file("/weights", std::string(kBytes, 'w'));
  const int fd = ::open((tree.root() + "/weights").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  void* const mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* const bytes = static_cast<const volatile char*>(mapped);
  int sum = 0;
  for (std::size_t at = 0; at < kBytes; at += 4096) sum += bytes[at];
  EXPECT_NE(sum, 0);
  const auto after = residency_of("/", ::getpid());
  ::munmap(mapped, kBytes);
  ASSERT_TRUE(after);
  // A temporary folder in memory counts as shared memory, not as a file.
  if (after->resident_files - before->resident_files < static_cast<std::int64_t>(kBytes / 2)) {
    EXPECT_GE(after->resident - before->resident, static_cast<std::int64_t>(kBytes) * 3 / 4);
    GTEST_SKIP() << "the temporary folder lies in memory, whose pages are no file's";
  }
  EXPECT_GE(after->resident_files - before->resident_files,
            static_cast<std::int64_t>(kBytes) * 3 / 4);
  EXPECT_GE(after->resident, after->resident_files);
}

}  // namespace
}  // namespace picchio
