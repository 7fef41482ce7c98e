// The text of ioreg, and the meter that runs ioreg where IOKit cannot be had.
#include "meters/apple/ioreg_text.h"

#include "meters/apple/fake_mac.h"
#include "os/signals.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <ostream>

namespace picchio::meters::apple {
namespace {

struct DeviceCase {
  const char* name;
  std::string text;
  std::string io_class;
  std::string model;
  std::optional<int> cores;
  std::optional<double> busy;
  std::optional<std::int64_t> memory;
};
void PrintTo(const DeviceCase& each, std::ostream* out) { *out << each.name; }

class IoregDevice : public testing::TestWithParam<DeviceCase> {};

TEST_P(IoregDevice, IsRead) {
  const DeviceCase& each = GetParam();
  const IoregLook look = parse_ioreg(each.text);
  ASSERT_EQ(look.accelerators.size(), 1U);
  ASSERT_EQ(look.statistics.size(), 1U);
  EXPECT_EQ(look.accelerators[0].io_class, each.io_class);
  EXPECT_EQ(look.accelerators[0].model, each.model);
  EXPECT_EQ(look.accelerators[0].cores, each.cores);
  EXPECT_EQ(look.statistics[0].busy_percent, each.busy);
  EXPECT_EQ(look.statistics[0].memory_bytes, each.memory);
  EXPECT_TRUE(look.clients.empty());
}

std::string statistics(const std::string& entries) {
  return "+-o G  <class AGXAcceleratorG16G, id 0x1, active>\n"
         "      \"PerformanceStatistics\" = " +
         entries + "\n";
}

INSTANTIATE_TEST_SUITE_P(
    All, IoregDevice,
    testing::Values(
        DeviceCase{"M4DriversPartFirst",
                   "+-o AGXAcceleratorG16G  <class AGXAcceleratorG16G, id 0x10000050b, registered, "
                   "matched, active, busy 0 (655 ms), retain 51>\n    {\n"
                   "      \"model\" = \"Apple M4\"\n      \"gpu-core-count\" = 10\n"
                   "      \"PerformanceStatistics\" = {\"In use system memory (driver)\"=0,\"Alloc "
                   "system memory\"=1574862848,\"Tiler Utilization %\"=20,\"recoveryCount\"=0,"
                   "\"Renderer Utilization %\"=19,\"Device Utilization %\"=21,\"In use system "
                   "memory\"=351141888}\n    }\n",
                   "AGXAcceleratorG16G", "Apple M4", 10, 21, 351141888},
        DeviceCase{"M1KeysInAnotherOrder",
                   "+-o AGXAcceleratorG13G_B0  <class AGXAcceleratorG13G_B0, id 0x1>\n"
                   "      \"IONameMatch\" = (\"gpu,t8103\")\n"
                   "      \"PerformanceStatistics\" = {\"In use system memory\"=730251264,\"Device "
                   "Utilization %\"=14,\"In use system memory (driver)\"=7}\n"
                   "      \"model\" = \"Apple M1\"\n      \"gpu-core-count\" = 8\n",
                   "AGXAcceleratorG13G_B0", "Apple M1", 8, 14, 730251264},
        DeviceCase{"BlanksAroundTheSigns",
                   "+-o G  <class AGXAcceleratorG14X, id 0x1>\n"
                   "  \"PerformanceStatistics\" = { \"In use system memory\" = 3221225472 , "
                   "\"Device Utilization %\" = 5 }\n",
                   "AGXAcceleratorG14X",
                   "",
                   {},
                   5,
                   3221225472},
        DeviceCase{"PropertiesAlone",
                   "\"PerformanceStatistics\" = {\"Renderer Utilization %\"=58,\"Device "
                   "Utilization %\"=95,\"In use system memory\"=1234}\n\"gpu-core-count\" = 18\n",
                   "", "", 18, 95, 1234},
        DeviceCase{"DeepInAWholeRegistry",
                   "+-o Root  <class IORegistryEntry, id 0x100000100, retain 30>\n"
                   "  | {\n  |   \"model\" = \"Mac\"\n  | }\n"
                   "  +-o J413AP  <class IOPlatformExpertDevice, id 0x1>\n"
                   "    | \"model\" = <\"Mac14,2\">\n"
                   "    +-o sgx@4000000  <class AppleARMIODevice, id 0x2>\n"
                   "    | | \"gpu-core-count\" = 99\n"
                   "    | +-o G  <class AGXAcceleratorG14G, id 0x3>\r\n"
                   "    | | | \"model\" = \"Apple M2\"\r\n"
                   "    | | | \"PerformanceStatistics\" = {\"Device Utilization %\"=3}\r\n"
                   "    +-o other  <class X, id 0x4>\n    |   \"model\" = \"not this\"\n",
                   "AGXAcceleratorG14G",
                   "Apple M2",
                   {},
                   3,
                   {}},
        DeviceCase{"NestedValuesAreStepsOver",
                   statistics("{\"a\"={\"Device Utilization %\"=77},\"b\"=(1,{\"In use system "
                              "memory\"=9},\"},{\"),\"Device Utilization %\"=12}"),
                   "AGXAcceleratorG16G",
                   "",
                   {},
                   12,
                   {}},
        DeviceCase{"AKeyInAText",
                   statistics("{\"x\"=\"Device Utilization %\",\"y\"=\"=99\",\"Device Utilization "
                              "%\"=12}"),
                   "AGXAcceleratorG16G",
                   "",
                   {},
                   12,
                   {}},
        DeviceCase{"CutOffInTheList",
                   statistics("{\"In use system memory\"=55,\"Device Utilization %\"=9"),
                   "AGXAcceleratorG16G",
                   "",
                   {},
                   {},
                   55},
        DeviceCase{"NumbersThatCannotBe",
                   statistics("{\"In use system memory\"=18446744073709551615,\"Device Utilization "
                              "%\"=4294967295}"),
                   "AGXAcceleratorG16G",
                   "",
                   {},
                   {},
                   {}},
        DeviceCase{"NoNumbers",
                   statistics("{\"In use system memory\"=\"5\",\"Device Utilization %\"=Yes}"),
                   "AGXAcceleratorG16G",
                   "",
                   {},
                   {},
                   {}},
        DeviceCase{"WithoutStatistics",
                   "+-o G  <class AppleParavirtAccelerator, id 0x1>\n  \"model\" = 5\n",
                   "AppleParavirtAccelerator",
                   "",
                   {},
                   {},
                   {}},
        DeviceCase{"TheFirstOfTwoLists",
                   statistics("{\"Device Utilization %\"=12}") +
                       "  \"PerformanceStatistics\" = {\"Device Utilization %\"=13}\n",
                   "AGXAcceleratorG16G",
                   "",
                   {},
                   12,
                   {}},
        DeviceCase{"IntelModelAsBytes",
                   "+-o I  <class IntelAccelerator, id 0x1>\n  \"model\" = <\"Intel Iris\">\n",
                   "IntelAccelerator",
                   "Intel Iris",
                   {},
                   {},
                   {}}),
    [](const auto& each) { return each.param.name; });

struct ClientCase {
  const char* name;
  std::string text;
  int device;
  std::uint64_t id;
  int pid;
  std::optional<std::int64_t> ns;
};
void PrintTo(const ClientCase& each, std::ostream* out) { *out << each.name; }

class IoregClient : public testing::TestWithParam<ClientCase> {};

TEST_P(IoregClient, IsRead) {
  const ClientCase& each = GetParam();
  const IoregLook look = parse_ioreg(each.text);
  ASSERT_EQ(look.clients.size(), 1U);
  EXPECT_EQ(look.clients[0].device, each.device);
  EXPECT_EQ(look.clients[0].id, each.id);
  EXPECT_EQ(look.clients[0].pid, each.pid);
  EXPECT_EQ(look.clients[0].gpu_ns, each.ns);
}

constexpr const char* kDevice =
    "+-o AGXAcceleratorG13X  <class AGXAcceleratorG13X, id 0x10, active>\n"
    "  | \"PerformanceStatistics\" = {\"Device Utilization %\"=3}\n";

std::string client_of(const std::string& properties, const std::string& device = kDevice) {
  return device + "  +-o AGXDeviceUserClient  <class AGXDeviceUserClient, id 0x101, active>\n" +
         properties;
}

INSTANTIATE_TEST_SUITE_P(
    All, IoregClient,
    testing::Values(
        ClientCase{"TimeBeforeTheCreator",
                   client_of("  |   {\n  |     \"AppUsage\" = ({\"API\"=\"Metal\","
                             "\"lastSubmittedTime\"=1000000000,\"accumulatedGPUTime\"=200000000})\n"
                             "  |     \"IOUserClientCreator\" = \"pid 42, render\"\n"
                             "  |     \"CommandQueueCount\" = 2\n  |   }\n"),
                   0, 0x101, 42, 200000000},
        ClientCase{"TheCreatorFirst",
                   client_of("   \"IOUserClientCreator\" = \"pid 42, render\"\n"
                             "   \"AppUsage\" = ({\"accumulatedGPUTime\"=7})\n"),
                   0, 0x101, 42, 7},
        ClientCase{"TwoQueues",
                   client_of("   \"AppUsage\" = ({\"API\"=\"Metal\",\"accumulatedGPUTime\"="
                             "250000000},{\"API\"=\"Metal\",\"accumulatedGPUTime\"=50000000})\n"
                             "   \"IOUserClientCreator\" = \"pid 4242, x\"\n"),
                   0, 0x101, 4242, 300000000},
        ClientCase{"NoQueue",
                   client_of("   \"AppUsage\" = ()\n   \"IOUserClientCreator\" = \"pid 5, x\"\n"),
                   0,
                   0x101,
                   5,
                   {}},
        ClientCase{"CutOffBetweenQueues",
                   client_of("   \"AppUsage\" = ({\"accumulatedGPUTime\"=7},{\"accumul\n"
                             "   \"IOUserClientCreator\" = \"pid 5, x\"\n"),
                   0,
                   0x101,
                   5,
                   {}},
        ClientCase{
            "TimeOnTheClient",
            client_of("   \"accumulatedGPUTime\" = 99\n   \"IOUserClientCreator\" = \"pid 5, "
                      "x\"\n"),
            0, 0x101, 5, 99},
        ClientCase{"WithoutItsDevice",
                   client_of("   \"IOUserClientCreator\" = \"pid 5, x\"\n", ""),
                   -1,
                   0x101,
                   5,
                   {}},
        ClientCase{"AnEvilName",
                   client_of("   \"IOUserClientCreator\" = \"pid 5, \",\"pid 7, x\"\n"
                             "   \"AppUsage\" = ({\"accumulatedGPUTime\"=7})\n"),
                   0, 0x101, 5, 7},
        ClientCase{"AnUnsignedTimeTooLarge",
                   client_of("   \"AppUsage\" = ({\"accumulatedGPUTime\"=18446744073709551615})\n"
                             "   \"IOUserClientCreator\" = \"pid 5, x\"\n"),
                   0,
                   0x101,
                   5,
                   {}},
        ClientCase{"ASumTooLarge",
                   client_of("   \"AppUsage\" = ({\"accumulatedGPUTime\"=9223372036854775807},"
                             "{\"accumulatedGPUTime\"=9})\n"
                             "   \"IOUserClientCreator\" = \"pid 5, x\"\n"),
                   0, 0x101, 5, 9223372036854775807}),
    [](const auto& each) { return each.param.name; });

TEST(IoregText, ClientsBelongToTheGpuAroundThem) {
  const IoregLook look = parse_ioreg(
      "+-o A  <class AGXAcceleratorG13D, id 0x1>\n"
      "| +-o C  <class AGXDeviceUserClient, id 0x11>\n"
      "|     \"IOUserClientCreator\" = \"pid 1, a\"\n"
      "+-o B  <class AMDRadeonAccelerator, id 0x2>\n"
      "  +-o C  <class X, id 0x21>\n"
      "  |   \"IOUserClientCreator\" = \"pid 2, b\"\n"
      "  +-o D  <class X, id 0x22>\n"
      "      \"IOUserClientCreator\" = \"pid 3, c\"\n"
      "+-o Other  <class Y, id 0x3>\n"
      "  +-o E  <class X, id 0x31>\n"
      "      \"IOUserClientCreator\" = \"pid 4, d\"\n");
  ASSERT_EQ(look.accelerators.size(), 2U);
  ASSERT_EQ(look.clients.size(), 4U);
  const std::array devices = {0, 1, 1, -1};
  for (std::size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(look.clients[i].device, devices[i]);
    EXPECT_EQ(look.clients[i].pid, static_cast<int>(i) + 1);
  }
}

TEST(IoregText, EveryCutOfItReadsWithoutMakingUpTime) {
  const std::string whole = client_of(
      "   \"AppUsage\" = ({\"accumulatedGPUTime\"=2500},{\"accumulatedGPUTime\"=500})\n"
      "   \"IOUserClientCreator\" = \"pid 4242, x\"\n");
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    for (const Client& client : parse_ioreg(whole.substr(0, size)).clients) {
      EXPECT_EQ(client.pid, 4242) << size;
      EXPECT_EQ(client.gpu_ns, 3000) << size;
    }
  }
}

TEST(IoregText, HostileTextTakesNoMoreThanItsLength) {
  const std::size_t size = 1U << 20U;
  const auto repeat = [&](const std::string& part) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  const std::string head = "+-o G  <class AGXAccelerator, id 0x1>\n\"PerformanceStatistics\" = {";
  const std::string texts[] = {
      std::string(size, '('),
      head + "\"a\"=" + std::string(size, '{') + "\n",
      head + "\"a\"=" + repeat("({") + "\n",
      head + repeat("\"a\"=1,") + "\n",
      head + repeat("\"") + "\n",
      "\"AppUsage\" = (" + repeat("{\"accumulatedGPUTime\"=1},") + "\n",
      repeat("+-o "),
      repeat("+-o x\n"),
      repeat("+-o x <class "),
      repeat("+-o x <class Accelerator, id 0x1>\n"),
      repeat("+-o x <class X, id 0x1>\n\"IOUserClientCreator\" = \"pid 5\"\n"),
      repeat("| "),
      std::string(size, '\n'),
      std::string(size, '\0'),
      repeat("\"model\" = \"" + std::string(100, 'm') + "\"\n"),
  };
  // Half a minute is what a reader that goes back over a line would take many times over.
  const auto began = std::chrono::steady_clock::now();
  for (const std::string& text : texts) {
    const IoregLook look = parse_ioreg(text);
    EXPECT_LE(look.accelerators.size(), 64U);
    EXPECT_LE(look.clients.size(), 65536U);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

/// A program in ioreg's place that prints what stands in a file.
class FakeIoreg {
 public:
  FakeIoreg() : mac_("memory 1000\n"), interrupts_(os::Interrupts::install()) {
    mac_.tree().file("/ioreg", "#!/bin/sh\necho \"$*\" >>" + mac_.tree().root() +
                                   "/asked\nexec cat " + mac_.tree().root() + "/text\n");
    std::filesystem::permissions(mac_.tree().root() + "/ioreg", std::filesystem::perms::owner_all);
  }

  void print(const std::string& text) const { mac_.tree().file("/text", text); }
  void at(double ms) const { mac_.at(ms); }

  [[nodiscard]] Result<std::unique_ptr<Meter>> probe() {
    Place place = mac_.place_with({"libSystem.B.dylib"});
    place.interrupts = &*interrupts_;
    return apple::probe(place);
  }

  [[nodiscard]] int runs() const {
    std::ifstream asked(mac_.tree().root() + "/asked");
    int count = 0;
    for (std::string line; std::getline(asked, line); ++count) {
      EXPECT_EQ(line, "-r -c IOAccelerator -l -w 0");
    }
    return count;
  }

 private:
  FakeMac mac_;
  Result<os::Interrupts> interrupts_;
};

std::string registry(int busy, std::int64_t ns) {
  return fmt::format(
      "+-o AGXAcceleratorG13X  <class AGXAcceleratorG13X, id 0x10, active>\n"
      "  | \"model\" = \"Apple M1 Max\"\n  | \"gpu-core-count\" = 32\n"
      "  | \"PerformanceStatistics\" = {{\"Device Utilization %\"={}}}\n"
      "  +-o AGXDeviceUserClient  <class AGXDeviceUserClient, id 0x101, active>\n"
      "      \"AppUsage\" = ({{\"accumulatedGPUTime\"={}}})\n"
      "      \"IOUserClientCreator\" = \"pid 42, llama\"\n",
      busy, ns);
}

TEST(Ioreg, IsReadWhereIOKitCannotBeHad) {
  FakeIoreg ioreg;
  ioreg.print(registry(7, 0));
  const auto meter = ioreg.probe();
  ASSERT_TRUE(meter) << meter.error().message;
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(gpu.name, "Apple M1 Max GPU");
  EXPECT_EQ(gpu.cores, 32);
  EXPECT_EQ(gpu.memory_bytes, 1000);
  ioreg.at(600);
  ioreg.print(registry(90, 300'000'000));
  EXPECT_EQ((*meter)->sample().at(0).busy_percent, 90);
  const auto use = (*meter)->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_NEAR(use->front().busy_percent.value_or(-1), 50, 1e-6);
}

TEST(Ioreg, IsRunAtMostTwiceASecond) {
  FakeIoreg ioreg;
  ioreg.print(registry(7, 0));
  const auto meter = ioreg.probe();
  ASSERT_TRUE(meter) << meter.error().message;
  int told = 0;
  for (int ms = 100; ms <= 2000; ms += 100) {
    ioreg.at(ms);
    if ((*meter)->sample().at(0).busy_percent) ++told;
    (void)(*meter)->process_use(std::array{42});
  }
  EXPECT_EQ(ioreg.runs(), 5) << "once at opening";
  EXPECT_EQ(told, 4) << "a look is told once";
}

TEST(Ioreg, ThatFailsOrListsNothing) {
  FakeIoreg ioreg;
  const auto failing = ioreg.probe();  // no text to print
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.error().kind, ErrorKind::failed);
  EXPECT_TRUE(failing.error().message.ends_with("did not list the GPUs: it ended with status 1"))
      << failing.error().message;
  ioreg.print("");
  const auto empty = ioreg.probe();
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::not_found);
}

TEST(Ioreg, AGpuThatWentAwayIsNotTold) {
  FakeIoreg ioreg;
  ioreg.print(registry(7, 0));
  const auto meter = ioreg.probe();
  ASSERT_TRUE(meter) << meter.error().message;
  ioreg.at(600);
  ioreg.print("");
  EXPECT_EQ((*meter)->sample().at(0).busy_percent, std::nullopt);
}

}  // namespace
}  // namespace picchio::meters::apple
