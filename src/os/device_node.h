// Device nodes and groups of users, as the kernel decides who may open what.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace picchio::os {

struct NodeStatus {
  int error = 0;                 // errno of opening it; 0: it was opened
  std::optional<unsigned> mode;  // permission bits
  std::optional<unsigned> gid;
};
/// Opens the node for reading and writing, without waiting, and closes it again: what a list of
/// devices (cgroup) forbids shows in nothing else.
[[nodiscard]] NodeStatus try_node(const std::string& path);

/// Our effective group and the supplementary ones.
[[nodiscard]] std::vector<unsigned> own_groups();
[[nodiscard]] int own_uid();

}  // namespace picchio::os
