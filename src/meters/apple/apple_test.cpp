#include "meters/apple/apple.h"

#include "meters/apple/fake_mac.h"
#include "meters/apple/registry.h"
#include "meters/apple/reports.h"
#include "meters/missing_reason.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <utility>

namespace picchio::meters::apple {
namespace {

constexpr std::string_view kM4 = R"(
memory 17179869184
heat 0:0
process 42 1000
gpu AGXAcceleratorG16G
model Apple M4
cores 10
statistic In_use_system_memory_(driver) 0:0
statistic Alloc_system_memory 0:1574862848
statistic Device_Utilization_% 0:21 1000:21 1000:97
statistic In_use_system_memory 0:351141888 1000:351141888 1000:5000000000
client 0x101 42
queue 0:0 1000:0 2000:900000000
channel Energy_Model - CPU_Energy mJ 0:0 10000:99999
channel Energy_Model - GPU0_0 nJ 0:0 10000:7777777777
channel Energy_Model - GPU_SRAM nJ 0:0 10000:8888888888
channel Energy_Model - GPU_Energy nJ 0:5000 1000:500005000 2000:12500005000
channel GPU_Stats GPU_Performance_States GPUPH - 0:0
state OFF 0:0 1000:900
state P1 0:0 1000:50 2000:50
state P2 0:0 1000:50 2000:1050
clocks 0 500000000 1500000000
)";

TEST(Apple, WhatAMacTells) {
  const FakeMac mac(kM4);
  const auto meter = mac.meter();
  ASSERT_EQ(meter->devices().size(), 1U);
  const MeteredGpu& gpu = meter->devices()[0];
  EXPECT_EQ(gpu.meter, "apple");
  EXPECT_EQ(gpu.name, "Apple M4 GPU");
  EXPECT_EQ(gpu.driver, "AGXAcceleratorG16G");
  EXPECT_EQ(gpu.address, "");
  EXPECT_EQ(gpu.cores, 10);
  EXPECT_EQ(gpu.memory_bytes, 17179869184);
  EXPECT_TRUE(gpu.unified_memory);
  EXPECT_FALSE(gpu.busy_window_seconds) << "Apple does not say";
  ASSERT_EQ(gpu.missing.size(), 3U);
  EXPECT_EQ(reason(gpu, GpuFigure::temperature), "macOS tells it through private sensors only");
  EXPECT_EQ(reason(gpu, GpuFigure::link), "the GPU is a part of the chip");
  EXPECT_EQ(reason(gpu, GpuFigure::process_memory),
            "macOS does not tell GPU memory of single processes");

  mac.at(500);
  const GpuReading idle = meter->sample().at(0);
  EXPECT_EQ(idle.busy_percent, 21);
  EXPECT_EQ(idle.memory_bytes, 351141888);
  EXPECT_EQ(idle.throttling, Throttling{});
  EXPECT_NEAR(idle.energy_joules.value_or(-1), 0.25, 1e-9);
  EXPECT_EQ(idle.power_watts, std::nullopt) << "one move of the counter";
  EXPECT_EQ(idle.clock_mhz, 1000) << "as long at 500 as at 1500";
  EXPECT_EQ(idle.temperature_celsius, std::nullopt);

  mac.at(1000);
  EXPECT_NEAR(meter->sample().at(0).power_watts.value_or(-1), 0.5, 1e-9);
  mac.at(2000);
  const GpuReading busy = meter->sample().at(0);
  EXPECT_EQ(busy.busy_percent, 97);
  EXPECT_EQ(busy.memory_bytes, 5000000000);
  EXPECT_EQ(busy.clock_mhz, 1500);
  EXPECT_NEAR(busy.energy_joules.value_or(-1), 12.5, 1e-9) << "none of GPU0_0 and GPU SRAM";
  EXPECT_NEAR(busy.power_watts.value_or(-1), 12, 1e-9);
}

TEST(Apple, WithoutAMacThereIsNothingToTell) {
  const FakeMac mac(kM4);
  Place place = mac.place();
  place.apple_libraries = mac.tree().root() + "/nothing";
  const auto meter = probe(place);
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().kind, ErrorKind::not_found);
  EXPECT_EQ(meter.error().message, "no ioreg here");
}

TEST(Apple, ARegistryWithoutAGpuIsNoNews) {
  const FakeMac mac("memory 1\n");
  const auto meter = probe(mac.place());
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().kind, ErrorKind::not_found);
}

struct UnitCase {
  const char* label;
  std::optional<double> joules;
};

