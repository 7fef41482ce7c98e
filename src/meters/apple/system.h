// What libSystem tells: the memory that CPU and GPU share, the heat, and when a process started.
#pragma once

#include "evidence/gpu_reading.h"
#include "meters/apple/library.h"

#include <cstdint>
#include <optional>

namespace picchio::meters::apple {

[[nodiscard]] std::optional<std::int64_t> memory_bytes(const Functions& functions);

/// Microseconds of the time of day. Absent: no such process, or another user's.
[[nodiscard]] std::optional<std::int64_t> start_of(const Functions& functions, int pid);

/// The system's own word on heat: of the whole machine, not of the GPU alone.
class ThermalPressure {
 public:
  /// `functions` must live as long as this.
  explicit ThermalPressure(const Functions& functions);
  ThermalPressure(const ThermalPressure&) = delete;
  ThermalPressure& operator=(const ThermalPressure&) = delete;
  ~ThermalPressure();

  [[nodiscard]] bool tells() const { return token_.has_value(); }
  [[nodiscard]] std::optional<Throttling> look() const;

 private:
  const Functions* f_;
  std::optional<int> token_;
};

}  // namespace picchio::meters::apple
