// Gathers a Checkup's facts of the machine from files below `root`: nothing is started, at most
// device nodes are opened. Engines, ollama's process and the meters are for commands/ to add.
#pragma once

#include "evidence/checkup.h"
#include "os/device_node.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace picchio {

/// All but environment, engines, ollama and telemetry. `environment` is ours: it names the folders
/// of libraries and Vulkan drivers.
[[nodiscard]] Checkup look_at_machine(const std::string& root, Machine machine,
                                      const std::map<std::string, std::string>& environment,
                                      os::NodeTrial trial);

// The parts, each in its file.
[[nodiscard]] Housing find_housing(const std::string& root,
                                   const std::map<std::string, std::string>& environment);
[[nodiscard]] KernelDrivers find_kernel_drivers(const std::string& root);
[[nodiscard]] std::vector<NodeLook> look_at_nodes(const std::string& root, const Machine& machine,
                                                  const Housing& housing, const std::string& user,
                                                  os::NodeTrial trial);
[[nodiscard]] std::vector<LibraryLook> find_libraries(
    const std::string& root, std::span<const std::string> names,
    const std::map<std::string, std::string>& environment);
[[nodiscard]] std::vector<VulkanDriver> find_vulkan_drivers(
    const std::string& root, const std::map<std::string, std::string>& environment);

/// "name:x:44:alice,bob" of /etc/group: whose numbers and members are these.
struct Group {
  std::string name;
  unsigned gid = 0;
  std::vector<std::string> members;
};
[[nodiscard]] std::vector<Group> read_groups(const std::string& root);

/// What ollama's unit files set: Environment= and User=, drop-ins last. Absent: no unit.
struct UnitFile {
  std::map<std::string, std::string> environment;
  std::string user;
  std::string source;  // the last file that set something
};
[[nodiscard]] std::optional<UnitFile> read_unit(const std::string& root, const std::string& name);

/// GPU backends by the names of ggml's libraries in a folder: "cuda", "vulkan".
[[nodiscard]] std::vector<std::string> gpu_backends_in(const std::string& folder);

/// What an engine's files say of the GPU backends it has: libraries of their own in `folders`, else
/// what is built into the program and its libraries. Fills `backends` and `backends_known`.
void find_backends(const std::vector<std::string>& folders, EngineFound& engine);

/// Wheels of llama-cpp-python below the usual folders of Python packages.
[[nodiscard]] std::vector<EngineFound> find_wheels(
    const std::string& root, const std::map<std::string, std::string>& environment);

}  // namespace picchio
