// The part of NVIDIA's management library that is called: its types as they lie in memory and its
// codes. Declared here by its published interface, so that no vendor's header is needed to build.
// Sizes and offsets are what a driver writes, so a slip would be silent garbage: each is asserted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace picchio::meters::nvml::abi {

/// A C enumeration in the library, 4 bytes.
using Return = int;

/// Opaque; owned by the library, valid until its shutdown.
using Device = void*;

inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kVersionMismatch = 18;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kUnknown = 999;

/// Which clock nvmlDeviceGetClockInfo and nvmlDeviceGetMaxClockInfo tell, in MHz.
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;

inline constexpr int kSensorGpu = 0;

inline constexpr unsigned kMigOn = 1;

/// Bits of the clocks event (formerly throttle) reasons that make a GPU slower than it could be.
/// Not here: idle 0x1, clocks that somebody set 0x2 and 0x100, sync boost 0x10.
inline constexpr std::uint64_t kSoftwarePowerCap = 0x4;
inline constexpr std::uint64_t kHardwareSlowdown = 0x8;
inline constexpr std::uint64_t kSoftwareThermal = 0x20;
inline constexpr std::uint64_t kHardwareThermal = 0x40;
inline constexpr std::uint64_t kHardwarePowerBrake = 0x80;

/// In place of a number of bytes that the driver does not know (WDDM, no permission).
inline constexpr std::uint64_t kValueNotAvailable = ~std::uint64_t{0};

inline constexpr unsigned kNameBytes = 96;
inline constexpr unsigned kVersionBytes = 80;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;  // device << 16 | vendor
  unsigned pci_subsystem_id;
  char bus_id[32];  // "00000000:61:00.0"
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 &&
              offsetof(PciInfo, bus) == 20 && offsetof(PciInfo, device) == 24 &&
              offsetof(PciInfo, pci_device_id) == 28 && offsetof(PciInfo, bus_id) == 36);

/// Percent of the last sample period, which is 1/6 to 1 s by product.
struct Utilization {
  unsigned gpu;     // time in which a kernel ran
  unsigned memory;  // time in which memory was read or written: no bandwidth
};
static_assert(sizeof(Utilization) == 8 && offsetof(Utilization, memory) == 4);

/// Bytes; `used` holds what the driver reserves too.
struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24 && offsetof(Memory, free) == 8 && offsetof(Memory, used) == 16);

/// Same, with the driver's part told apart. `version` is set by the caller.
struct MemoryV2 {
  unsigned version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8 &&
              offsetof(MemoryV2, reserved) == 16 && offsetof(MemoryV2, free) == 24 &&
              offsetof(MemoryV2, used) == 32);

struct Temperature {
  unsigned version;
  int sensor;
  int celsius;
};
static_assert(sizeof(Temperature) == 12 && offsetof(Temperature, sensor) == 4 &&
              offsetof(Temperature, celsius) == 8);

/// Entries of the lists of running processes, as three generations of drivers write them; which
/// one, no version field tells (processes.h).
struct Process16 {
  unsigned pid;
  std::uint64_t used_memory;
};
struct Process24 {
  unsigned pid;
  std::uint64_t used_memory;
  unsigned gpu_instance;      // all ones without MIG
  unsigned compute_instance;  // same
};
struct Process32 {
  unsigned pid;
  std::uint64_t used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
  std::uint64_t protected_memory;
};
static_assert(sizeof(Process16) == 16 && offsetof(Process16, used_memory) == 8);
static_assert(sizeof(Process24) == 24 && offsetof(Process24, used_memory) == 8 &&
              offsetof(Process24, gpu_instance) == 16 &&
              offsetof(Process24, compute_instance) == 20);
static_assert(sizeof(Process32) == 32 && offsetof(Process32, protected_memory) == 24);

struct ProcessUtilization {
  unsigned pid;
  std::uint64_t timestamp;  // microseconds of a clock that differs between drivers
  unsigned sm;              // percent of the time, as are the others
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};
static_assert(sizeof(ProcessUtilization) == 32 && offsetof(ProcessUtilization, timestamp) == 8 &&
              offsetof(ProcessUtilization, sm) == 16 &&
              offsetof(ProcessUtilization, decoder) == 28);

/// What a versioned struct must hold in `version`.
template <class Struct>
[[nodiscard]] constexpr unsigned version_of(unsigned generation) {
  return static_cast<unsigned>(sizeof(Struct)) | generation << 24U;
}
static_assert(version_of<MemoryV2>(2) == 0x2000028 && version_of<Temperature>(1) == 0x100000c);

}  // namespace picchio::meters::nvml::abi
