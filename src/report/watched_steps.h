// A watch cut into steps of time: what the frame, the line and the timeline have in common; private
// to report/.
#pragma once

#include "evidence/watched.h"

#include <optional>
#include <string>
#include <vector>

namespace picchio::report {

/// One GPU over one step. Absent: not told in it.
struct GpuStep {
  std::optional<double> busy;  // mean of the looks
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> watts;
  std::optional<double> celsius;
  std::optional<double> tree_busy;  // of the target's tree
  std::optional<std::int64_t> tree_memory_bytes;
  bool asleep = false;
  std::string lost;
};

/// Of the looks after `from` up to and including `to`.
[[nodiscard]] GpuStep gpu_step(const WatchRecord& record, std::size_t gpu, Micros from, Micros to);

/// Cores that the tree kept busy meanwhile.
[[nodiscard]] std::optional<double> cpu_step(const WatchRecord& record, Micros from, Micros to);

/// What each process had at the last look; the tree's first, then the busiest.
struct ProcessNow {
  GpuProcessUse use;
  std::string name;
  bool in_tree = false;
};
[[nodiscard]] std::vector<ProcessNow> processes_now(const WatchRecord& record);

/// Members of the tree that were there at the end.
[[nodiscard]] int children_now(const WatchRecord& record);

[[nodiscard]] std::string target_text(const WatchRecord& record);  // "llama-server (pid 4242)"

}  // namespace picchio::report
