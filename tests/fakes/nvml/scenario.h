// What the fake NVML answers, read from a text file (README.md).
#pragma once

#include "../script.h"
#include "meters/nvml/abi.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fake {

struct Process {
  std::string kind;  // "compute", "graphics", "mps"
  std::string pid;   // a number, or "@FILE": what stands in FILE by then
  double from_ms = 0;
  double to_ms = 1e18;
  Curve memory;              // bytes; none: NVML does not know
  std::optional<double> sm;  // percent of the time; absent: no sample
  unsigned gpu_instance = ~0U;

  [[nodiscard]] bool there_at(double ms) const { return ms >= from_ms && ms < to_ms; }
  [[nodiscard]] unsigned pid_now() const;
};

struct Gpu {
  std::string name;
  unsigned domain = 0;
  unsigned bus = 1;
  unsigned slot = 0;
  bool mig = false;
  std::optional<std::int64_t> memory_total;
  std::int64_t memory_reserved = 0;
  std::optional<std::int64_t> max_memory_clock;
  std::optional<std::int64_t> bus_bits;
  std::optional<std::int64_t> link_generation;
  std::optional<std::int64_t> link_width;
  std::optional<std::int64_t> max_link_generation;
  std::optional<std::int64_t> max_link_width;
  Curve busy;
  Curve memory_used;
  Curve power;
  Curve energy;  // joules; none: the area under `power`
  bool no_energy = false;
  Curve clock;
  Curve memory_clock;
  Curve temperature;
  Curve throttle;
  std::vector<Process> processes;
  std::vector<picchio::meters::nvml::abi::ProcessUtilization> garbage;  // given back always

  [[nodiscard]] std::string bus_id() const;  // "00000000:01:00.0"
  /// The counter moves every 100 ms.
  [[nodiscard]] std::optional<std::int64_t> energy_mj_at(double ms) const;
  /// One sample of each process that ran in the last whole period of 100 ms, if newer. The
  /// scenario's time 0 was zero_ms after NVML's start, from which the stamps count.
  [[nodiscard]] std::vector<picchio::meters::nvml::abi::ProcessUtilization> samples_since(
      double ms, double zero_ms, unsigned long long last_seen) const;
};

struct Failure {
  std::string function;  // or "*": whatever is asked about a GPU
  int code = 0;
  double from_ms = 0;
  double to_ms = 1e18;
  int device = -1;  // -1: all
};

struct Slow {
  std::string function;
  double ms = 0;
  int device = -1;
};

struct Scenario {
  int init_code = 0;
  std::string driver = "550.54.14";
  std::string step_function;  // time goes on with its calls; empty: with the clock
  double step_ms = 0;
  std::string since;          // time goes on while the process "@FILE" lives, and is 0 without it
  std::optional<int> stride;  // of the lists that have 24 bytes by their name
  bool clears_lists = false;  // writes zeros over the whole list before filling it
  std::vector<Gpu> gpus;
  std::vector<Failure> failures;
  std::vector<Slow> slow;
};

/// The file that PICCHIO_FAKE_NVML names. A line that is not understood ends the process: a test
/// with a slip in it must not pass.
[[nodiscard]] Scenario read_scenario();

[[nodiscard]] std::string upper(std::string_view text);

}  // namespace fake
