// What `picchio watch` recorded beside a process that somebody else started, and what that shows.
// Made by machine/ and verdict/, printed by report/.
#pragma once

#include "base/time.h"
#include "evidence/run.h"
#include "evidence/telemetry.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// A process of the watched tree, or one that was seen on a GPU.
struct WatchedProcess {
  int pid = 0;
  std::string name;      // as the kernel cuts it; untrusted; empty: gone before it was asked
  bool in_tree = false;  // it is, or descends from, the target
  Micros first{};        // when it was seen, on the recording's clock; a pid may be used again
  Micros last{};
};

/// The process that was to be watched, with its children.
struct WatchTarget {
  int pid = 0;
  std::string name;
  std::string found_by;  // "it listens on 127.0.0.1:11434"; empty: its pid was given
};

/// All that was recorded. Without a target the whole machine was watched.
struct WatchRecord {
  std::optional<WatchTarget> target;
  Micros length{};
  std::string ended;           // why it ended by itself: "process 4242 ended"; empty: it did not
  Telemetry telemetry;         // processes: of the whole machine, so that others are seen too
  std::vector<CpuSample> cpu;  // of the tree
  std::optional<int> logical_cores;
  std::vector<WatchedProcess> processes;
  /// Whether open files of the whole tree could be seen at every look. DRM drivers tell of a
  /// process by them.
  bool tree_readable = false;
  std::vector<std::string> device_nodes;  // that the tree had open at any look
  std::vector<std::string> unmetered;     // GPUs that could compute and that no meter reads
  bool no_gpu = false;  // every place was readable, and none shows a GPU that could compute
};

/// True when `pid` was of the target's tree at that moment, or close to it: the tree and the meters
/// are not looked at in the same instant.
[[nodiscard]] bool was_in_tree(const WatchRecord& record, int pid, Micros at);

/// Its name as it was last seen; empty: it was gone before it could be asked.
[[nodiscard]] std::string process_name(const WatchRecord& record, int pid);

enum class Activity { busy, idle, not_sure };
[[nodiscard]] std::string_view name_of(Activity activity);  // "GPU BUSY", "GPU IDLE", "NOT SURE"

/// What one process, or the whole tree, had of one GPU. Absent: not told, which is not none.
struct ProcessShare {
  int pid = 0;  // 0: the tree as a whole
  std::string name;
  bool in_tree = false;
  int looks = 0;                            // in which it stood in the meter's list
  int looks_told = 0;                       // in which its share of the time is known
  int looks_working = 0;                    // of those with kProcessWorking percent or more
  std::optional<double> busy_mean;          // percent of the GPU's time
  std::optional<double> busy_peak;          // at one look
  std::optional<std::int64_t> memory_peak;  // bytes
  std::optional<std::int64_t> evicted_peak;
};

/// One GPU over the whole watch.
struct WatchedGpu {
  int gpu = 0;  // index into Telemetry::gpus
  Activity activity = Activity::not_sure;
  std::string rule;
  std::string sentence;  // starts in lower case, no full stop
  int looks = 0;         // at which it answered
  int looks_asleep = 0;
  int looks_working = 0;  // with kDeviceWorking percent or more
  std::optional<double> busy_median;
  std::optional<double> busy_peak;
  std::optional<double> watts;  // median
  std::optional<double> joules;
  std::optional<std::int64_t> memory_median;
  std::optional<std::int64_t> memory_peak;
  int looks_throttled = 0;  // heat or the board, not a power cap
  int looks_power_capped = 0;
  std::string lost;  // why nothing was read any more; empty: it answered to the end
  Micros lost_at{};
  int process_looks = 0;                // how often processes were asked for
  ProcessShare tree;                    // without a target everybody
  std::vector<ProcessShare> processes;  // the tree's first, then the busiest, then the largest
};

struct WatchVerdict {
  Activity activity = Activity::not_sure;
  std::string rule;
  std::string sentence;  // ends in a full stop
  std::vector<WatchedGpu> gpus;
  std::optional<double> cpu_cores;  // that the tree kept busy
};

// A process that has so much of a GPU's time at a look works there: compositors and browsers stay
// below, token generation of the smallest models shows several times as much.
inline constexpr double kProcessWorking = 10;
// The same for the device as a whole, where desktops come in: windows that move reach 10 to 15.
inline constexpr double kDeviceWorking = 20;

}  // namespace picchio