TEST(Apple, UnitsOfEnergyGoByTheChannelsLabel) {
  const UnitCase cases[] = {{"J", 1},      {"mJ", 1e-3},      {"uJ", 1e-6},      {"nJ", 1e-9},
                            {"pJ", 1e-12}, {"  nJ   ", 1e-9}, {"\u00b5J", 1e-6}, {"MJ", {}},
                            {"mW", {}},    {"", {}},          {"nJ/s", {}},      {"events", {}}};
  for (const UnitCase& each : cases) {
    EXPECT_EQ(joules_of_unit(each.label), each.joules) << each.label;
  }
}

/// One accelerator and one channel.
std::string with_channel(const std::string& channel) {
  return "memory 17179869184\nheat 0:0\ngpu AGXAcceleratorG13X\nmodel Apple M1 Max\n"
         "statistic Device_Utilization_% 0:50\nstatistic In_use_system_memory 0:1\n" +
         channel + "\n";
}

struct NoEnergyCase {
  const char* name;
  std::string channel;
  std::string_view reason;
};
void PrintTo(const NoEnergyCase& each, std::ostream* out) { *out << each.name; }

class AppleNoEnergy : public testing::TestWithParam<NoEnergyCase> {};

TEST_P(AppleNoEnergy, SaysWhy) {
  const FakeMac mac(with_channel(GetParam().channel));
  const auto meter = mac.meter();
  EXPECT_EQ(reason(meter->devices()[0], GpuFigure::energy), GetParam().reason);
  EXPECT_EQ(reason(meter->devices()[0], GpuFigure::power), "needs the counter of energy");
  for (const double ms : {100.0, 1000.0, 3000.0}) {
    mac.at(ms);
    const GpuReading reading = meter->sample().at(0);
    EXPECT_EQ(reading.energy_joules, std::nullopt);
    EXPECT_EQ(reading.power_watts, std::nullopt);
    EXPECT_EQ(reading.busy_percent, 50) << "the rest is told";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AppleNoEnergy,
    testing::Values(
        NoEnergyCase{"UnknownUnit", "channel Energy_Model - GPU_Energy kcal 0:0 5000:99",
                     "IOReport counts it in an unknown unit, 'kcal'"},
        NoEnergyCase{"PartsOnly", "channel Energy_Model - GPU0_0 nJ 0:0 5000:99",
                     "IOReport has no channel of the GPU's energy here"},
        NoEnergyCase{"NoGroup", "channel Other - GPU_Energy nJ 0:0 5000:99",
                     "IOReport has no group 'Energy Model' here"},
        NoEnergyCase{"Refused",
                     "fail IOReportCreateSubscription\nchannel Energy_Model - GPU_Energy nJ 0:0",
                     "IOReport does not hand out its group 'Energy Model'"},
        NoEnergyCase{"NoSample",
                     "fail IOReportCreateSamples\nchannel Energy_Model - GPU_Energy nJ 0:0",
                     "IOReport gives no sample of 'Energy Model'"}),
    [](const auto& each) { return each.param.name; });

TEST(Apple, SomeChipsCallTheChannelGpu) {
  const FakeMac mac(with_channel("channel Energy_Model - GPU mJ 0:0 1000:3000"));
  const auto meter = mac.meter();
  mac.at(1000);
  EXPECT_NEAR(meter->sample().at(0).energy_joules.value_or(-1), 3, 1e-9);
}

TEST(Apple, EnergyInBatchesIsStillTheSamePower) {
  // 10 W, published every 1050 ms: a look finds none or twice as much.
  const FakeMac mac(
      with_channel("channel Energy_Model - GPU_Energy mJ 0:0 60000:600000\nbatch 1050"));
  const auto meter = mac.meter();
  int told = 0;
  for (int ms = 100; ms <= 20000; ms += 100) {
    mac.at(ms);
    const GpuReading reading = meter->sample().at(0);
    if (!reading.power_watts) continue;
    ++told;
    EXPECT_NEAR(*reading.power_watts, 10, 1.0) << ms;
  }
  EXPECT_GT(told, 150);
  mac.at(20100);
  EXPECT_NEAR(meter->sample().at(0).energy_joules.value_or(-1), 199.5, 1e-6);
}

TEST(Apple, ASampleThatIsInvalidIsMadeUpForByTheNext) {
  const FakeMac mac(with_channel(
      "channel Energy_Model - GPU_Energy mJ 0:0 10000:50000\ninvalid from 450 to 950"));
  const auto meter = mac.meter();
  for (int ms = 100; ms <= 1500; ms += 100) {
    mac.at(ms);
    const GpuReading reading = meter->sample().at(0);
    if (ms > 450 && ms < 950) {
      EXPECT_EQ(reading.energy_joules, std::nullopt) << ms;
    } else {
      EXPECT_NEAR(reading.energy_joules.value_or(-1), 0.005 * ms, 1e-9) << ms;
    }
  }
}

struct CounterCase {
  const char* name;
  const char* channel;
  std::optional<double> joules_at_2000;
};

TEST(Apple, CountersThatMisbehave) {
  const CounterCase cases[] = {
      {"still", "channel Energy_Model - GPU_Energy mJ 0:7000", {}},
      {"set back", "channel Energy_Model - GPU_Energy mJ 0:9000 1000:10000 1000:0 2000:1000", 1.9},
      {"garbage", "channel Energy_Model - GPU_Energy mJ 0:0 1000:1000 1000:9e15 2000:9e15", 0.9},
      {"invalid all along", "channel Energy_Model - GPU_Energy mJ 0:0 2000:9\ninvalid", {}},
  };
  for (const CounterCase& each : cases) {
    const FakeMac mac(with_channel(each.channel));
    const auto meter = mac.meter();
    GpuReading reading;
    for (int ms = 100; ms <= 2000; ms += 100) {
      mac.at(ms);
      reading = meter->sample().at(0);
      if (reading.power_watts) {
        EXPECT_NEAR(*reading.power_watts, 1, 0.01) << each.name << " " << ms;
      }
    }
    ASSERT_EQ(reading.energy_joules.has_value(), each.joules_at_2000.has_value()) << each.name;
    if (each.joules_at_2000) {
      EXPECT_NEAR(*reading.energy_joules, *each.joules_at_2000, 1e-6) << each.name;
    }
  }
}

TEST(Apple, PowerOfACounterThatStoodStillIsNotTold) {
  const FakeMac mac(with_channel("channel Energy_Model - GPU_Energy mJ 0:0 2000:2000"));
  const auto meter = mac.meter();
  for (int ms = 100; ms <= 2000; ms += 100) {
    mac.at(ms);
    (void)meter->sample();
  }
  mac.at(3000);
  EXPECT_NEAR(meter->sample().at(0).power_watts.value_or(-1), 1, 1e-6);
  mac.at(9000);
  EXPECT_EQ(meter->sample().at(0).power_watts, std::nullopt);
  EXPECT_TRUE(meter->sample().at(0).energy_joules);
}

TEST(Apple, HeavyPressureIsThrottling) {
  for (int level = 0; level <= 4; ++level) {
    const FakeMac mac("heat 0:" + std::to_string(level) + "\ngpu AGXAcceleratorG14G\n");
    const auto meter = mac.meter();
    EXPECT_EQ(meter->sample().at(0).throttling, (Throttling{.thermal = level >= 2})) << level;
  }
  const FakeMac failing("heat 0:3\nfail notify_get_state\ngpu AGXAcceleratorG14G\n");
  EXPECT_EQ(failing.meter()->sample().at(0).throttling, std::nullopt);
}

TEST(Apple, AVirtualMachinesGpuTellsLittleAndSaysSo) {
  const FakeMac mac("memory 8589934592\ngpu AppleParavirtGPU\n");
  const auto meter = mac.meter();
  const MeteredGpu& gpu = meter->devices()[0];
  EXPECT_EQ(gpu.name, "AppleParavirtGPU");
  EXPECT_TRUE(gpu.unified_memory);
  EXPECT_EQ(gpu.cores, std::nullopt);
  EXPECT_EQ(reason(gpu, GpuFigure::busy), "its driver tells no utilisation");
  EXPECT_EQ(reason(gpu, GpuFigure::memory),
            "its driver does not tell how much of the system's is in use");
  EXPECT_EQ(reason(gpu, GpuFigure::energy), "IOReport covers the GPU of Apple's own chips only");
  EXPECT_EQ(reason(gpu, GpuFigure::clocks), "IOReport covers the GPU of Apple's own chips only");
  EXPECT_EQ(reason(gpu, GpuFigure::throttling), "no notice of thermal pressure here");
  const GpuReading reading = meter->sample().at(0);
  EXPECT_EQ(reading.busy_percent, std::nullopt);
  EXPECT_EQ(reading.memory_bytes, std::nullopt);
  EXPECT_EQ(reading.throttling, std::nullopt);
}

TEST(Apple, CardsOfIntelMacsHaveKeysOfTheirOwn) {
  const FakeMac mac(
      "memory 34359738368\ngpu AMDRadeonX6000_AMDNavi14GraphicsAccelerator\n"
      "model-bytes AMD Radeon Pro 5500M\nstatistic GPU_Activity(%) 0:40\n"
      "statistic Temperature(C) 0:61\nstatistic Core_Clock(MHz) 0:1300\n"
      "statistic In_use_system_memory 0:99\n");
  const auto meter = mac.meter();
  const MeteredGpu& gpu = meter->devices()[0];
  EXPECT_EQ(gpu.name, "AMD Radeon Pro 5500M");
  EXPECT_FALSE(gpu.unified_memory);
  EXPECT_EQ(gpu.memory_bytes, std::nullopt);
  EXPECT_EQ(reason(gpu, GpuFigure::memory), "the memory of cards in a Mac is not read");
  EXPECT_EQ(reason(gpu, GpuFigure::clocks), "");
  const GpuReading reading = meter->sample().at(0);
  EXPECT_EQ(reading.busy_percent, 40);
  EXPECT_EQ(reading.temperature_celsius, 61);
  EXPECT_EQ(reading.clock_mhz, 1300);
  EXPECT_EQ(reading.memory_bytes, std::nullopt);
}

TEST(Apple, FiguresThatCannotBeAreNone) {
  const FakeMac mac(
      "gpu AGXAcceleratorG13G_B0\nodd-statistic Device_Utilization_%\n"
      "statistic In_use_system_memory 0:-5\nstatistic Temperature(C) 0:9999\n");
  const GpuReading reading = mac.meter()->sample().at(0);
  EXPECT_EQ(reading.busy_percent, std::nullopt) << "a text is no number";
  EXPECT_EQ(reading.memory_bytes, std::nullopt);
  EXPECT_EQ(reading.temperature_celsius, std::nullopt);
  for (const auto& [told, busy] : {std::pair{"100", std::optional(100.0)},
                                   {"104", std::optional(100.0)},
                                   {"4294967295", std::optional<double>()},
                                   {"-1", std::optional<double>()}}) {
    const FakeMac odd(
        "gpu AGXAcceleratorG13G_B0\nstatistic Device_Utilization_% 0:" + std::string(told) + "\n");
    EXPECT_EQ(odd.meter()->sample().at(0).busy_percent, busy) << told;
  }
}

std::vector<unsigned char> table(std::initializer_list<std::uint32_t> clocks) {
  std::vector<unsigned char> bytes;
  for (const std::uint32_t clock : clocks) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<unsigned char>(clock >> shift));
    }
    bytes.insert(bytes.end(), {1, 2, 3, 4});
  }
  return bytes;
}

