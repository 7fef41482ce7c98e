// Which process a pid of the driver's is. The driver counts processes as the machine does; inside a
// container the same process has another number, and the same number is another process.
#pragma once

#include "base/result.h"

#include <map>
#include <span>
#include <string>

namespace picchio::meters::nvml {

class Pids {
 public:
  /// An error when the driver's pids cannot be told from ours in this place.
  [[nodiscard]] static Result<Pids> look(const std::string& root);

  /// The driver's number of each of `pids` that is there -> that of ours.
  [[nodiscard]] std::map<int, int> of_driver(std::span<const int> pids) const;

 private:
  Pids(std::string root, std::string name_space, std::size_t depth)
      : root_(std::move(root)), name_space_(std::move(name_space)), depth_(depth) {}

  std::string root_;
  std::string name_space_;  // ours: "pid:[4026532201]"
  std::size_t depth_;       // namespaces between the machine's and ours; 0: we are in the machine's
};

}  // namespace picchio::meters::nvml
