// Device nodes and groups of users, as the kernel decides who may open what.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace picchio::os {

struct NodeStatus {
  int error = 0;                 // errno of the trial; 0: it may be opened
  std::optional<unsigned> mode;  // permission bits
  std::optional<unsigned> gid;
};

enum class NodeTrial {
  open,  // for reading and writing, without waiting: what a list of devices forbids (cgroup) shows
         // in nothing else. Wakes a card that sleeps
  ask,   // by owner and mode alone
};
[[nodiscard]] NodeStatus try_node(const std::string& path, NodeTrial trial);

/// Our effective group and the supplementary ones.
[[nodiscard]] std::vector<unsigned> own_groups();
[[nodiscard]] int own_uid();

}  // namespace picchio::os
