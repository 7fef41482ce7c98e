// What a look at this machine found, from its cards to its engines, without running a model.
// Gathered by machine/ and commands/, judged by verdict/doctor. Strings of files and of programs
// are untrusted.
#pragma once

#include "evidence/device.h"
#include "evidence/machine.h"
#include "evidence/telemetry.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// What we run in. Empty: none that can be seen.
struct Housing {
  std::string container = {};  // "docker", "lxc", ...; "a mount namespace" where it has no name
  std::string sandbox = {};    // "snap", "flatpak"
  std::string virtual_machine = {};  // "KVM", "VMware Virtual Platform"
  bool wsl = false;
};

enum class NodeAccess {
  opened,         // for reading and writing
  missing,        // there is no such node
  no_permission,  // by its owner and mode
  refused,        // though its mode allows it: a list of devices forbids it
  no_device,      // the node leads to no device
  failed,         // anything else
};
[[nodiscard]] std::string_view name_of(NodeAccess access);

/// A device node through which a GPU computes.
struct NodeLook {
  std::string path;  // "/dev/dri/renderD128"
  std::string card;  // address of the card that it is of; empty: of several, or not told
  NodeAccess access = NodeAccess::missing;
  std::optional<unsigned> mode;  // permission bits: 0660
  std::optional<unsigned> gid;
  std::string group;      // its name; empty: a number without one
  bool member = false;    // the group is one of ours now
  bool assigned = false;  // /etc/group has us in it, whatever this session began with
};

struct KernelDrivers {
  std::vector<std::string> loaded;       // of those that drive GPUs: "nvidia", "amdgpu", ...
  std::string nvidia_version;            // "550.54.14"; empty: not loaded, or it does not tell
  std::vector<std::string> blacklisted;  // by modprobe.d
  std::optional<bool> secure_boot;       // absent: no EFI, or not readable
  /// For NVIDIA's module: on the disk for the running kernel, or only for another.
  bool nvidia_for_this_kernel = false;
  bool nvidia_for_another_kernel = false;
  std::string kernel;  // "6.1.0-18-amd64"
};

/// A library that an engine's backend loads. No path: not found where the loader looks.
struct LibraryLook {
  std::string name;     // "libcuda.so.1"
  std::string path;     // the first that the loader would find
  std::string version;  // by the file that it leads to: "550.54.14"; empty: not told
};

/// A Vulkan driver by its manifest.
struct VulkanDriver {
  std::string manifest;
  std::string library;    // as the manifest names it; empty: it could not be read
  bool software = false;  // lavapipe and kin
};

/// An engine as it was found. A Python wheel is looked at, not asked.
struct EngineFound {
  std::string name;  // "llama-server", "llama-cpp-python"
  std::string path;
  std::string version;                   // "b11669"; empty: not told
  std::vector<std::string> backends;     // GPU backends that lie with it or in it: "vulkan"
  bool backends_known = false;           // false: how it was built cannot be seen
  std::vector<std::string> load_errors;  // the loader's words on those that did not load
  bool asked = false;                    // it was run with --list-devices
  std::vector<Device> devices;           // that it listed
  std::string failure;                   // why it could not be asked; empty: it was, or cannot be
};

struct OllamaFound {
  std::string path;                    // of the program; empty: not on PATH
  std::string library_folder;          // ".../lib/ollama"; empty: none
  std::vector<std::string> libraries;  // below it, those for GPUs: "cuda_v12", "rocm", "vulkan"
  std::optional<int> pid;              // of the server that runs
  std::map<std::string, std::string> environment;  // placement variables: its own, or the service's
  std::string environment_source;  // "process 812", "/etc/systemd/system/ollama.service.d/..."
  std::string user;                // that the service runs as
  std::vector<std::string> missing_groups;  // of the nodes, that this user is not in
};

struct Checkup {
  Machine machine;
  Housing housing;
  KernelDrivers drivers;
  std::vector<NodeLook> nodes;
  std::vector<LibraryLook> libraries;
  std::vector<VulkanDriver> vulkan;
  std::map<std::string, std::string> environment;  // ours: the variables that steer placement
  std::string user;                                // our name; empty: a number without one
  std::vector<EngineFound> engines;
  std::optional<OllamaFound> ollama;  // absent: neither installed nor running
  Telemetry telemetry;                // a short look of the meters: news, troubles, two samples
};

}  // namespace picchio
