// GPU time of processes: the account alone, and through the fake Mac's registry.
#include "meters/apple/gpu_time.h"

#include "meters/apple/fake_mac.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace picchio::meters::apple {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class Book {
 public:
  std::vector<GpuProcessUse> look(int ms, std::vector<Client> clients) {
    return book_.look({std::chrono::milliseconds(ms), std::move(clients)}, std::array{42});
  }
  void start(int pid, std::optional<std::int64_t> at) { starts_[pid] = at; }

 private:
  std::map<int, std::optional<std::int64_t>> starts_ = {{42, 1000}};
  GpuTimeBook book_{[this](int pid) { return starts_[pid]; }};
};

Client client(std::uint64_t id, std::optional<std::int64_t> ns, int pid = 42) {
  return {.device = 0, .id = id, .pid = pid, .gpu_ns = ns};
}

TEST(AppleGpuTime, GrowthOverTheTimeBetweenTwoLooks) {
  Book book;
  EXPECT_TRUE(book.look(0, {}).empty()) << "nothing for one that has none";
  const auto first = book.look(500, {client(1, 100 * kMs), client(2, 50 * kMs)});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_DOUBLE_EQ(first[0].gpu_seconds.value_or(-1), 0.15);
  EXPECT_DOUBLE_EQ(first[0].busy_percent.value_or(-1), 30) << "both came since the look before";
  const auto next = book.look(1000, {client(1, 300 * kMs), client(2, 50 * kMs)});
  EXPECT_DOUBLE_EQ(next.at(0).gpu_seconds.value_or(-1), 0.35);
  EXPECT_DOUBLE_EQ(next.at(0).busy_percent.value_or(-1), 40);
}

TEST(AppleGpuTime, WhatWasBeforeTheFirstLookIsNotBusy) {
  Book book;
  const auto first = book.look(0, {client(1, 900 * kMs)});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].busy_percent, std::nullopt);
  EXPECT_DOUBLE_EQ(first[0].gpu_seconds.value_or(-1), 0.9);
}

TEST(AppleGpuTime, AClientThatWasThereButNotReadIsNotBusyForAllItsLife) {
  Book book;
  (void)book.look(0, {client(1, {})});
  const auto read = book.look(500, {client(1, 900 * kMs)});
  EXPECT_EQ(read.at(0).busy_percent, std::nullopt);
  EXPECT_DOUBLE_EQ(read.at(0).gpu_seconds.value_or(-1), 0.9);
}

TEST(AppleGpuTime, TimeOfAClientThatIsGoneStays) {
  Book book;
  (void)book.look(0, {client(1, 0), client(2, 0)});
  (void)book.look(500, {client(1, 100 * kMs), client(2, 10 * kMs)});
  const auto closed = book.look(1000, {client(2, 20 * kMs)});
  EXPECT_DOUBLE_EQ(closed.at(0).gpu_seconds.value_or(-1), 0.12);
  EXPECT_EQ(closed.at(0).busy_percent, std::nullopt) << "its last part is not known";
  const auto after = book.look(1500, {client(2, 20 * kMs)});
  EXPECT_DOUBLE_EQ(after.at(0).gpu_seconds.value_or(-1), 0.12);
  EXPECT_DOUBLE_EQ(after.at(0).busy_percent.value_or(-1), 0);
}

TEST(AppleGpuTime, ACounterThatStepsBackIsNeverCountedTwice) {
  Book book;
  (void)book.look(0, {client(1, 0)});
  (void)book.look(500, {client(1, 300 * kMs)});
  (void)book.look(1000, {client(1, 250 * kMs)});  // a queue of 50 ms was closed
  const auto last = book.look(1500, {client(1, 260 * kMs)});
  EXPECT_DOUBLE_EQ(last.at(0).gpu_seconds.value_or(-1), 0.31);
  EXPECT_DOUBLE_EQ(last.at(0).busy_percent.value_or(-1), 2);
}

TEST(AppleGpuTime, OverlappingQueuesAreAtMostAllOfTheTime) {
  Book book;
  (void)book.look(0, {client(1, 0)});
  const auto use = book.look(100, {client(1, 170 * kMs)});
  EXPECT_DOUBLE_EQ(use.at(0).busy_percent.value_or(-1), 100);
  EXPECT_DOUBLE_EQ(use.at(0).gpu_seconds.value_or(-1), 0.17);
}

TEST(AppleGpuTime, AClientThatOutlivedItsProcessIsNotItsSuccessors) {
  Book book;
  (void)book.look(0, {client(1, 800 * kMs)});
  book.start(42, 2000);
  EXPECT_TRUE(book.look(500, {client(1, 900 * kMs)}).empty());
  const auto own = book.look(1000, {client(1, 900 * kMs), client(2, 5 * kMs)});
  ASSERT_EQ(own.size(), 1U);
  EXPECT_DOUBLE_EQ(own[0].gpu_seconds.value_or(-1), 0.005);
}

TEST(AppleGpuTime, AClientThatIsOlderThanItsProcess) {
  Book book;
  book.start(42, std::nullopt);
  (void)book.look(0, {client(1, 800 * kMs)});
  book.start(42, 2000);
  EXPECT_TRUE(book.look(500, {client(1, 900 * kMs)}).empty());
}

TEST(AppleGpuTime, WithoutStartTimesTheNumberIsAllThereIs) {
  Book book;
  book.start(42, std::nullopt);
  (void)book.look(0, {client(1, 0)});
  EXPECT_EQ(book.look(500, {client(1, 100 * kMs)}).size(), 1U);
}

