// What the meters recorded while an engine ran.
#pragma once

#include "base/time.h"
#include "evidence/gpu_reading.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio {

/// One look at every GPU of Telemetry::gpus, in that order.
struct GpuSample {
  Micros at{};  // from the recording's start
  std::vector<GpuReading> readings;
};

/// What the watched processes had at one moment; GpuProcessUse::device is an index into
/// Telemetry::gpus.
struct ProcessSample {
  Micros at{};
  std::vector<GpuProcessUse> use;
};

/// A driver of a GPU that is there does not work, and what would mend it.
struct DriverTrouble {
  std::string what;    // "the NVIDIA kernel driver is not loaded, but there is ..."
  std::string remedy;  // "load it ('modprobe nvidia'), ..."
};

struct Telemetry {
  std::vector<MeteredGpu> gpus;
  std::vector<GpuSample> samples;  // ascending in time
  std::vector<ProcessSample> processes;
  double hz = 0;  // as asked for; a slow driver gives fewer
  /// How often every second sample was dropped to stay within the bound: the rate of what is left
  /// is hz / 2^halvings.
  int halvings = 0;
  std::vector<std::string> news;        // meters that should be there and are not, and why
  std::vector<DriverTrouble> troubles;  // those of the news that have a remedy
  std::string none_because;             // why there is nothing at all; empty: gpus is not empty
};

}  // namespace picchio
