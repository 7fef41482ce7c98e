// Runs a program without a shell, reads both of its outputs and sees to it that nothing of it is
// left.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "os/signals.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::os {

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is the program's path; PATH is not searched
  std::vector<std::pair<std::string, std::string>> set_env;  // on top of our own environment
  std::vector<std::string> unset_env;                        // taken off before set_env is added
  /// What the program reads on its stdin, a file that lies nowhere; empty: /dev/null.
  std::string stdin_text = {};
};

struct CaptureLimits {
  std::int64_t max_output_bytes = std::int64_t{32} << 20;  // stdout and stderr together
  std::int64_t stdout_keep_bytes = 65536;                  // how much of stdout stdout_head keeps
  Micros deadline = std::chrono::minutes(60);
  Micros tick = std::chrono::milliseconds(100);
};

/// Called from run_captured() itself, between two reads, so what they cost the engine waits for.
/// Each may be empty. Times count from the program's start.
struct CaptureEvents {
  std::function<void(int pid)> started;  // once, after the exec succeeded
  std::function<void(Micros at)> tick;   // every CaptureLimits::tick while the program runs
  std::function<void(std::string_view line, Micros at)> stderr_line;   // without its line end
  std::function<void(std::string_view bytes, Micros at)> stdout_data;  // one per arrival
};

enum class End {
  exited,
  signalled,   // by somebody else
  output_cap,  // stopped by us, like the next two
  deadline,
  interrupted,
};

struct Capture {
  std::string stderr_text;
  std::vector<Micros> line_stamps;  // [i]: when the i-th line of stderr_text was complete
  std::string stdout_head;
  std::int64_t stdout_bytes = 0;
  std::int64_t stdout_reads = 0;     // arrivals; what came while we were busy counts as one
  std::optional<Micros> first_byte;  // of stdout
  std::optional<Micros> last_byte;
  Micros wall{};      // start to exit of the program itself
  int exit_code = 0;  // 128 + signal for one that a signal ended
  End end = End::exited;
  /// User and system time of the program and all its descendants. Absent when a process could not
  /// be ended (stuck in a driver) and was left behind.
  std::optional<double> cpu_seconds;
};

/// Runs to the end and hands over everything. There is no controlling terminal: an engine that
/// looks for /dev/tty writes to stdout instead.
///
/// Whatever happens, nothing of the program is left a few seconds later, descendants that made
/// their own session included: when the program exits its leftovers are killed; when `limits` or a
/// signal end it, it gets SIGTERM, two seconds, SIGKILL; when we are killed ourselves, a supervisor
/// process kills the tree at once. (Not reached: what another service starts on its behalf, as
/// dockerd does.)
///
/// Fails, with nothing started, when the program cannot be run or a signal was caught before.
[[nodiscard]] Result<Capture> run_captured(const SpawnOptions& options, const CaptureLimits& limits,
                                           const CaptureEvents& events,
                                           const Interrupts& interrupts);

/// For probes such as `--version`: stdout is kept up to `max_output_bytes`.
[[nodiscard]] Result<Capture> run_simple(std::vector<std::string> argv, Micros deadline,
                                         std::int64_t max_output_bytes,
                                         const Interrupts& interrupts);

}  // namespace picchio::os
