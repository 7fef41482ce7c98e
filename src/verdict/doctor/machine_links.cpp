// The links up to the driver's libraries.
#include "base/text.h"
#include "verdict/doctor/links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace picchio::doctor {
namespace {

bool loaded(const Scene& scene, std::string_view module) {
  const auto& names = scene.checkup.drivers.loaded;
  return std::ranges::find(names, module) != names.end();
}

std::vector<const MachineGpu*> cards(const Scene& scene) {
  std::vector<const MachineGpu*> out;
  for (const MachineGpu& gpu : scene.checkup.machine.gpus) {
    if (gpu.can_compute) out.push_back(&gpu);
  }
  return out;
}

std::string housed_in(const Housing& housing) {
  std::vector<std::string> parts;
  if (!housing.container.empty()) parts.push_back("a container: " + plain(housing.container));
  if (!housing.sandbox.empty()) parts.push_back("a sandbox: " + plain(housing.sandbox));
  if (housing.wsl) parts.emplace_back("WSL");
  if (!housing.virtual_machine.empty()) {
    parts.push_back("a virtual machine: " + plain(housing.virtual_machine));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string mode_of(const NodeLook& node) {
  return node.mode ? fmt::format("mode {:04o}", *node.mode) : "mode unknown";
}

std::string owner_of(const NodeLook& node) {
  if (!node.gid) return "group unknown";
  return node.group.empty() ? fmt::format("group {} without a name", *node.gid)
                            : "group " + plain(node.group);
}

/// A node that one backend of several needs: without it the others still reach the card.
bool is_only_for_one(const NodeLook& node) { return node.path == "/dev/kfd"; }

std::vector<const NodeLook*> with_access(const Scene& scene, NodeAccess access) {
  std::vector<const NodeLook*> out;
  for (const NodeLook& node : scene.checkup.nodes) {
    if (node.access == access) out.push_back(&node);
  }
  return out;
}

/// "/dev/nvidia" of "/dev/nvidia1": nodes of cards of one kind.
std::string_view kind_of(std::string_view path) {
  while (!path.empty() && is_digit(path.back())) path.remove_suffix(1);
  return path;
}

/// Another card of the same kind is open to us: on a shared machine the rest are not ours.
bool another_opens(const Scene& scene, const NodeLook& node) {
  return std::ranges::any_of(scene.checkup.nodes, [&](const NodeLook& other) {
    return other.access == NodeAccess::opened && other.path != node.path &&
           kind_of(other.path) == kind_of(node.path);
  });
}

bool spared_by_card(const Scene& scene, const NodeLook& node) {
  return std::ranges::any_of(scene.checkup.machine.gpus, [&](const MachineGpu& gpu) {
    return !node.card.empty() && gpu.address == node.card && made_up_for(scene, gpu);
  });
}

bool any_opens(const Scene& scene, std::string_view prefix) {
  return std::ranges::any_of(scene.checkup.nodes, [&](const NodeLook& node) {
    return node.access == NodeAccess::opened && node.path.starts_with(prefix);
  });
}

std::string no_permission(const Scene& scene, const NodeLook& node) {
  std::string out =
      fmt::format("{} may not be opened by {}: {}, {}", node.path,
                  scene.checkup.user.empty() ? "this user" : plain(scene.checkup.user),
                  owner_of(node), mode_of(node));
  if (node.assigned && !node.member) out += "; the group was given after this session began";
  return out + ".";
}

/// The node's own group where it has a name, by number in a container; the session that does not
/// know of it yet is to begin anew.
std::string group_remedy(const Scene& scene, const NodeLook& node) {
  if (node.assigned && !node.member) return "log in again, so that the session gets the group";
  if (!node.gid) return remedy(scene, "device_permission");
  const bool by_group = (node.mode.value_or(0) & 0060U) == 0060U;
  if (scene.contained() && by_group) return fmt::format("start it with --group-add {}", *node.gid);
  // Root's own group would give away more than the card, and one without a name cannot be joined.
  if (!by_group || node.group.empty() || node.group == "root") {
    return fmt::format("sudo setfacl -m u:$USER:rw {}", node.path);
  }
  return fmt::format("sudo usermod -aG {} $USER, then log in again", plain(node.group));
}

constexpr std::string_view kKernelDriver = "kernel-driver";
constexpr std::string_view kPermissions = "permissions";
constexpr std::string_view kLibraries = "driver-libraries";

/// Of several cards or nodes: what is broken before what is only odd, else the first.
void keep_worse(std::optional<CheckedLink>& kept, CheckedLink found) {
  const bool worse = kept && kept->state == LinkState::warning && found.state == LinkState::broken;
  if (!kept || worse) kept = std::move(found);
}

/// The module of a card that nothing drives is there and cannot be loaded.
std::optional<CheckedLink> unloaded_module(const Scene& scene, const std::string& found,
                                           const std::string& module) {
  const KernelDrivers& drivers = scene.checkup.drivers;
  if (std::ranges::find(drivers.blacklisted, module) != drivers.blacklisted.end()) {
    CheckedLink out = broken(scene, kKernelDriver, "driver_not_loaded",
                             fmt::format("{} Its module {} is blacklisted.", found, module));
    out.remedy = fmt::format("remove 'blacklist {}' from /etc/modprobe.d, reboot", module);
    return out;
  }
  if (module != "nvidia") return std::nullopt;
  if (drivers.nvidia_for_this_kernel && drivers.secure_boot == true) {
    return broken(scene, kKernelDriver, "secure_boot_unsigned_module",
                  found +
                      " Its module is built for this kernel, and Secure Boot is on, which refuses "
                      "modules without a key that it knows.");
  }
  if (drivers.nvidia_for_this_kernel || !drivers.nvidia_for_another_kernel) return std::nullopt;
  CheckedLink out = broken(scene, kKernelDriver, "driver_not_loaded",
                           fmt::format("{} Its module is built for another kernel than {}.", found,
                                       plain(drivers.kernel)));
  out.remedy = "build it for this kernel: sudo dkms autoinstall";
  return out;
}

/// What is wrong with the driver of a card; nullopt: one is bound.
std::optional<CheckedLink> without_driver(const Scene& scene, const MachineGpu& gpu) {
  if (gpu.driver == "nouveau" && gpu.vendor == "NVIDIA") {
    return warning(scene, kKernelDriver, "nouveau_bound",
                   fmt::format("The nouveau driver holds {}: CUDA needs NVIDIA's own; Vulkan works "
                               "with Mesa's NVK.",
                               plain(gpu.name)));
  }
  if (gpu.driver == "vfio-pci") {
    CheckedLink out =
        broken(scene, kKernelDriver, "driver_not_loaded",
               fmt::format("{} is set aside for a virtual machine (vfio-pci).", plain(gpu.name)));
    out.remedy = "give the card back to its driver on this machine";
    if (cards(scene).size() > 1) out.state = LinkState::warning;
    return out;
  }
  // A device that is not on PCI is listed by its node or its driver.
  if (!gpu.driver.empty() || gpu.address.empty()) return std::nullopt;
  const std::string found = fmt::format("No driver is bound to {}.", plain(gpu.name));
  const std::string module = gpu.vendor == "NVIDIA" ? "nvidia"
                             : gpu.vendor == "AMD"  ? "amdgpu"
                                                    : "";
  if (auto why = unloaded_module(scene, found, module)) return why;
  return broken(scene, kKernelDriver, "driver_not_loaded", found);
}

/// Nodes of a card that are not there; of no card: those that belong to none.
std::optional<CheckedLink> missing_nodes(const Scene& scene, const MachineGpu& gpu) {
  constexpr std::string_view kId = "device-nodes";
  std::vector<std::string> paths;
  bool all_optional = true;
  for (const NodeLook* node : with_access(scene, NodeAccess::missing)) {
    if (node->card != gpu.address) continue;
    paths.push_back(node->path);
    all_optional = all_optional && is_only_for_one(*node);
  }
  if (paths.empty()) return std::nullopt;
  const std::string list =
      fmt::format("{} {} missing", fmt::join(paths, ", "), paths.size() == 1 ? "is" : "are");
  if (all_optional) {
    return warning(scene, kId, "device_node_missing", list + ": ROCm cannot compute, Vulkan can.");
  }
  CheckedLink out = broken(scene, kId, "device_node_missing", list + ".");
  if (scene.contained()) {
    out = broken(scene, kId, "container_without_gpu",
                 list + ": the card shows in /sys, and was not passed in.");
  } else if (scene.checkup.housing.wsl) {
    out.remedy = "wsl --update, and the GPU's driver on the Windows side";
  }
  if (!gpu.address.empty() && made_up_for(scene, gpu)) out.state = LinkState::warning;
  return out;
}

std::optional<CheckedLink> not_opened(const Scene& scene, const NodeLook& node) {
  switch (node.access) {
    case NodeAccess::opened:
    case NodeAccess::missing:
      return std::nullopt;
    case NodeAccess::no_permission: {
      CheckedLink out =
          broken(scene, kPermissions, "device_permission", no_permission(scene, node));
      out.remedy = group_remedy(scene, node);
      return out;
    }
    case NodeAccess::refused:
      return broken(scene, kPermissions, "cgroup_device_refused",
                    fmt::format("{} is refused although its mode would do ({}, {}): a list of "
                                "devices forbids it.",
                                node.path, owner_of(node), mode_of(node)));
    case NodeAccess::no_device:
      return broken(scene, kPermissions, "driver_not_working",
                    node.path + " leads to no device: the driver lost it, or never had it.");
    case NodeAccess::failed:
      return broken(scene, kPermissions, "driver_not_working", node.path + " cannot be opened.");
  }
  return std::nullopt;
}

/// What the driver's own meter says, where it does not start.
std::optional<CheckedLink> meter_trouble(const Scene& scene, bool of_versions) {
  const std::vector<DriverTrouble>& troubles = scene.checkup.telemetry.troubles;
  if (troubles.empty()) return std::nullopt;
  const DriverTrouble& trouble = troubles.front();
  const bool mismatch = lower(trouble.what).contains("version");
  if (mismatch != of_versions) return std::nullopt;
  // What an earlier link said in its own words is not said again.
  if (scene.broken_before && !mismatch) return skipped(kLibraries, "Cannot be judged before that.");
  CheckedLink out = broken(scene, kLibraries, mismatch ? "driver_mismatch" : "driver_not_working",
                           plain(trouble.what) + ".");
  if (!mismatch) out.remedy = plain(trouble.remedy);
  return out;
}

std::optional<CheckedLink> wrong_library(const Scene& scene, const LibraryLook& library) {
  const std::string& kernel = scene.checkup.drivers.nvidia_version;
  const bool of_nvidia = library.name == "libcuda.so.1" || library.name == "libnvidia-ml.so.1";
  if (of_nvidia && !library.version.empty() && !kernel.empty() && library.version != kernel) {
    return broken(scene, kLibraries, "driver_mismatch",
                  fmt::format("The kernel runs driver {}, {} is of {}.", plain(kernel),
                              library.name, library.version));
  }
  if (library.name != "libcuda.so.1") return std::nullopt;
  if (library.path.empty()) {
    if (scene.broken_before) return std::nullopt;
    CheckedLink out = broken(scene, kLibraries, "driver_library_missing",
                             "libcuda.so.1 is nowhere that the loader looks.");
    if (scene.contained() && any_opens(scene, "/dev/nvidia")) {
      out.remedy = "start it with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility";
    }
    return out;
  }
  if (scene.checkup.housing.wsl && !library.path.starts_with("/usr/lib/wsl/")) {
    return broken(scene, kLibraries, "wsl_driver",
                  plain(library.path) + " hides the libcuda that WSL brings.");
  }
  return std::nullopt;
}

std::optional<CheckedLink> poor_vulkan(const Scene& scene) {
  const std::vector<VulkanDriver>& drivers = scene.checkup.vulkan;
  if (drivers.empty()) {
    if (scene.vendor != "AMD" && scene.vendor != "Intel") return std::nullopt;
    CheckedLink out =
        warning(scene, kLibraries, "software_vulkan_device", "No Vulkan driver is installed.");
    if (scene.checkup.machine.distribution == "debian") {
      out.remedy = "apt install mesa-vulkan-drivers";
    }
    return out;
  }
  const bool software_only = std::ranges::all_of(drivers, &VulkanDriver::software);
  if (!software_only || scene.vendor == "NVIDIA") return std::nullopt;
  return warning(scene, kLibraries, "software_vulkan_device",
                 fmt::format("The only Vulkan driver renders on the CPU: {}.",
                             plain(base_name(drivers.front().manifest))));
}

}  // namespace

CheckedLink gpu_on_bus(const Scene& scene) {
  constexpr std::string_view kId = "gpu-on-bus";
  const Machine& machine = scene.checkup.machine;
  std::vector<std::string> names;
  for (const MachineGpu* gpu : cards(scene)) names.push_back(plain(gpu->name));
  if (!names.empty()) return fine(kId, fmt::format("{}.", fmt::join(names, "; ")));
  if (scene.gpu) {
    return skipped(kId, "No card shows on the bus, but a GPU's driver speaks of one.");
  }
  if (!machine.gpus_known) {
    return {std::string(kId), LinkState::warning,
            fmt::format("Cannot be seen: {}.", plain(machine.gpus_unknown_reason)),
            "let /sys and /dev be read, then ask again", "log_lacks_evidence"};
  }
  std::string found = "No GPU in this machine.";
  if (!machine.gpus.empty()) {
    found = fmt::format("No GPU that computes: {} ({}).", plain(machine.gpus.front().name),
                        plain(machine.gpus.front().no_compute_reason));
  }
  CheckedLink out = skipped(kId, found);
  out.cause = "no_gpu_in_machine";
  const Housing& housing = scene.checkup.housing;
  if (housing.wsl) {
    out.remedy = "wsl --update, and the GPU's driver on the Windows side";
  } else if (!housing.virtual_machine.empty()) {
    out.remedy = "if the host has a GPU, pass it through to this virtual machine";
  }
  return out;
}

CheckedLink surroundings(const Scene& scene) {
  const Housing& housing = scene.checkup.housing;
  const std::string where = housed_in(housing);
  if (!housing.sandbox.empty() && scene.gpu && !with_access(scene, NodeAccess::missing).empty()) {
    return broken(scene, "surroundings", "sandbox_hides_gpu",
                  fmt::format("Runs in {}, where {} is missing.", where,
                              with_access(scene, NodeAccess::missing).front()->path));
  }
  return fine("surroundings",
              where.empty() ? "No container and no virtual machine." : "Runs in " + where + ".");
}

CheckedLink kernel_driver(const Scene& scene) {
  if (!scene.gpu) return skipped(kKernelDriver, "Nothing to drive.");
  std::vector<std::string> bound;
  std::optional<CheckedLink> trouble;
  for (const MachineGpu* gpu : cards(scene)) {
    std::optional<CheckedLink> found = without_driver(of_card(scene, *gpu), *gpu);
    if (found) {
      if (made_up_for(scene, *gpu)) found->state = LinkState::warning;
      keep_worse(trouble, *std::move(found));
    } else {
      bound.push_back(gpu->driver.empty() ? gpu->source : gpu->driver);
    }
  }
  if (trouble) return *std::move(trouble);
  const KernelDrivers& drivers = scene.checkup.drivers;
  std::string found = fmt::format("{}", fmt::join(bound, ", "));
  if (!drivers.nvidia_version.empty()) found += fmt::format(" {}", plain(drivers.nvidia_version));
  if (found.empty()) found = loaded(scene, "nvidia") ? "nvidia" : "as the driver's own meter says";
  return fine(kKernelDriver, found + ".");
}

CheckedLink device_nodes(const Scene& scene) {
  constexpr std::string_view kId = "device-nodes";
  if (!scene.gpu) return skipped(kId, "None is needed.");
  if (scene.broken_before) return skipped(kId, "Cannot be judged before that.");
  if (scene.checkup.nodes.empty()) return skipped(kId, "None is known for this kind of GPU.");
  std::vector<std::string> all;
  all.reserve(scene.checkup.nodes.size());
  for (const NodeLook& node : scene.checkup.nodes) all.push_back(node.path);
  std::optional<CheckedLink> trouble;
  for (const MachineGpu* gpu : cards(scene)) {
    if (auto found = missing_nodes(of_card(scene, *gpu), *gpu)) {
      keep_worse(trouble, *std::move(found));
    }
  }
  if (!trouble) trouble = missing_nodes(scene, MachineGpu{});
  if (trouble) return *std::move(trouble);
  return fine(kId, fmt::format("{}.", fmt::join(all, ", ")));
}

CheckedLink permissions(const Scene& scene) {
  if (!scene.gpu) return skipped(kPermissions, "Nothing to open.");
  std::vector<std::string> opened;
  std::optional<CheckedLink> trouble;
  for (const NodeLook& node : scene.checkup.nodes) {
    if (node.access == NodeAccess::opened) opened.push_back(node.path);
    std::optional<CheckedLink> found = not_opened(scene, node);
    if (!found) continue;
    const bool spared = (is_only_for_one(node) && any_opens(scene, "/dev/dri/")) ||
                        another_opens(scene, node) || spared_by_card(scene, node);
    if (spared || node.access == NodeAccess::failed) found->state = LinkState::warning;
    keep_worse(trouble, *std::move(found));
  }
  if (trouble) return *std::move(trouble);
  if (opened.empty()) return skipped(kPermissions, "There is no node to open.");
  return fine(kPermissions, fmt::format("{} can be opened.", fmt::join(opened, ", ")));
}

CheckedLink driver_libraries(const Scene& scene) {
  if (!scene.gpu) return skipped(kLibraries, "None is needed.");
  if (std::optional<CheckedLink> trouble = meter_trouble(scene, true)) return *std::move(trouble);
  std::vector<std::string> found;
  for (const LibraryLook& library : scene.checkup.libraries) {
    if (std::optional<CheckedLink> wrong = wrong_library(scene, library)) return *std::move(wrong);
    if (library.path.empty()) continue;
    found.push_back(library.version.empty() ? library.name
                                            : fmt::format("{} {}", library.name, library.version));
  }
  if (std::optional<CheckedLink> trouble = meter_trouble(scene, false)) return *std::move(trouble);
  if (std::optional<CheckedLink> poor = poor_vulkan(scene)) return *std::move(poor);
  const std::size_t vulkan = scene.checkup.vulkan.size();
  if (vulkan > 0)
    found.push_back(fmt::format("{} Vulkan driver{}", vulkan, vulkan == 1 ? "" : "s"));
  if (found.empty()) return skipped(kLibraries, "None was found, and none is known to be needed.");
  return fine(kLibraries, fmt::format("{}.", fmt::join(found, ", ")));
}

}  // namespace picchio::doctor