TEST(AppleGpuTime, ATimeThatIsNotToldIsNotZero) {
  Book book;
  (void)book.look(0, {});
  const auto use = book.look(500, {client(1, {})});
  ASSERT_EQ(use.size(), 1U);
  EXPECT_EQ(use[0].gpu_seconds, std::nullopt);
  EXPECT_EQ(use[0].busy_percent, std::nullopt);
}

TEST(AppleGpuTime, TwoGpusAreToldApart) {
  Book book;
  Client other = client(2, 0);
  other.device = 1;
  (void)book.look(0, {client(1, 0), other});
  other.gpu_ns = 50 * kMs;
  const auto use = book.look(500, {client(1, 0), other});
  ASSERT_EQ(use.size(), 2U);
  EXPECT_DOUBLE_EQ(use[0].busy_percent.value_or(-1), 0);
  EXPECT_DOUBLE_EQ(use[1].busy_percent.value_or(-1), 10);
}

// Process 42 has two clients, one of two queues; 7 another; the driver's own child has no creator.
constexpr std::string_view kTwoProcesses = R"(
process 42 1000
process 7 900
gpu AGXAcceleratorG15S
statistic Device_Utilization_% 0:1
client 0x101 42
queue 0:0 1000:250000000
queue 0:0 1000:50000000
client 0x102 42 from 500
queue 500:0 1000:100000000
client 0x103 7
queue 0:0 1000:125000000
client 0x104 7
creator -
client 0x105 7
creator kernel_task
)";

TEST(AppleGpuTime, AllQueuesOfAllClientsOfAProcess) {
  const FakeMac mac(kTwoProcesses);
  const auto meter = mac.meter();
  mac.at(500);
  (void)meter->process_use(std::array{42});
  mac.at(1000);
  const auto use = meter->process_use(std::array{42, 43});
  ASSERT_TRUE(use) << use.error().message;
  ASSERT_EQ(use->size(), 1U);
  EXPECT_EQ(use->front().pid, 42);
  EXPECT_EQ(use->front().device, 0);
  EXPECT_NEAR(use->front().gpu_seconds.value_or(-1), 0.4, 1e-9);
  EXPECT_NEAR(use->front().busy_percent.value_or(-1), 50, 1e-6);
  EXPECT_EQ(use->front().memory_bytes, std::nullopt);
}

TEST(AppleGpuTime, AWalkThatIsCutShortBeginsAnew) {
  const FakeMac mac("restless 5\n" + std::string(kTwoProcesses));
  const auto meter = mac.meter();  // four of the five
  mac.at(1000);
  const auto use = meter->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_NEAR(use->front().gpu_seconds.value_or(-1), 0.4, 1e-9) << "once, not twice";
}

TEST(AppleGpuTime, WithoutAWholeWalkTheLastCountersAreToldAgain) {
  const std::string scenario(kTwoProcesses);
  const FakeMac mac("fail IORegistryEntryGetChildIterator from 900 to 1100\n" + scenario);
  const auto meter = mac.meter();
  mac.at(800);
  (void)meter->process_use(std::array{42});
  mac.at(1000);
  const auto use = meter->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_NEAR(use->front().gpu_seconds.value_or(-1), 0.3, 1e-9);
  EXPECT_EQ(use->front().busy_percent, std::nullopt);
}

TEST(AppleGpuTime, AMakerThatCouldNotBeReadIsAskedAgain) {
  const FakeMac mac("fail IORegistryEntryCreateCFProperty to 100\n" + std::string(kTwoProcesses));
  const auto meter = mac.meter();
  mac.at(1000);
  const auto use = meter->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_NEAR(use->front().gpu_seconds.value_or(-1), 0.4, 1e-9);
}

TEST(AppleGpuTime, IntelsDriverHasItOnTheClient) {
  const FakeMac mac(
      "process 42 1\ngpu IntelAccelerator\nstatistic Device_Utilization_% 0:1\n"
      "client 0x7 42\nown-time 0:0 1000:70000000\n");
  const auto meter = mac.meter();
  mac.at(1000);
  const auto use = meter->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_NEAR(use->front().gpu_seconds.value_or(-1), 0.07, 1e-9);
}

TEST(AppleGpuTime, AClientWithoutAnyTimeIsNotIdle) {
  const FakeMac mac(
      "process 42 1\ngpu AGXAcceleratorG13G\nstatistic Device_Utilization_% 0:1\nclient 0x7 42\n");
  const auto use = mac.meter()->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_EQ(use->front().gpu_seconds, std::nullopt);
}

TEST(AppleGpuTime, ProcessesThatCannotBeToldApartAreAnError) {
  const FakeMac mac(kTwoProcesses);
  const auto functions =
      load_functions(mac.place().apple_libraries, "IORegistryEntryGetChildIterator");
  const auto meter = open(mac.place(), functions);
  ASSERT_TRUE(meter);
  const auto use = (*meter)->process_use(std::array{42});
  ASSERT_FALSE(use);
  EXPECT_EQ(use.error().message,
            "cannot tell processes apart: this system's IOKit does not list the clients of a GPU");
}

struct CreatorCase {
  const char* text;
  std::optional<int> pid;
};

TEST(AppleGpuTime, ProcessesByTheirCreatorsText) {
  const CreatorCase cases[] = {{"pid 42, render", 42},
                               {"pid 42", 42},
                               {"pid 42,", 42},
                               {"pid 42, pid 7, x", 42},
                               {"pid 0, kernel", {}},
                               {"pid -3, x", {}},
                               {"pid 42x, y", {}},
                               {"pid , x", {}},
                               {"pid 99999999999, x", {}},
                               {"42, x", {}},
                               {"", {}}};
  for (const CreatorCase& each : cases) {
    EXPECT_EQ(pid_of_creator(each.text), each.pid) << each.text;
  }
}

}  // namespace
}  // namespace picchio::meters::apple
