// What the IO registry tells of GPUs and of the processes that use them, whichever way it is read.
#pragma once

#include "base/time.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::meters::apple {

/// The entry of a GPU's driver, as it was when the meter was opened.
struct Accelerator {
  std::uint64_t id = 0;      // the registry's: never given twice until the next boot; 0: not told
  std::string io_class;      // "AGXAcceleratorG16G"; empty: not told
  std::string model;         // "Apple M4"; empty: not told
  std::optional<int> cores;  // of the GPU
};

/// Of the dictionary "PerformanceStatistics", which each driver fills with keys of its own.
struct Statistics {
  std::optional<double> busy_percent;         // 0 to 100; over which time Apple does not say
  std::optional<std::int64_t> memory_bytes;   // the system's, in use by clients of the GPU
  std::optional<double> temperature_celsius;  // Intel Macs
  std::optional<double> clock_mhz;            // Intel Macs
};

/// Keys that take_statistic() knows.
[[nodiscard]] std::span<const std::string_view> statistics_keys();
/// Pure; keys must match in full: "In use system memory (driver)" is another figure. What cannot
/// be is left out.
void take_statistic(Statistics& statistics, std::string_view key, std::int64_t value);

/// The connection of one process to one GPU.
struct Client {
  int device = -1;       // index into Source::accelerators(); -1: below none of them
  std::uint64_t id = 0;  // as Accelerator::id
  int pid = 0;
  std::optional<std::int64_t> gpu_ns;  // of all its queues, since it was made; absent: not told
};

/// 42 of "pid 42, render"; absent: no such text.
[[nodiscard]] std::optional<int> pid_of_creator(std::string_view text);

/// Adds time to a sum, as long as both can be.
void add_gpu_time(std::optional<std::int64_t>& sum, std::int64_t ns);

struct ClientLook {
  Micros at{};  // by Place::now
  std::vector<Client> clients;
};

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// Their number and order never change.
  [[nodiscard]] virtual std::span<const Accelerator> accelerators() const = 0;

  /// One for each accelerator, in that order. What has no new figure has none.
  [[nodiscard]] virtual std::vector<Statistics> statistics() = 0;

  /// All clients; times only of those of `pids` for certain. Absent: no whole look since the last.
  [[nodiscard]] virtual std::optional<ClientLook> clients(std::span<const int> pids) = 0;

  /// Why clients() never tells anything; empty: it does.
  [[nodiscard]] virtual std::string no_clients_because() const { return {}; }
};

}  // namespace picchio::meters::apple