TEST(Apple, ClocksAreHzOnSomeChipsAndKhzOnOthers) {
  const std::vector<double> expected = {396, 1398};
  EXPECT_EQ(clocks_of_table(table({0, 396'000'000, 1'398'000'000})), expected);
  EXPECT_EQ(clocks_of_table(table({0, 396'000, 1'398'000})), expected);
  EXPECT_TRUE(clocks_of_table(table({0, 396, 1398})).empty()) << "not known to happen";
  EXPECT_TRUE(clocks_of_table(table({0, 1'398'000, 396'000})).empty()) << "not ascending";
  EXPECT_TRUE(clocks_of_table(table({0})).empty());
  EXPECT_TRUE(clocks_of_table({}).empty());
  auto cut = table({0, 396'000});
  cut.pop_back();
  EXPECT_TRUE(clocks_of_table(cut).empty());
}

TEST(Apple, ATableThatDoesNotFitTheStatesIsNotGuessedAt) {
  std::string scenario(kM4);
  scenario += "clocks 1700000000\n";
  const FakeMac mac(scenario);
  const auto meter = mac.meter();
  EXPECT_EQ(reason(meter->devices()[0], GpuFigure::clocks),
            "2 performance states, but a table of 3 clocks");
  EXPECT_EQ(meter->sample().at(0).clock_mhz, std::nullopt);
}

TEST(Apple, AGpuThatWasOffHasNoClock) {
  std::string scenario(kM4);
  const std::string from = "state P2 0:0 1000:50 2000:1050";
  scenario.replace(scenario.find(from), from.size(), "state P2 0:0 1000:50 2000:50");
  const FakeMac mac(scenario);
  const auto meter = mac.meter();
  mac.at(1000);
  EXPECT_EQ(meter->sample().at(0).clock_mhz, 1000);
  mac.at(2000);
  EXPECT_EQ(meter->sample().at(0).clock_mhz, std::nullopt);
}

/// Looks a few times and says what was told at all.
std::string figures_without(const FakeMac& mac, std::string_view name) {
  mac.at(0);
  const auto meter = open(mac.place(), load_functions(mac.place().apple_libraries, name));
  if (!meter) return "error: " + meter.error().message;
  std::string told;
  GpuReading reading;
  for (const double ms : {500.0, 1000.0, 1500.0}) {
    mac.at(ms);
    reading = (*meter)->sample().at(0);
    (void)(*meter)->process_use(std::array{42});
  }
  mac.at(2000);
  const auto use = (*meter)->process_use(std::array{42});
  if (reading.busy_percent) told += "busy ";
  if (reading.memory_bytes) told += "memory ";
  if (reading.energy_joules) told += "energy ";
  if (reading.power_watts) told += "power ";
  if (reading.clock_mhz) told += "clocks ";
  if (reading.throttling) told += "throttling ";
  if (use && !use->empty() && use->front().gpu_seconds) told += "processes ";
  return told;
}

TEST(Apple, EveryNameInEveryLibraryMayBeMissing) {
  const FakeMac mac(kM4);
  const std::string all = "busy memory energy power clocks throttling processes ";
  EXPECT_EQ(figures_without(mac, "none of them"), all);
  // Names without which a part is still told; without any other there is no registry, and here no
  // ioreg either.
  const std::string no_reports = "busy memory throttling processes ";
  const std::string no_clock = "busy memory energy power throttling processes ";
  const std::string no_heat = "busy memory energy power clocks processes ";
  const std::string no_processes = "busy memory energy power clocks throttling ";
  const std::string no_energy = "busy memory clocks throttling processes ";
  const std::map<std::string_view, std::string> expected = {
      {"CFDataGetTypeID", no_clock},
      {"CFDataGetLength", no_clock},
      {"CFDataGetBytePtr", no_clock},
      {"IOIteratorIsValid", all},
      {"IOIteratorReset", all},
      {"IOObjectGetClass", no_reports},  // nothing says that it is Apple's
      {"IORegistryEntryGetName", no_clock},
      {"IORegistryEntryGetRegistryEntryID", no_processes},
      {"IORegistryEntryGetChildIterator", no_processes},
      {"IOReportCopyChannelsInGroup", no_reports},
      {"IOReportCreateSubscription", no_reports},
      {"IOReportCreateSamples", no_reports},
      {"IOReportCreateSamplesDelta", no_reports},
      {"IOReportChannelGetChannelName", no_reports},
      {"IOReportChannelGetUnitLabel", no_energy},
      {"IOReportSimpleGetIntegerValue", no_energy},
      {"IOReportStateGetCount", no_clock},
      {"IOReportStateGetNameForIndex", no_clock},
      {"IOReportStateGetResidency", no_clock},
      {"sysctlbyname", all},
      {"notify_register_check", no_heat},
      {"notify_get_state", no_heat},
      {"notify_cancel", no_heat},  // a token that nobody takes back is not asked for
      {"proc_pidinfo", all},
  };
  for (const std::string_view name : function_names()) {
    const auto found = expected.find(name);
    EXPECT_EQ(figures_without(mac, name),
              found == expected.end() ? "error: no ioreg here" : found->second)
        << name;
  }
}

TEST(Apple, WholeLibrariesMayBeMissing) {
  FakeMac mac(kM4);
  const auto no_report = probe(mac.place_with({"CoreFoundation", "IOKit", "libSystem.B.dylib"}));
  ASSERT_TRUE(no_report) << no_report.error().message;
  EXPECT_EQ(reason((*no_report)->devices()[0], GpuFigure::energy), "this system has no IOReport");
  const auto no_system = probe(mac.place_with({"CoreFoundation", "IOKit", "libIOReport.dylib"}));
  ASSERT_TRUE(no_system) << no_system.error().message;
  EXPECT_EQ((*no_system)->devices()[0].memory_bytes, std::nullopt);
  EXPECT_EQ((*no_system)->sample().at(0).busy_percent, 21);
  EXPECT_FALSE(probe(mac.place_with({"IOKit", "libIOReport.dylib"})));
}

TEST(Apple, CallsThatFailTellNothingAndAreAskedAgain) {
  for (const char* function :
       {"IORegistryEntryCreateCFProperty", "IOReportCreateSamples", "IOReportCreateSamplesDelta",
        "IORegistryEntryGetChildIterator", "IORegistryEntryGetRegistryEntryID"}) {
    const FakeMac mac("fail " + std::string(function) + " from 900 to 1100\n" + std::string(kM4));
    const auto meter = mac.meter();
    for (const double ms : {500.0, 1000.0, 1500.0}) {
      mac.at(ms);
      const GpuReading reading = meter->sample().at(0);
      (void)meter->process_use(std::array{42});
      if (ms != 1000) {
        EXPECT_TRUE(reading.busy_percent && reading.energy_joules) << function << ms;
      }
    }
  }
}

}  // namespace
}  // namespace picchio::meters::apple
