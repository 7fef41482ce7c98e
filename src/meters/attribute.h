// One attribute of a driver in sysfs, as a meter reads it: opened once, then asked at every look.
#pragma once

#include "base/result.h"
#include "evidence/gpu_reading.h"
#include "os/kept_file.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::meters {

/// An attribute that is not there reads as absent, so that a meter asks without looking first.
class Attribute {
 public:
  Attribute() = default;

  /// The first of `names` below `dir` that can be opened, and with `ask` also be read: a driver
  /// lists attributes that it then refuses. Without `ask` nothing is read, so a device that is
  /// asleep stays so.
  [[nodiscard]] static Attribute open(const std::string& dir,
                                      std::initializer_list<std::string_view> names, bool ask);

  [[nodiscard]] std::optional<std::string> text() const;  // without blanks around it
  [[nodiscard]] std::optional<std::int64_t> number() const;
  [[nodiscard]] std::optional<std::uint64_t> counter() const;  // all 64 bits

  /// Bytes that are no text, at most a page: what sysfs hands out at once.
  [[nodiscard]] std::optional<std::string> bytes() const;

  /// Why it never tells anything; empty when it does.
  [[nodiscard]] const std::string& why_missing() const { return why_missing_; }
  [[nodiscard]] explicit operator bool() const { return file_.has_value(); }

 private:
  std::optional<os::KeptFile> file_;
  std::string why_missing_ = "not looked for";
};

/// One look at an attribute that never changes; absent when it cannot be read.
[[nodiscard]] std::optional<std::string> attribute_text(const std::string& path);
[[nodiscard]] std::optional<std::int64_t> attribute_number(const std::string& path);

/// `root` and an absolute path as one.
[[nodiscard]] std::string under(const std::string& root, std::string_view path);

enum class PowerState {
  awake,   // or without power management of its own
  asleep,  // powered down by the kernel, or about to be
  gone,    // its attributes vanished
};

/// By power/runtime_status, the one attribute that never wakes a device.
[[nodiscard]] PowerState power_state(const Attribute& runtime_status);

/// Says in `reading` that a device was not read, and why; false when it is awake.
[[nodiscard]] bool not_readable(const Attribute& runtime_status, GpuReading& reading);
[[nodiscard]] Attribute runtime_status_of(const std::string& device_dir);

/// The hwmon folder of a device, empty when it has none. `hwmonN` is numbered anew at every boot.
[[nodiscard]] std::string hwmon_of(const std::string& device_dir);

/// A counter that a driver may set back (a reset of the device) or never move at all (firmware
/// that does not support it). What is told only ever grows; absent until it moved once.
class MovingCounter {
 public:
  std::optional<std::uint64_t> add(std::optional<std::uint64_t> value);

 private:
  std::optional<std::uint64_t> last_;
  std::uint64_t sum_ = 0;
  bool moved_ = false;
};

}  // namespace picchio::meters
