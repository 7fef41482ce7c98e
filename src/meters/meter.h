// One meter: one way in which a machine tells what its GPUs do. A new one is a folder here and a
// line in registry.cpp.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "evidence/gpu_reading.h"
#include "os/clock.h"
#include "os/signals.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::meters {

/// What a meter looks at; tests put a made-up tree and a made-up library in its place.
struct Place {
  std::string root = "/";    // where proc/ and sys/ are
  std::string nvml_library;  // path of a libnvidia-ml.so.1 to load; empty: the system's
  std::function<Micros()> now = os::monotonic_now;  // for what is a counter's change over time
  /// A folder with Apple's libraries by their own names; empty: the system's, so none but on a Mac.
  std::string apple_libraries = {};
  std::string ioreg_program = "/usr/sbin/ioreg";  // run where those cannot be had
  /// Stops a program that a meter runs; outlives the meter. Null: none is run.
  const os::Interrupts* interrupts = nullptr;
};

/// Opened by a probe, then used by one thread at a time. A call may block for as long as a driver
/// does, so nobody but a sampler calls it while an engine runs.
class Meter {
 public:
  Meter() = default;
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  virtual ~Meter() = default;

  /// As found when it was opened: their number and order never change. One that was asleep is
  /// described in full by the first sample() after it woke up.
  [[nodiscard]] virtual std::span<const MeteredGpu> devices() const = 0;

  /// One reading for each device, in that order. What was not told this time is absent.
  [[nodiscard]] virtual std::vector<GpuReading> sample() = 0;

  /// What the processes `pids` have of the devices; nothing for one that has none. An error: this
  /// meter cannot tell processes apart here, with the reason.
  [[nodiscard]] virtual Result<std::vector<GpuProcessUse>> process_use(
      std::span<const int> pids) = 0;
};

/// Opens a meter. Errors: not_found, this machine has nothing for it, which nobody needs to hear;
/// any other kind is news (a driver that does not match its library, no permission) for a WHY.
using Probe = Result<std::unique_ptr<Meter>> (*)(const Place& place);

struct Candidate {
  std::string_view name;
  Probe probe;
};

/// In the order in which they are preferred where two know the same card.
[[nodiscard]] std::span<const Candidate> candidates();

}  // namespace picchio::meters
