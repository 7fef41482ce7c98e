// What the fake Mac answers, read from a text file (README.md).
#pragma once

#include "../script.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fake {

struct Span {
  double from_ms = 0;
  double to_ms = 1e18;
  [[nodiscard]] bool holds(double ms) const { return ms >= from_ms && ms < to_ms; }
};

struct Client {
  std::uint64_t id = 0;
  std::string pid;
  std::string creator;  // instead of "pid N, name"; "-": it has none
  Span there;
  std::vector<Curve> queues;  // ns
  Curve own_time;             // ns, on the client itself
};

struct Accelerator {
  std::uint64_t id = 0;
  std::string io_class;
  std::string model;
  bool model_as_bytes = false;
  std::optional<std::int64_t> cores;
  std::vector<std::pair<std::string, Curve>> statistics;
  std::string odd_statistic;  // one that is a text
  std::vector<Client> clients;
};

struct Channel {
  std::string group;
  std::string subgroup;  // empty: none
  std::string name;
  std::string unit;
  Curve counts;
  double batch_ms = 0;  // it moves only so often; 0: always
  std::optional<Span> invalid;
  std::vector<std::pair<std::string, Curve>> states;

  [[nodiscard]] std::int64_t value_at(double ms, const Curve& of) const;
};

struct Process {
  int pid = 0;
  double start_seconds = 0;
  Span there;
};

struct Failure {
  std::string function;
  Span when;
};

struct Scenario {
  std::optional<std::int64_t> memory;
  Curve heat;
  std::vector<Process> processes;
  std::vector<Failure> failures;
  int restless = 0;  // so many walks through the clients are cut short
  std::vector<Accelerator> accelerators;
  std::vector<Channel> channels;
  std::vector<std::int64_t> clocks;
  double now_ms = -1;  // set by a test; below 0: the clock's

  [[nodiscard]] double now() const;
  [[nodiscard]] bool fails(const std::string& function) const;
};

/// Of the file that PICCHIO_FAKE_APPLE names, read at the first call.
[[nodiscard]] Scenario& scenario();

/// What was handed out and not yet released: objects, ports and notice tokens.
[[nodiscard]] std::int64_t& live();

}  // namespace fake

#define FAKE_APPLE extern "C" __attribute__((visibility("default")))
