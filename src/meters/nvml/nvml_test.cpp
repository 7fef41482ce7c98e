#include "meters/nvml/nvml.h"

#include "meters/nvml/fake_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

namespace picchio::meters::nvml {
namespace {

// Time goes on by a tenth of a second with each look, so no test sleeps. The look at opening is the
// one at 0.
constexpr std::string_view kDesktop = R"(
driver 550.54.14
step nvmlDeviceGetPowerUsage 100
gpu NVIDIA GeForce RTX 4090
bus 00000000:61:00
memory 25757220864 500000000
used 0:300000000 300:300000000 500:5000000000
busy 0:3 300:3 300:96
power 0:20 300:20 300:320
clock 0:210 300:210 300:2520
memory-clock 0:405 300:405 300:10501
temperature 0:41
throttle 0:1 300:1 300:4
max-memory-clock 10501
bus-width 384
link 1 16 4 16
process compute 4242 from 300 sm 80 memory 300:0 500:4700000000
process graphics 4242 from 300 memory 300:0 500:4700000000
process graphics 900 sm 2 memory 0:200000000
)";

std::vector<GpuFigure> figures_of(const std::vector<MissingFigure>& missing) {
  std::vector<GpuFigure> figures;
  for (const MissingFigure& one : missing) figures.push_back(one.figure);
  std::ranges::sort(figures);
  return figures;
}

std::string reason_for(const MeteredGpu& gpu, GpuFigure figure) {
  const auto found = std::ranges::find(gpu.missing, figure, &MissingFigure::figure);
  return found == gpu.missing.end() ? std::string("it is there") : found->reason;
}

/// The reading that follows `looks` others after the opening.
GpuReading look(Meter& meter, int looks, std::size_t device = 0) {
  for (int i = 0; i < looks; ++i) (void)meter.sample();
  return meter.sample().at(device);
}

TEST(Nvml, WhatADesktopCardTells) {
  const FakeMachine machine(kDesktop);
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  ASSERT_EQ((*meter)->devices().size(), 1U);
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(gpu.meter, "nvml");
  EXPECT_EQ(gpu.name, "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(gpu.address, "0000:61:00.0");
  EXPECT_EQ(gpu.driver, "550.54.14");
  EXPECT_EQ(gpu.memory_bytes, 25757220864);
  EXPECT_FALSE(gpu.unified_memory);
  EXPECT_EQ(gpu.busy_window_seconds, 1.0);
  // "1008 GB/s, 384-bit DDR @10501MHz" is what NVIDIA's own benchmark prints for this card.
  ASSERT_TRUE(gpu.peak_bytes_per_second);
  EXPECT_NEAR(*gpu.peak_bytes_per_second, 1008e9, 0.5e9);
  EXPECT_EQ(gpu.link_max, (PcieLink{4, 16}));
  EXPECT_TRUE(gpu.missing.empty()) << gpu.missing.front().reason;

  const GpuReading idle = look(**meter, 0);  // at 100 ms
  EXPECT_EQ(idle.busy_percent, 3);
  EXPECT_EQ(idle.memory_bytes, 300000000);
  EXPECT_EQ(idle.power_watts, 20);
  EXPECT_EQ(idle.clock_mhz, 210);
  EXPECT_EQ(idle.memory_clock_mhz, 405);
  EXPECT_EQ(idle.temperature_celsius, 41);
  EXPECT_EQ(idle.throttling, Throttling{}) << "idle is no throttling";
  EXPECT_EQ(idle.link, (PcieLink{1, 16}));
  EXPECT_EQ(idle.lost, "");
  EXPECT_TRUE(idle.given_up.empty());

  const GpuReading busy = look(**meter, 4);  // at 600 ms
  EXPECT_EQ(busy.busy_percent, 96);
  EXPECT_EQ(busy.memory_bytes, 5000000000);
  EXPECT_EQ(busy.power_watts, 320);
  EXPECT_EQ(busy.throttling, (Throttling{.power_cap = true}));
}

TEST(Nvml, EnergyIsTheAreaUnderPower) {
  const FakeMachine machine(kDesktop);
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  // The counter is read after the power whose call moves the time: at 200 and at 1200 ms.
  const auto before = look(**meter, 0).energy_joules;
  const auto after = look(**meter, 9).energy_joules;
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(*after - *before, 0.1 * 20 + 0.9 * 320, 1e-6);
}

TEST(Nvml, OneProcessAmongOthers) {
  const FakeMachine machine(kDesktop);
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const std::array<int, 2> engine = {4242, 4243};
  const auto none = (*meter)->process_use(engine);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty());
  (void)look(**meter, 4);  // at 500 ms: time moves on to 600
  const auto use = (*meter)->process_use(engine);
  ASSERT_TRUE(use) << use.error().message;
  ASSERT_EQ(use->size(), 1U);
  EXPECT_EQ(use->front().pid, 4242);
  EXPECT_EQ(use->front().device, 0);
  EXPECT_EQ(use->front().memory_bytes, 4700000000) << "the same memory in two lists";
  EXPECT_EQ(use->front().busy_percent, 80);
  EXPECT_FALSE(use->front().gpu_seconds);
  // Nothing new since: no figure, not zero.
  const auto again = (*meter)->process_use(engine);
  ASSERT_TRUE(again);
  ASSERT_EQ(again->size(), 1U);
  EXPECT_EQ(again->front().busy_percent, std::nullopt);
}

TEST(Nvml, AProcessThatOthersLeaveNothingIsIdle) {
  const FakeMachine machine(
      "step nvmlDeviceGetPowerUsage 100\ngpu A\nmemory 1000\npower 0:1\n"
      "process compute 42 memory 0:500\nprocess compute 43 sm 99 memory 0:100\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  (void)look(**meter, 0);
  const auto use = (*meter)->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_EQ(use->front().busy_percent, 0);
  EXPECT_EQ(use->front().memory_bytes, 500);
}

TEST(Nvml, ClosesWhatItOpened) {
  const FakeMachine machine(kDesktop);
  const std::string path = machine.place().nvml_library;
  const std::array names = {path.c_str()};
  const auto library = os::DynamicLibrary::open("the fake", names);
  ASSERT_TRUE(library) << library.error().message;
  int (*started)() = nullptr;
  ASSERT_TRUE(library->load("fakeNvmlStarted", started));
  {
    const auto meter = probe(machine.place());
    ASSERT_TRUE(meter);
    EXPECT_EQ(started(), 1);
  }
  EXPECT_EQ(started(), 0);
  machine.play("init 18\n");
  EXPECT_FALSE(probe(machine.place()));
  machine.play("# no GPU\n");
  EXPECT_FALSE(probe(machine.place()));
  EXPECT_EQ(started(), 0);
}

struct BoardCase {
  const char* name;
  int driver;
  std::string_view scenario;
  std::vector<GpuFigure> missing;  // ascending
  GpuFigure asked;
  std::string_view reason;
  bool unified = false;
};
void PrintTo(const BoardCase& board, std::ostream* out) { *out << board.name; }

class NvmlBoard : public testing::TestWithParam<BoardCase> {};

constexpr std::string_view kAll =
    "memory 1000\nused 0:10\nbusy 0:1\npower 0:5\nclock 0:1\nmemory-clock 0:1\ntemperature 0:30\n"
    "throttle 0:0\nlink 1 1 1 1\n";

TEST_P(NvmlBoard, NamesWhatItDoesNotHave) {
  const BoardCase& board = GetParam();
  const FakeMachine machine(board.scenario, board.driver);
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  ASSERT_EQ((*meter)->devices().size(), 1U);
  const MeteredGpu& gpu = (*meter)->devices()[0];
  EXPECT_EQ(figures_of(gpu.missing), board.missing);
  EXPECT_EQ(reason_for(gpu, board.asked), board.reason);
  EXPECT_EQ(gpu.unified_memory, board.unified);
  EXPECT_EQ(gpu.busy_window_seconds.has_value(),
            !std::ranges::binary_search(board.missing, GpuFigure::busy));
  const GpuReading reading = look(**meter, 1);
  EXPECT_TRUE(reading.given_up.empty()) << "said once, when it was opened";
  EXPECT_EQ(reading.lost, "");
  const auto has = [&](GpuFigure figure) {
    return !std::ranges::binary_search(board.missing, figure);
  };
  EXPECT_EQ(reading.busy_percent.has_value(), has(GpuFigure::busy));
  EXPECT_EQ(reading.memory_bytes.has_value(), has(GpuFigure::memory));
  EXPECT_EQ(reading.power_watts.has_value(), has(GpuFigure::power));
  EXPECT_EQ(reading.energy_joules.has_value(), has(GpuFigure::energy));
  EXPECT_EQ(reading.temperature_celsius.has_value(), has(GpuFigure::temperature));
  EXPECT_EQ(reading.throttling.has_value(), has(GpuFigure::throttling));
  EXPECT_EQ(reading.link.has_value(), has(GpuFigure::link));
}

const std::string kWhole = "gpu A\n" + std::string(kAll);
const std::string kMig = "gpu A100\nmig\n" + std::string(kAll);
const std::string kNoPower =
    "fail nvmlDeviceGetPowerUsage 4\ngpu A\nenergy 0:1\n" + std::string(kAll);
const std::string kNoEnergy = "gpu P40\nenergy none\n" + std::string(kAll);
const std::string kGb10 =
    "gpu NVIDIA GB10\nbus 0000000F:01:00\nbusy 0:1\npower 0:5\nclock 0:1\nmemory-clock 0:1\n"
    "temperature 0:30\nthrottle 0:0\nlink 1 1 1 1\n";
const std::string kGb10Zero = kGb10 + "memory 0\n";
const std::string kOneClock =
    "gpu A\nmemory 9\nused 0:1\nbusy 0:1\npower 0:5\nclock 0:1\n"
    "temperature 0:30\nthrottle 0:0\nlink 1 1 1 1\n";
const std::string kOrin = "gpu Orin (nvgpu)\n" + std::string(kAll);
const std::string kWsl =
    "fail nvmlDeviceGetComputeRunningProcesses_v3 3\nfail nvmlDeviceGetGraphicsRunningProcesses_v3 "
    "3\nfail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\nfail nvmlDeviceGetProcessUtilization 3\n"
    "fail nvmlDeviceGetUtilizationRates 3\ngpu A\n" +
    std::string(kAll);

INSTANTIATE_TEST_SUITE_P(
    All, NvmlBoard,
    testing::Values(
        BoardCase{"EverythingThere", 550, kWhole, {}, GpuFigure::busy, "it is there"},
        BoardCase{"DriverOf2020", 470, kWhole, {}, GpuFigure::temperature, "it is there"},
        BoardCase{"DriverOf2019",
                  440,
                  kWhole,
                  {GpuFigure::energy, GpuFigure::process_busy},
                  GpuFigure::energy,
                  "this driver's NVML has no such call"},
        BoardCase{"Mig",
                  550,
                  kMig,
                  {GpuFigure::busy, GpuFigure::process_busy},
                  GpuFigure::busy,
                  "MIG is on: NVML has no utilisation of its parts or the whole"},
        BoardCase{"PowerNotAllowed",
                  550,
                  kNoPower,
                  {GpuFigure::power},
                  GpuFigure::power,
                  "NVML says no permission"},
        BoardCase{"Pascal",
                  550,
                  kNoEnergy,
                  {GpuFigure::energy},
                  GpuFigure::energy,
                  "NVML says not supported"},
        BoardCase{"UnifiedMemory",
                  550,
                  kGb10,
                  {GpuFigure::memory, GpuFigure::link},
                  GpuFigure::memory,
                  "NVML tells none: the GPU uses the system's memory",
                  true},
        BoardCase{"UnifiedMemoryTotalZero",
                  550,
                  kGb10Zero,
                  {GpuFigure::memory, GpuFigure::link},
                  GpuFigure::link,
                  "the GPU shares the system's memory, no link is between them",
                  true},
        BoardCase{"OneOfTwoClocks",
                  550,
                  kOneClock,
                  {GpuFigure::clocks},
                  GpuFigure::clocks,
                  "memory clock: NVML says not supported"},
        BoardCase{"WindowsDriverModel",
                  550,
                  kWsl,
                  {GpuFigure::busy, GpuFigure::process_busy, GpuFigure::process_memory},
                  GpuFigure::process_memory,
                  "NVML says not supported"},
        BoardCase{"TegraZeros",
                  550,
                  kOrin,
                  {GpuFigure::busy, GpuFigure::memory, GpuFigure::power, GpuFigure::energy,
                   GpuFigure::clocks, GpuFigure::temperature, GpuFigure::throttling,
                   GpuFigure::link, GpuFigure::process_busy, GpuFigure::process_memory},
                  GpuFigure::busy,
                  "NVML does not measure Tegra's own GPU",
                  true}),
    [](const auto& each) { return each.param.name; });

TEST(Nvml, ProcessesThatCannotBeToldApartAreAnError) {
  const FakeMachine machine(kWsl);
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto use = (*meter)->process_use(std::array{1});
  ASSERT_FALSE(use);
  EXPECT_EQ(use.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(use.error().message,
            "NVML does not tell processes apart here: NVML says not supported");
}

TEST(Nvml, UtilisationBeyondAllIsNoFigure) {
  const FakeMachine machine("gpu A\nmemory 100\nused 0:200\nbusy 0:255\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const GpuReading reading = look(**meter, 0);
  EXPECT_EQ(reading.busy_percent, std::nullopt);
  EXPECT_EQ(reading.memory_bytes, std::nullopt);
}

TEST(Nvml, HalfALookAtALostGpuIsNone) {
  const FakeMachine machine(
      "step nvmlDeviceGetUtilizationRates 100\nfail nvmlDeviceGetPowerUsage 15 from 250\n"
      "gpu A\nmemory 100\nused 0:50\nbusy 0:5\npower 0:30\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ(look(**meter, 0).busy_percent, 5);
  const GpuReading lost = look(**meter, 0);
  EXPECT_EQ(lost.lost, "NVML says the GPU is lost");
  EXPECT_EQ(lost.busy_percent, std::nullopt);
  EXPECT_EQ(lost.memory_bytes, std::nullopt);
}

TEST(Nvml, AFigureThatFailsNowAndThenIsKept) {
  const FakeMachine machine(
      "step nvmlDeviceGetTemperatureV 100\nfail nvmlDeviceGetPowerUsage 999 from 250 to 450\n"
      "fail nvmlDeviceGetPowerUsage 999 from 550 to 750\n"
      "gpu A\nmemory 100\npower 0:30\ntemperature 0:40\n");
  auto meter = open(machine.place(), Patience{.failures = 3});
  ASSERT_TRUE(meter) << meter.error().message;
  int absent = 0;
  for (int i = 0; i < 12; ++i) {
    const GpuReading reading = (*meter)->sample().at(0);
    EXPECT_TRUE(reading.given_up.empty());
    absent += reading.power_watts ? 0 : 1;
  }
  EXPECT_EQ(absent, 4);
}

TEST(Nvml, WhatWasBeforeItWasOpenedIsNotTheRuns) {
  const FakeMachine machine(
      "step nvmlDeviceGetPowerUsage 10\ngpu A\nmemory 100\npower 0:1\n"
      "process compute 42 sm 80 memory 0:50\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto use = (*meter)->process_use(std::array{42});
  ASSERT_TRUE(use);
  ASSERT_EQ(use->size(), 1U);
  EXPECT_EQ(use->front().busy_percent, std::nullopt);
}

TEST(Nvml, AGpuThatFallsOffTheBus) {
  const FakeMachine machine(
      "step nvmlDeviceGetPowerUsage 100\nfail * 15 from 250 gpu 1\n"
      "gpu Twin\nbus 0:1:0\nmemory 100\nbusy 0:50\npower 0:1\n"
      "gpu Twin\nbus 0:2:0\nmemory 100\nbusy 0:60\npower 0:1\n"
      "process compute 7 sm 60 memory 0:9\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  ASSERT_EQ((*meter)->devices().size(), 2U);
  EXPECT_EQ((*meter)->devices()[1].address, "0000:02:00.0");
  EXPECT_EQ((*meter)->devices()[1].index, 1);
  EXPECT_EQ(look(**meter, 0, 1).busy_percent, 60);
  // The first GPU's power is read before the second is looked at: lost in this very round.
  const auto readings = (*meter)->sample();
  EXPECT_EQ(readings[0].busy_percent, 50);
  EXPECT_EQ(readings[0].lost, "");
  EXPECT_EQ(readings[1].lost, "NVML says the GPU is lost");
  EXPECT_EQ(readings[1].busy_percent, std::nullopt);
  EXPECT_EQ(readings[1].power_watts, std::nullopt);
  EXPECT_EQ(look(**meter, 1, 1).lost, "NVML says the GPU is lost") << "it stays so";
  const auto use = (*meter)->process_use(std::array{7});
  ASSERT_TRUE(use) << use.error().message;
  EXPECT_TRUE(use->empty());
}

TEST(Nvml, AGpuThatCannotBeOpenedIsListedWithTheReason) {
  const FakeMachine machine(
      "fail nvmlDeviceGetHandleByIndex_v2 4 gpu 0\nfail nvmlDeviceGetHandleByIndex_v2 15 gpu 1\n"
      "gpu Forbidden\ngpu Gone\ngpu Mine\nmemory 100\nbusy 0:5\n");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  const auto gpus = (*meter)->devices();
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].missing.size(), 10U);
  EXPECT_EQ(reason_for(gpus[0], GpuFigure::busy), "NVML says no permission");
  EXPECT_EQ(gpus[2].name, "Mine");
  const auto readings = (*meter)->sample();
  EXPECT_EQ(readings[0].lost, "") << "not gone, only forbidden";
  EXPECT_EQ(readings[0].busy_percent, std::nullopt);
  EXPECT_EQ(readings[1].lost, "NVML says the GPU is lost");
  EXPECT_EQ(readings[2].busy_percent, 5);
}

TEST(Nvml, AFigureThatKeepsFailingIsGivenUpAndNamedOnce) {
  const FakeMachine machine(
      "step nvmlDeviceGetTemperatureV 100\nfail nvmlDeviceGetPowerUsage 999 from 250\n"
      "gpu A\nmemory 100\nbusy 0:5\npower 0:30\ntemperature 0:40\n");
  auto meter = open(machine.place(), Patience{.failures = 3});
  ASSERT_TRUE(meter) << meter.error().message;
  int told = 0;
  for (int i = 0; i < 12; ++i) {
    const GpuReading reading = (*meter)->sample().at(0);
    for (const MissingFigure& missing : reading.given_up) {
      ++told;
      EXPECT_EQ(missing.figure, GpuFigure::power);
      EXPECT_EQ(missing.reason, "NVML says unknown error");
    }
    EXPECT_EQ(reading.busy_percent, 5);
    if (i > 2) {
      EXPECT_EQ(reading.power_watts, std::nullopt) << i;
    }
  }
  EXPECT_EQ(told, 1);
}

TEST(Nvml, ACallThatIsSlowAgainAndAgainIsDropped) {
  const FakeMachine machine("slow nvmlDeviceGetPowerUsage 20\ngpu A\nmemory 100\npower 0:30\n");
  auto meter = open(machine.place(), Patience{.slow_call = Micros{15000}, .slow_calls = 3});
  ASSERT_TRUE(meter) << meter.error().message;
  EXPECT_EQ(look(**meter, 0).power_watts, 30) << "slow twice by now";
  const GpuReading third = look(**meter, 0);
  ASSERT_EQ(third.given_up.size(), 1U);
  EXPECT_EQ(third.given_up.front().figure, GpuFigure::power);
  EXPECT_TRUE(third.given_up.front().reason.starts_with("NVML takes ")) << third.given_up[0].reason;
  EXPECT_EQ(look(**meter, 0).power_watts, std::nullopt);
}

TEST(Nvml, ASleepingGpuIsLeftAsleepUntilSomethingWakesIt) {
  const FakeMachine machine(
      "fail nvmlDeviceGetHandleByIndex_v2 999\ngpu Laptop GPU\n"
      "bus 00000000:01:00\nmemory 8000000000\nbusy 0:33\n");
  machine.pci_gpu("0000:01:00.0", "nvidia", "suspended");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  ASSERT_EQ((*meter)->devices().size(), 1U);
  EXPECT_EQ((*meter)->devices()[0].name, "NVIDIA GPU 10de:28e0");
  EXPECT_EQ((*meter)->devices()[0].address, "0000:01:00.0");
  EXPECT_EQ(reason_for((*meter)->devices()[0], GpuFigure::busy), "the GPU is asleep to save power");
  EXPECT_EQ(look(**meter, 0).busy_percent, std::nullopt);
  EXPECT_EQ(look(**meter, 0).lost, "");
  EXPECT_TRUE((*meter)->process_use(std::array{1}));

  machine.pci_gpu("0000:01:00.0", "nvidia", "active");
  EXPECT_EQ(look(**meter, 0).busy_percent, 33);
  EXPECT_EQ((*meter)->devices()[0].name, "Laptop GPU");
  EXPECT_EQ((*meter)->devices()[0].memory_bytes, 8000000000);
  EXPECT_EQ(reason_for((*meter)->devices()[0], GpuFigure::busy), "it is there");
}

TEST(Nvml, OneAsleepOneAwake) {
  const FakeMachine machine(
      "gpu Eco\nbus 0:1:0\nmemory 10\nbusy 0:1\n"
      "gpu Docked\nbus 0:61:0\nmemory 20\nbusy 0:2\n");
  machine.pci_gpu("0000:01:00.0", "nvidia", "suspended");
  machine.pci_gpu("0000:41:00.0", "vfio-pci", "suspended");  // given to a virtual machine
  machine.pci_gpu("0000:61:00.0", "nvidia", "active");
  auto meter = probe(machine.place());
  ASSERT_TRUE(meter) << meter.error().message;
  ASSERT_EQ((*meter)->devices().size(), 2U);
  EXPECT_EQ((*meter)->devices()[1].name, "Docked");
  const auto readings = (*meter)->sample();
  EXPECT_EQ(readings[0].busy_percent, std::nullopt);
  EXPECT_EQ(readings[1].busy_percent, 2);
}

TEST(Nvml, StandsInTheRegistry) {
  const auto all = candidates();
  const auto found = std::ranges::find(all, "nvml", &Candidate::name);
  ASSERT_NE(found, all.end());
  const FakeMachine machine(kDesktop);
  EXPECT_TRUE(found->probe(machine.place()));
}

}  // namespace
}  // namespace picchio::meters::nvml
