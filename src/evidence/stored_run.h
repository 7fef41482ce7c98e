// A run as the history keeps it, and how the newest one lies among the earlier ones. Made by
// history/, printed by report/. Texts may come from another machine's export: plain() before a
// terminal.
#pragma once

#include "evidence/comparison.h"
#include "evidence/figures.h"
#include "evidence/moment.h"
#include "evidence/verdict.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// What is kept of one measured run.
struct RecordedRun {
  Moment at{};
  std::string host;        // the machine's name; empty: not told
  std::string model_key;   // real path of the model file, or of a server "URL MODEL"
  std::string model_file;  // real path, also of a server's where it is known; empty: it is not
  std::string rule;        // of the verdict
  std::vector<Testimony> testimonies;
  RunFigures figures;
  std::string block;  // as it was printed; empty: not kept
};

struct StoredRun {
  std::int64_t id = 0;  // "@12": stays with the run, and is never given again
  std::string content;  // names the run on every machine: 32 hex digits
  RecordedRun run;
};

/// Tokens per second of one lane: the warm passes' median and range, or the only pass's rate.
struct StoredLane {
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
};

/// A run as tables show it; made without reading the whole record.
struct StoredRow {
  std::int64_t id = 0;  // 0: not in a history
  Moment at{};          // the epoch: not told
  std::string content;
  std::string host;
  std::string model_key;
  std::string model;
  std::string quant;  // as told, else as the name says; empty: neither
  std::string protocol;
  std::string engine;
  std::string build;
  std::optional<State> state;
  std::optional<double> gpu_share;  // of the weight bytes, 0 to 1
  std::array<StoredLane, 3> lanes;  // in the order of kLanes
  bool one_pass = false;            // the lanes are of the only pass, a cold one
  std::string chip;
  std::string gpu;
  std::string driver;
  std::string os;
  std::string kv_type_k;
  std::string kv_type_v;

  [[nodiscard]] const StoredLane& lane(Lane which) const {
    return lanes[static_cast<std::size_t>(which)];
  }
};

/// The same of a run that is at hand; `id` and `content` are the history's, 0 and empty without
/// one.
[[nodiscard]] StoredRow stored_row(std::int64_t id, std::string content, const RecordedRun& run);

/// A lane that fell outside the spread of earlier runs.
struct DriftedLane {
  Lane lane = Lane::decode;
  double value = 0;  // tokens per second, like the others
  double low = 0;    // of the earlier runs
  double high = 0;
  bool operator==(const DriftedLane&) const = default;
};

/// How a run lies among the earlier ones of the same model, protocol and machine. Never evidence
/// for a verdict.
struct Drift {
  std::int64_t id = 0;           // of this run
  std::size_t earlier_runs = 0;  // that were looked at
  std::vector<DriftedLane> outside;
  std::optional<std::int64_t> since;         // the last of the earlier runs
  std::optional<ComparedCondition> changed;  // since then, the first of what explains rates
};

}  // namespace picchio
