// The account of GPU time and memory of processes, made of repeated looks at their open GPU files.
// Pure: the looks and their time are given.
#pragma once

#include "base/time.h"
#include "evidence/gpu_reading.h"
#include "meters/drm/fdinfo.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::meters::drm {

/// Engines that a model's arithmetic can run on. Copies and video work are no sign of it.
[[nodiscard]] bool computes(std::string_view engine);

/// Bytes a client has of a device's memory: of its own where it has some, otherwise (`unified`) of
/// every region, an APU's carve-out and what it maps of the system's alike. Absent: not told.
[[nodiscard]] std::optional<std::int64_t> memory_of(const Client& client, bool unified);

/// One client as a look found it.
struct Sighting {
  int pid = 0;
  int device = 0;        // index into the meter's devices
  bool unified = false;  // that device's memory is the system's
  Client client;
};

class ClientBook {
 public:
  /// Everything seen at one moment. A client that is sighted through several descriptors or
  /// processes counts once, for the process that comes first. Counters never step back: the largest
  /// value seen stands. A client that was seen before and is not now is closed: it holds no memory
  /// any more, but the time that it used stays.
  void look(Micros at, std::span<const Sighting> sightings);

  /// As of the latest look. Busy is the share of the time since the look before it, of all engines
  /// that compute, at most 100 percent; absent at a client's first look, and when nothing tells.
  /// Seconds where a driver counts GPU ticks only (xe) begin at the first look.
  [[nodiscard]] std::vector<GpuProcessUse> use(std::span<const int> pids) const;

  /// The process ended, or its number is another's now.
  void forget(int pid);

 private:
  struct Counters {
    std::optional<std::uint64_t> busy_ns;
    std::optional<std::uint64_t> cycles;
    std::optional<std::uint64_t> total_cycles;
  };
  struct Entry {
    int pid = 0;
    bool open = false;
    std::map<std::string, Counters> engines;
    std::optional<double> seconds;   // of engines that compute
    std::optional<double> fraction;  // of the time between the latest two looks; above 1 possible
    std::optional<std::int64_t> memory_bytes;
    std::optional<std::int64_t> evicted_bytes;
  };
  using Key = std::pair<int, std::uint64_t>;  // device and client

  static void read_engines(Entry& entry, const Client& client, bool first,
                           std::optional<double> interval);

  std::map<Key, Entry> clients_;
  std::optional<Micros> at_;
};

}  // namespace picchio::meters::drm
