// Records what a watch needs: the meters in a thread of their own, the process tree beside them.
#pragma once

#include "base/result.h"
#include "evidence/machine.h"
#include "evidence/watched.h"
#include "machine/watched_tree.h"
#include "meters/sampler.h"

#include <chrono>
#include <optional>
#include <vector>

namespace picchio {

struct WatchPace {
  double hz = 10;   // looks at the GPUs in a second
  Micros length{};  // of the watch; 0: nobody knows
};

class WatchRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins at once. `tree` absent: the whole machine.
  WatchRecorder(meters::MeterSet meters, const WatchPace& pace, std::optional<WatchTarget> target,
                std::optional<WatchedTree> tree, const Machine& machine);

  /// Looks at the tree and at who else is on a GPU; wants to be called about twice a second. False:
  /// the target has ended.
  bool look();

  [[nodiscard]] Micros now() const;
  [[nodiscard]] bool has_meters() const { return has_meters_; }

  /// The time so far, with no more of the telemetry than `span`.
  [[nodiscard]] WatchRecord recent(Micros span) const;

  /// Ends the recording and hands out all of it.
  [[nodiscard]] WatchRecord stop();

 private:
  [[nodiscard]] WatchRecord record_of(Telemetry telemetry) const;
  void note_others(const Telemetry& recent, Micros at);

  bool has_meters_;
  std::optional<WatchTarget> target_;
  std::optional<WatchedTree> tree_;
  std::vector<WatchedProcess> others_;
  std::optional<int> logical_cores_;
  std::vector<std::string> unmetered_;
  bool no_gpu_ = false;
  std::optional<Micros> ended_at_;
  Clock::time_point began_;
  meters::Sampler sampler_;
};

}  // namespace picchio
