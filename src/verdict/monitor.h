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
  RateDeviation deviation;    // nothing in it: no baseline, or these rates do not count
  bool stays_slower = false;  // a lane was more often slower in a row than chance makes it
  int slow_probes = 0;        // so often
  int dips = 0;      // of the last hundred probes, this one included, in which a lane fell deep
  int failures = 0;  // answers that failed, in a row, this one included
  int busy_since_failure = 0;  // probes since an answer failed at which it was busy
  bool failing_often = false;  // a quarter of the latest twenty
  int unseen = 0;              // probes in a row, this one included, that told nothing at all
  int lane_missing = 0;        // probes in a row without a lane that the baseline has
  bool proven = false;         // an earlier probe of this load was judged to run where it should
  bool had_gpu = false;        // some earlier probe was judged to run on a GPU, if only in part
};

struct MonitorFinding {
  Standing standing = Standing::unknown;
  std::string sentence;
  bool of_verdict = false;  // on the probe: its cause is this finding's too, and none of rates
};

struct MonitorRule {
  std::string_view name;
  std::optional<MonitorFinding> (*find)(const MonitorScene&);
};

/// First match wins; where none does the standing stays as it was.
[[nodiscard]] std::span<const MonitorRule> monitor_rules();

/// How often one lane was slow, and how deep.
class LaneTrack {
 public:
  /// `deviation`, `spread`: see RateDeviation; absent: it was not compared.
  void add(std::int64_t probe, std::optional<double> deviation, double spread);

  [[nodiscard]] int slow_probes() const { return slow_; }
  [[nodiscard]] bool stays_slower() const { return stays_slower_; }
  [[nodiscard]] int dips() const { return dips_now_; }
  void forget() { *this = {}; }

 private:
  int slow_ = 0;            // in a row
  double slow_before_ = 0;  // of `compared_`, those in runs that ended
  double compared_ = 0;     // both of the latest some hundred
  bool stays_slower_ = false;
  int dips_now_ = 0;
  std::vector<std::int64_t> dips_;  // the latest hundred probes'
};

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
  void note_failures(const Probe& probe);
  void compare(const Probe& probe, MonitorScene& scene);
  void look_at_process(const Probe& probe, std::vector<MonitorEvent>& events);
  [[nodiscard]] MonitorScene scene_of(const Probe& probe);
  void stand(const Probe& probe, const MonitorRule& rule, MonitorFinding found,
             std::vector<MonitorEvent>& events);
  void learn(const Probe& probe, std::vector<MonitorEvent>& events);

  MonitorStatus status_;
  RateBaseline baseline_;
  Standing last_answered_ = Standing::unknown;  // before it was lost
  std::optional<int> pid_;
  std::string model_;
  std::optional<Micros> clock_offset_;  // of the wall clock against the time
  LaneTrack prefill_track_;
  LaneTrack decode_track_;
  std::vector<bool> failed_;  // of the latest answers, whether they failed
  int failures_ = 0;
  int busy_since_failure_ = 0;
  int unseen_ = 0;
  int lane_missing_ = 0;
  bool proven_ = false;
  bool had_gpu_ = false;
};

/// The worst that was seen decides: 4 for a fall to the CPU, or to rates that are none of its own;
/// 5, 3. Then 2 for a server that answered no probe, or does not any more, and 7 with `strict`
/// where nothing tells where it runs.
[[nodiscard]] ExitCode exit_code_of(const MonitorStatus& status, bool strict);

[[nodiscard]] MonitorVerdict verdict_of(const MonitorStatus& status);

}  // namespace picchio
