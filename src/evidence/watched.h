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
  bool others_hidden = false;             // other users' processes could not be looked into
  std::vector<std::string> unmetered;     // GPUs that could compute and that no meter reads
  bool gpus_known = false;                // every place was readable where a GPU could show
};

enum class Activity { busy, idle, not_sure };
[[nodiscard]] std::string_view name_of(Activity activity);  // "GPU BUSY", "GPU IDLE", "NOT SURE"

/// What one process had of one GPU.
struct ProcessShare {
  int pid = 0;
  std::string name;
  bool in_tree = false;
  int looks = 0;                            // in which it had anything of the GPU
  std::optional<double> busy_mean;          // percent of the GPU's time over the whole stretch
  std::optional<double> busy_peak;          // at one look
  std::optional<std::int64_t> memory_peak;  // bytes
  std::optional<std::int64_t> evicted_peak;
};

/// One GPU over the whole watch, or over a part of it.
struct WatchedGpu {
  int gpu = 0;  // index into Telemetry::gpus
  Activity activity = Activity::not_sure;
  std::string_view rule;
  std::string sentence;  // starts in lower case, no full stop
  int looks = 0;
  int looks_busy = 0;  // at least kWorking percent
  int looks_asleep = 0;
  std::optional<double> busy_median;
  std::optional<double> busy_peak;
  std::optional<double> watts;  // mean
  std::optional<double> joules;
  std::optional<std::int64_t> memory_median;
  std::optional<std::int64_t> memory_peak;
  double throttled_share = 0;  // of the looks: heat or the board, not a power cap
  double power_capped_share = 0;
  std::string lost;  // why nothing was read any more; empty: it answered to the end
  Micros lost_at{};
  std::vector<ProcessShare> processes;  // the tree's first, then by use
};

struct WatchVerdict {
  Activity activity = Activity::not_sure;
  std::string rule;
  std::string sentence;  // ends in a full stop
  std::vector<WatchedGpu> gpus;
  std::optional<double> cpu_cores;  // that the tree kept busy
};

}  // namespace picchio
