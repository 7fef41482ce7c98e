// From probe to probe: where a server stands, and what changed. Pure: an ordered table of named
// rules over the verdict on the probe itself and over how far its rates lie from the server's own.
#pragma once

#include "evidence/monitored.h"
#include "verdict/baseline.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// What the rules look at.
struct MonitorScene {
  const Probe& probe;
  RateDeviation deviation;  // nothing in it: no baseline, or these rates do not count
  int slow_probes = 0;      // in a row, this one included, that were somewhat slower in every lane
  int slow_bound = 0;    // so many in a row are no chance, as often as this server has single ones
  int dips = 0;          // of the last hundred probes, this one included, that fell to half
  bool failing = false;  // the probe before failed as well
  bool proven = false;   // an earlier probe of this load was judged to run where it should
};

struct MonitorFinding {
  Standing standing = Standing::unknown;
  std::string sentence;
};

struct MonitorRule {
  std::string_view name;
  std::optional<MonitorFinding> (*find)(const MonitorScene&);
};

/// First match wins; where none does the standing stays as it was.
[[nodiscard]] std::span<const MonitorRule> monitor_rules();

class MonitorJudge {
 public:
  explicit MonitorJudge(MonitorStatus start) : status_(std::move(start)) {}

  /// What changed with this probe, in the order to tell it.
  [[nodiscard]] std::vector<MonitorEvent> add(const Probe& probe);

  [[nodiscard]] const MonitorStatus& status() const { return status_; }

 private:
  [[nodiscard]] MonitorEvent event_of(MonitorEvent::Kind kind, const Probe& probe) const;
  void count(const Probe& probe);
  void note_state(const Probe& probe);
  void look_at_clock(const Probe& probe, std::vector<MonitorEvent>& events);
  void look_at_process(const Probe& probe, std::vector<MonitorEvent>& events);
  [[nodiscard]] MonitorScene scene_of(const Probe& probe);
  void stand(const Probe& probe, Standing standing, std::string_view rule, std::string sentence,
             std::vector<MonitorEvent>& events);
  void learn(const Probe& probe, std::vector<MonitorEvent>& events);

  MonitorStatus status_;
  RateBaseline baseline_;
  Standing last_answered_ = Standing::unknown;  // before it was lost
  std::optional<int> pid_;
  std::string model_;
  std::optional<Micros> clock_offset_;  // of the wall clock against the time
  int slow_probes_ = 0;
  double slow_before_ = 0;  // of `compared_`, those in runs that ended
  double compared_ = 0;     // both of the latest some hundred
  std::vector<std::int64_t> dips_;
  bool failed_before_ = false;
  bool proven_ = false;
};

/// The worst that was seen decides: 4 for a fall to the CPU, or to rates that are none of its own;
/// 5, 3. Then 2 for a server that answered no probe, or does not any more, and 7 with `strict`
/// where nothing tells where it runs.
[[nodiscard]] ExitCode exit_code_of(const MonitorStatus& status, bool strict);

[[nodiscard]] MonitorVerdict verdict_of(const MonitorStatus& status);

}  // namespace picchio
