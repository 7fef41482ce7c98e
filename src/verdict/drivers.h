// Which of a process's libraries and open files mean that a GPU was within its reach. Pure.
#pragma once

#include <string>
#include <vector>

namespace picchio {

struct DriversInReach {
  std::vector<std::string>
      drivers;  // of hardware; a GPU's own library, not a loader or a ggml backend
  std::vector<std::string> software;  // of renderers that are the CPU
  std::vector<std::string> nodes;     // device nodes through which a GPU computes

  [[nodiscard]] bool none() const { return drivers.empty() && nodes.empty(); }
};

[[nodiscard]] DriversInReach drivers_in_reach(const std::vector<std::string>& libraries,
                                              const std::vector<std::string>& device_nodes);

}  // namespace picchio
