// What is said when NVML cannot be used.
#include "meters/nvml/fake_machine.h"
#include "meters/nvml/nvml.h"
#include "meters/nvml/presence.h"

#include <gtest/gtest.h>

#include <ostream>

namespace picchio::meters::nvml {
namespace {

constexpr std::string_view kVersionFile =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";

/// What the machine shows of an NVIDIA GPU before NVML is asked.
enum class Shows { nothing, pci, node, wsl, running_driver };

void show(const FakeMachine& machine, Shows shows) {
  if (shows == Shows::pci) machine.pci_gpu("0000:01:00.0", "nouveau", "active");
  if (shows == Shows::node) machine.file("/dev/nvidia0", "");
  if (shows == Shows::wsl) machine.file("/dev/dxg", "");
  if (shows != Shows::running_driver) return;
  machine.pci_gpu("0000:01:00.0", "nvidia", "active");
  machine.file("/proc/driver/nvidia/version", kVersionFile);
}

struct Case {
  const char* name;
  const char* scenario;
  Shows shows;
  ErrorKind kind;
  std::string_view says;
  std::string_view hints;
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

class NvmlFailure : public testing::TestWithParam<Case> {};

TEST_P(NvmlFailure, SaysWhatIsWrong) {
  const Case& each = GetParam();
  const FakeMachine machine(each.scenario);
  show(machine, each.shows);
  const auto meter = probe(machine.place());
  ASSERT_FALSE(meter);
  EXPECT_EQ(meter.error().kind, each.kind) << meter.error().message;
  EXPECT_TRUE(meter.error().message.contains(each.says)) << meter.error().message;
  EXPECT_TRUE(meter.error().hint.contains(each.hints)) << meter.error().hint;
  EXPECT_EQ(meter.error().hint.empty(), each.hints.empty()) << meter.error().hint;
}

INSTANTIATE_TEST_SUITE_P(
    All, NvmlFailure,
    testing::Values(
        Case{"UpdatedWhileRunning", "init 18\n", Shows::running_driver, ErrorKind::unsupported,
             "the NVIDIA driver in the kernel 550.54.14 and its library libnvidia-ml.so.1 are of "
             "different versions",
             "reboot"},
        Case{"MismatchWithoutVersion", "init 18\n", Shows::node, ErrorKind::unsupported,
             "in the kernel and its library", "reboot"},
        Case{"DriverNotLoaded", "init 9\n", Shows::pci, ErrorKind::unsupported,
             "the NVIDIA kernel driver is not loaded, but there is an NVIDIA GPU (0000:01:00.0, "
             "driver nouveau)",
             "modprobe"},
        Case{"DriverNotReachable", "init 9\n", Shows::running_driver, ErrorKind::unsupported,
             "the NVIDIA driver 550.54.14 runs, but its device files cannot be used here",
             "container"},
        Case{"LibraryWithoutAnyGpu", "init 9\n", Shows::nothing, ErrorKind::not_found,
             "this machine has no NVIDIA GPU", ""},
        Case{"NoPermission", "init 4\n", Shows::node, ErrorKind::denied, "no permission", "group"},
        Case{"BlockedByTheSystem", "init 17\n", Shows::node, ErrorKind::denied, "blocks",
             "/dev/nvidia*"},
        Case{"Unknown", "init 999\n", Shows::node, ErrorKind::failed,
             "does not start: NVML says unknown error", ""},
        Case{"UnknownCode", "init 77\n", Shows::node, ErrorKind::failed,
             "does not start: NVML says error 77", ""},
        Case{"NoGpuForNvml", "driver 1\n", Shows::pci, ErrorKind::unsupported,
             "NVML knows no GPU although this machine has an NVIDIA GPU", ""},
        Case{"NoGpuAtAll", "driver 1\n", Shows::nothing, ErrorKind::not_found, "NVML knows no GPU",
             ""},
        Case{"CountFails", "fail nvmlDeviceGetCount_v2 999\n", Shows::node, ErrorKind::failed,
             "how many GPUs", ""}),
    [](const auto& each) { return each.param.name; });

TEST(NvmlFailure, WithoutTheLibraryItDependsOnTheMachine) {
  const FakeMachine machine("");
  const auto nothing = probe(machine.place_without_library());
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::not_found) << "nobody needs to hear it";
  machine.pci_gpu("0000:01:00.0", "nouveau", "active");
  const auto news = probe(machine.place_without_library());
  ASSERT_FALSE(news);
  EXPECT_EQ(news.error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(news.error().message.starts_with(
      "no libnvidia-ml.so.1 although this machine has an NVIDIA GPU (0000:01:00.0, driver nouveau)"
      ": cannot load libnvidia-ml.so.1: "))
      << news.error().message;
  EXPECT_TRUE(news.error().hint.contains("install NVIDIA's own driver")) << news.error().hint;
}

struct SignCase {
  const char* name;
  Shows shows;
  std::string_view sign;
};

TEST(Presence, FirstSignOfAGpu) {
  constexpr SignCase kCases[] = {
      {"nothing", Shows::nothing, ""},
      {"pci", Shows::pci, "an NVIDIA GPU (0000:01:00.0, driver nouveau)"},
      {"node", Shows::node, "/dev/nvidia0"},
      {"wsl", Shows::wsl, "/dev/dxg"},
  };
  for (const SignCase& each : kCases) {
    const FakeMachine machine("");
    show(machine, each.shows);
    EXPECT_EQ(sign_of_gpu(machine.place().root), each.sign) << each.name;
  }
}

TEST(Presence, OnlyDisplayControllersOfNvidiaCount) {
  const FakeMachine machine("");
  machine.pci_gpu("0000:01:00.0", "", "suspended");
  machine.pci_gpu("0000:01:00.1", "snd_hda_intel", "active");
  machine.file("/sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
  machine.pci_gpu("0000:02:00.0", "amdgpu", "active");
  machine.file("/sys/bus/pci/devices/0000:02:00.0/vendor", "0x1002\n");
  machine.file("/dev/nvidia-uvm", "");
  const auto gpus = pci_gpus(machine.place().root);
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].address, "0000:01:00.0");
  EXPECT_EQ(gpus[0].ids, "10de:28e0");
  EXPECT_EQ(gpus[0].driver, "");
  EXPECT_TRUE(gpus[0].asleep);
  EXPECT_EQ(sign_of_gpu(machine.place().root), "an NVIDIA GPU (0000:01:00.0, no driver)");
}

TEST(Presence, VersionsOfBothModules) {
  const FakeMachine machine("");
  EXPECT_EQ(kernel_driver_version(machine.place().root), "");
  machine.file("/proc/driver/nvidia/version", kVersionFile);
  EXPECT_EQ(kernel_driver_version(machine.place().root), "550.54.14");
  machine.file("/proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.64  Release Build\n");
  EXPECT_EQ(kernel_driver_version(machine.place().root), "575.64");
  machine.file("/proc/driver/nvidia/version", "garbage without a number\n");
  EXPECT_EQ(kernel_driver_version(machine.place().root), "");
}

}  // namespace
}  // namespace picchio::meters::nvml
