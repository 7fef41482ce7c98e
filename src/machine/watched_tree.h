// A process and its children while somebody else runs them: who belongs to it, what CPU time it
// takes, which GPU devices it has open.
#pragma once

#include "base/result.h"
#include "evidence/watched.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio {

class WatchedTree {
 public:
  /// `left_out`: a process that may be a child of the target and must not count, namely us. An
  /// error: there is no such process, or it has ended and only waits to be waited for.
  [[nodiscard]] static Result<WatchedTree> of(const std::string& root, int pid, int left_out);

  /// Looks at all of it; false when the target has ended. Costs some reads of /proc a process.
  bool look(Micros at);

  [[nodiscard]] int pid() const { return pid_; }
  /// As it was last seen: a shell may have become what it was to start.
  [[nodiscard]] const std::string& name() const {
    return members_.empty() ? name_ : members_.front().name;
  }
  [[nodiscard]] const std::vector<int>& pids() const { return pids_; }  // as of the latest look

  /// Everybody who was of the tree at some look.
  [[nodiscard]] const std::vector<WatchedProcess>& members() const { return members_; }
  [[nodiscard]] const std::vector<CpuSample>& cpu() const { return cpu_; }

  /// Each once, sorted.
  [[nodiscard]] const std::vector<std::string>& device_nodes() const { return nodes_; }
  /// Open files and mappings of everybody could be seen at every look so far, and tell of GPUs:
  /// false where there is no /proc.
  [[nodiscard]] bool readable() const { return readable_; }

 private:
  WatchedTree(std::string root, int pid, int left_out, std::int64_t start_ticks, std::string name)
      : root_(std::move(root)),
        pid_(pid),
        left_out_(left_out),
        start_ticks_(start_ticks),
        name_(std::move(name)) {}

  [[nodiscard]] bool is_alive() const;
  void note_member(int pid, Micros at);
  void note_nodes(int pid);
  void sample_cpu(Micros at);

  std::string root_;
  int pid_;
  int left_out_;
  std::int64_t start_ticks_;  // with the pid it is this process and no later one
  std::string name_;
  std::vector<int> pids_;
  std::vector<WatchedProcess> members_;
  std::vector<CpuSample> cpu_;
  std::vector<std::string> nodes_;
  bool readable_ = true;
};

}  // namespace picchio
