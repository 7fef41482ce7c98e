// The account of GPU time of processes, made of repeated looks at the clients of the GPUs. Pure:
// the looks, their time and the processes' start are given.
#pragma once

#include "base/time.h"
#include "evidence/gpu_reading.h"
#include "meters/apple/source.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace picchio::meters::apple {

class GpuTimeBook {
 public:
  /// When the process with this number started, in microseconds of the time of day; absent: there
  /// is none, or it is somebody else's.
  using StartOf = std::function<std::optional<std::int64_t>(int pid)>;

  explicit GpuTimeBook(StartOf start_of) : start_of_(std::move(start_of)) {}

  /// Everything seen at one moment, and what the processes `pids` have of it.
  ///
  /// A client that is gone takes its counter along, so what it had used stays with its process. One
  /// whose counter steps back (a queue of it was closed) counts from there on: time is never
  /// counted twice, some may be missed. A client outlives its process, whose number can be given
  /// anew: it counts only for the process that had the number when the client was first seen.
  ///
  /// Busy is the share of the time since the look before, at most 100: the queues of one process
  /// may overlap. Absent where that cannot be told, as at the first look.
  [[nodiscard]] std::vector<GpuProcessUse> look(const ClientLook& look, std::span<const int> pids);

  /// The same counters again, when there was no new look.
  [[nodiscard]] std::vector<GpuProcessUse> again(std::span<const int> pids) const;

 private:
  using Start = std::optional<std::int64_t>;
  using Key = std::tuple<int, std::uint64_t, int>;  // device, client, pid

  struct Open {
    Start start;
    std::optional<std::int64_t> last_ns;
  };
  struct Share {
    bool told = false;  // a time
    double seconds = 0;
    double grown = 0;          // seconds, since the look before
    bool growth_known = true;  // of every client
    int clients = 0;           // open ones
    int clients_before = 0;
  };
  struct Account {
    Start start;
    std::map<int, Share> shares;  // by device
  };

  void open_accounts(std::span<const int> pids);
  void take(const Key& key, std::optional<std::int64_t> ns);
  [[nodiscard]] std::vector<GpuProcessUse> told(std::span<const int> pids,
                                                std::optional<double> interval) const;

  StartOf start_of_;
  std::map<Key, Open> open_;
  std::map<int, Account> accounts_;  // by pid
  std::optional<Micros> at_;
};

}  // namespace picchio::meters::apple
