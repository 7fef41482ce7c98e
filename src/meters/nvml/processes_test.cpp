#include "meters/nvml/processes.h"

#include "meters/nvml/fake_machine.h"
#include "meters/nvml/nvml.h"
#include "meters/nvml/pids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ostream>
#include <vector>

namespace picchio::meters::nvml {
namespace {

template <class Entry>
std::vector<std::byte> written(std::span<const Entry> entries, std::byte before = kUntouched) {
  std::vector<std::byte> buffer(8 * sizeof(abi::Process32), before);
  std::memcpy(buffer.data(), entries.data(), entries.size_bytes());
  return buffer;
}

TEST(EntryBytes, ReadOffWhatWasWritten) {
  for (std::size_t count = 1; count <= 8; ++count) {
    std::vector<abi::Process16> first(count, {42, 1000});
    std::vector<abi::Process24> second(count, {42, 1000, ~0U, ~0U});
    std::vector<abi::Process32> third(count, {42, 1000, ~0U, ~0U, 0});
    EXPECT_EQ(entry_bytes(written<abi::Process16>(first), count), 16U) << count;
    EXPECT_EQ(entry_bytes(written<abi::Process24>(second), count), 24U) << count;
    EXPECT_EQ(entry_bytes(written<abi::Process32>(third), count), 32U) << count;
  }
}

TEST(EntryBytes, AClearedBufferIsJudgedBySense) {
  const std::array<abi::Process24, 2> entries = {{{42, 1000, ~0U, ~0U}, {43, 2000, ~0U, ~0U}}};
  EXPECT_EQ(entry_bytes(written<abi::Process24>(entries, std::byte{0}), 2), 24U);
  const std::array<abi::Process16, 3> old = {{{42, 1000}, {43, abi::kValueNotAvailable}, {44, 5}}};
  EXPECT_EQ(entry_bytes(written<abi::Process16>(old, std::byte{0}), 3), 16U);
}

TEST(EntryBytes, AnUnknownLayoutIsNone) {
  const std::vector<std::byte> nothing(64, kUntouched);
  EXPECT_EQ(entry_bytes(nothing, 2), std::nullopt);
  std::vector<std::byte> of_20(64, kUntouched);
  std::fill_n(of_20.begin(), 40, std::byte{0xFF});
  EXPECT_EQ(entry_bytes(of_20, 2), std::nullopt);
  EXPECT_EQ(entry_bytes(of_20, 0), std::nullopt);
}

struct Expected {
  int pid;
  std::optional<std::int64_t> memory;
  std::optional<double> busy;
};

struct Case {
  const char* name;
  int driver;
  std::string_view scenario;  // of a GPU of 8000 bytes
  std::vector<Expected> rows;
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

class ProcessUse : public testing::TestWithParam<Case> {};

TEST_P(ProcessUse, OfThePidsThatWereAskedFor) {
  const Case& each = GetParam();
  const FakeMachine machine(
      std::string("step nvmlDeviceGetPowerUsage 100\n") + std::string(each.scenario), each.driver);
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  (void)(*meter)->sample();
  const auto use = (*meter)->process_use(std::array{10, 11, 12, 13});
  ASSERT_TRUE(use) << use.error().message;
  ASSERT_EQ(use->size(), each.rows.size());
  for (std::size_t i = 0; i < each.rows.size(); ++i) {
    EXPECT_EQ((*use)[i].pid, each.rows[i].pid);
    EXPECT_EQ((*use)[i].memory_bytes, each.rows[i].memory);
    EXPECT_EQ((*use)[i].busy_percent, each.rows[i].busy);
  }
}

constexpr std::string_view kThree =
    "gpu A\nmemory 8000\npower 0:1\n"
    "process compute 10 memory 0:1000\nprocess compute 99 memory 0:5\n"
    "process compute 11 memory 0:2000\n";
const std::string kStride16 = "stride 16\n" + std::string(kThree);
const std::string kStride32 = "stride 32\n" + std::string(kThree);
const std::string kCleared = "clears-lists\n" + std::string(kThree);
const std::vector<Expected> kBoth = {{10, 1000, {}}, {11, 2000, {}}};

std::string crowd() {
  std::string text = "gpu A\nmemory 8000\npower 0:1\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("process compute {} memory 0:1\n", 1000 + i);
  }
  return text + "process compute 12 memory 0:7\n";
}
const std::string kCrowd = crowd();

INSTANTIATE_TEST_SUITE_P(
    All, ProcessUse,
    testing::Values(
        Case{"Entries24", 550, kThree, kBoth}, Case{"Entries16", 550, kStride16, kBoth},
        Case{"Entries32", 550, kStride32, kBoth}, Case{"ClearedLists", 550, kCleared, kBoth},
        Case{"SecondLists", 470, kThree, kBoth}, Case{"FirstLists", 440, kThree, kBoth},
        Case{"MoreThanFitAtOnce", 550, kCrowd, {{12, 7, {}}}},
        Case{"UnknownMemoryIsNotZero",
             550,
             "gpu A\nmemory 8000\npower 0:1\nprocess compute 10\n",
             {{10, {}, {}}}},
        Case{"MoreThanTheCardHasIsNoFigure",
             550,
             "gpu A\nmemory 8000\npower 0:1\nprocess compute 10 memory 0:9000\n",
             {{10, {}, {}}}},
        Case{"SameMemoryInTwoLists",
             550,
             "gpu A\nmemory 8000\npower 0:1\nprocess compute 10 memory 0:300\n"
             "process graphics 10 memory 0:400\n",
             {{10, 400, {}}}},
        Case{"KnownInOneOfTwoLists",
             550,
             "gpu A\nmemory 8000\npower 0:1\nprocess compute 10\n"
             "process graphics 10 memory 0:400\n",
             {{10, 400, {}}}},
        Case{"OnlyDrawing",
             550,
             "gpu A\nmemory 8000\npower 0:1\nprocess graphics 11 sm 44 memory 0:1\n",
             {{11, 1, 44}}},
        Case{"ClientOfAServer",
             550,
             "gpu A\nmemory 8000\npower 0:1\nprocess compute 500 memory 0:9\n"
             "process mps 13 memory 0:8\n",
             {{13, 8, {}}}},
        Case{"PartsOfMigAddUp",
             550,
             "gpu A\nmig\nmemory 8000\npower 0:1\nprocess compute 10 instance 1 memory 0:100\n"
             "process compute 10 instance 2 memory 0:200\n",
             {{10, 300, {}}}},
        Case{"GarbageSamples",
             550,
             "gpu A\nmemory 8000\npower 0:1\ngarbage 4294901760 50 9000000000\n"
             "garbage 10 255 9000000000\ngarbage 11 50 5\nprocess compute 12 sm 30 memory 0:1\n",
             {{12, 1, 30}}},
        Case{"NobodyOfOurs", 550, "gpu A\nmemory 8000\nprocess compute 99 memory 0:1\n", {}}),
    [](const auto& each) { return each.param.name; });

TEST(ProcessUse, OnTwoGpus) {
  const FakeMachine machine(
      "gpu A\nmemory 8000\nprocess compute 10 memory 0:1\n"
      "gpu A\nmemory 8000\nprocess compute 10 memory 0:2\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto use = (*meter)->process_use(std::array{10});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 2U);
  EXPECT_EQ((*use)[0].device, 0);
  EXPECT_EQ((*use)[1].device, 1);
  EXPECT_EQ((*use)[1].memory_bytes, 2);
}

constexpr std::string_view kContainer = "pid:[4026532201]";

TEST(Pids, OursAreTheMachines) {
  const FakeMachine machine("");
  const auto pids = Pids::look(machine.place().root);
  ASSERT_TRUE(pids) << pids.error().message;
  EXPECT_EQ(pids->of_driver(std::array{3, 7}), (std::map<int, int>{{3, 3}, {7, 7}}));
}

TEST(Pids, AContainerWithItsOwnProcCannotTell) {
  const FakeMachine machine("gpu A\nmemory 8000\nbusy 0:1\nprocess compute 10 memory 0:1\n");
  machine.link("/proc/self/ns/pid", std::string(kContainer));
  machine.file("/proc/self/status", "Name:\tx\nNSpid:\t10\n");
  machine.file("/proc/2/comm", "bash\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  // Our 10 is not the machine's 10.
  const auto use = (*meter)->process_use(std::array{10});
  ASSERT_FALSE(use);
  EXPECT_EQ(use.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(use.error().message.contains("this container's /proc does not show them"))
      << use.error().message;
  const auto& missing = (*meter)->devices()[0].missing;
  for (const GpuFigure figure : {GpuFigure::process_busy, GpuFigure::process_memory}) {
    const auto found = std::ranges::find(missing, figure, &MissingFigure::figure);
    ASSERT_NE(found, missing.end());
    EXPECT_TRUE(found->reason.contains("container")) << found->reason;
  }
  EXPECT_EQ((*meter)->sample()[0].busy_percent, 1) << "the whole GPU is told all the same";
}

TEST(Pids, AContainerThatSeesTheMachinesProc) {
  const FakeMachine machine(
      "gpu A\nmemory 8000\nprocess compute 5010 memory 0:1\n"
      "process compute 6010 memory 0:2\nprocess compute 10 memory 0:3\n");
  const auto process = [&](int outer, const std::string& numbers, std::string_view name_space) {
    const std::string dir = fmt::format("/proc/{}", outer);
    machine.file(dir + "/status", "Name:\tx\nNSpid:\t" + numbers + "\n");
    machine.link(dir + "/ns/pid", std::string(name_space));
  };
  machine.link("/proc/self/ns/pid", std::string(kContainer));
  machine.file("/proc/self/status", "Name:\tx\nNSpid:\t5001\t1\n");
  machine.file("/proc/2/comm", "kthreadd\n");
  process(5010, "5010\t10", kContainer);
  process(6010, "6010\t10", "pid:[4026532999]");  // another container's
  process(10, "10", "pid:[4026531836]");          // the machine's own
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto use = (*meter)->process_use(std::array{10});
  ASSERT_TRUE(use) << use.error().message;
  ASSERT_EQ(use->size(), 1U);
  EXPECT_EQ(use->front().pid, 10);
  EXPECT_EQ(use->front().memory_bytes, 1);
}

TEST(Pids, WithoutProcNothingIsAssumed) {
  const FakeMachine machine("");
  const std::string root = machine.place().root + "/nowhere";
  const auto pids = Pids::look(root);
  ASSERT_FALSE(pids);
  EXPECT_TRUE(pids.error().message.contains("does not tell")) << pids.error().message;
}

}  // namespace
}  // namespace picchio::meters::nvml
