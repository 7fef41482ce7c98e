// The parts of CoreFoundation, IOKit, IOReport and libSystem that are called: their types as they
// are passed, and their codes. Declared here, with opaque types, so that the same source builds
// and is tested where there is no Mac. IOReport has no published interface; its signatures are
// those that several open tools agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace picchio::meters::apple::abi {

struct CfObject;  // never defined
/// Any CoreFoundation object, IOReport's subscription included.
using Cf = const CfObject*;

using Index = long;            // CFIndex
using TypeId = unsigned long;  // CFTypeID
using Flag = unsigned char;    // Boolean
using Kernel = int;            // kern_return_t
using Io = std::uint32_t;      // io_object_t, a Mach port; 0: none

inline constexpr Kernel kSuccess = 0;
inline constexpr std::uint32_t kUtf8 = 0x08000100;
inline constexpr Index kSInt64 = 4;          // kCFNumberSInt64Type
inline constexpr Io kDefaultPort = 0;        // its name changed in macOS 12, its value never
inline constexpr unsigned kNameBytes = 128;  // io_name_t
inline constexpr const char* kServicePlane = "IOService";

/// In place of a value that IOReport could not sample.
inline constexpr std::int64_t kInvalidSample = std::numeric_limits<std::int64_t>::min();

inline constexpr const char* kThermalPressure = "com.apple.system.thermalpressurelevel";
/// Of nominal 0, moderate 1, heavy 2, trapping 3, sleeping 4 (OSThermalNotification.h, macOS) the
/// first at which the system holds the chips back. At moderate only fans and background work
/// change.
inline constexpr std::uint64_t kPressureHeavy = 2;

/// What proc_pidinfo writes for PROC_PIDTBSDINFO, as far as it is used.
struct BsdInfo {
  std::uint32_t flags_to_group[12];
  char command[16];
  char name[32];
  std::uint32_t files_to_terminal[5];
  std::int32_t nice;
  std::uint64_t start_seconds;  // of the time of day
  std::uint64_t start_micros;
};
inline constexpr int kBsdInfo = 3;
static_assert(sizeof(BsdInfo) == 136 && offsetof(BsdInfo, nice) == 116 &&
              offsetof(BsdInfo, start_seconds) == 120 && offsetof(BsdInfo, start_micros) == 128);

}  // namespace picchio::meters::apple::abi
