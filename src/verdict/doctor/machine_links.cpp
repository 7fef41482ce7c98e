// The links up to the driver's libraries.
#include "base/text.h"
#include "verdict/doctor/links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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
  if (scene.contained()) return fmt::format("start it with --group-add {}", *node.gid);
  // A group of root's alone would give away more than the card.
  const bool usable = node.mode.value_or(0) & 0060U;
  if (!usable || node.group.empty() || node.group == "root") {
    return remedy(scene, "device_permission");
  }
  return fmt::format("sudo usermod -aG {} $USER, then log in again", plain(node.group));
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
  constexpr std::string_view kId = "kernel-driver";
  if (!scene.gpu) return skipped(kId, "Nothing to drive.");
  const KernelDrivers& drivers = scene.checkup.drivers;
  std::vector<std::string> bound;
  for (const MachineGpu* gpu : cards(scene)) {
    if (gpu->driver == "nouveau" && gpu->vendor == "NVIDIA") {
      return warning(scene, kId, "nouveau_bound",
                     "The nouveau driver holds " + plain(gpu->name) +
                         ": CUDA needs NVIDIA's own; Vulkan works with Mesa's NVK.");
    }
    if (gpu->driver == "vfio-pci") {
      CheckedLink out =
          broken(scene, kId, "driver_not_loaded",
                 plain(gpu->name) + " is set aside for a virtual machine (vfio-pci).");
      out.remedy = "give the card back to its driver on this machine";
      if (cards(scene).size() > 1) out.state = LinkState::warning;
      return out;
    }
    // A device that is not on PCI is listed by its node or its driver.
    if (!gpu->driver.empty() || gpu->address.empty()) {
      bound.push_back(gpu->driver.empty() ? gpu->source : gpu->driver);
      continue;
    }
    std::string found = "No driver is bound to " + plain(gpu->name) + ".";
    const std::string module = gpu->vendor == "NVIDIA" ? "nvidia"
                               : gpu->vendor == "AMD"  ? "amdgpu"
                                                       : "";
    const bool blacklisted =
        std::ranges::find(drivers.blacklisted, module) != drivers.blacklisted.end();
    if (blacklisted) {
      CheckedLink out = broken(scene, kId, "driver_not_loaded",
                               found + fmt::format(" Its module {} is blacklisted.", module));
      out.remedy = fmt::format("remove 'blacklist {}' from /etc/modprobe.d, reboot", module);
      return out;
    }
    if (module == "nvidia" && drivers.nvidia_for_this_kernel && drivers.secure_boot == true) {
      return broken(scene, kId, "secure_boot_unsigned_module",
                    found +
                        " Its module is built for this kernel, and Secure Boot is on, which "
                        "refuses modules without a key that it knows.");
    }
    if (module == "nvidia" && !drivers.nvidia_for_this_kernel &&
        drivers.nvidia_for_another_kernel) {
      CheckedLink out =
          broken(scene, kId, "driver_not_loaded",
                 found + fmt::format(" Its module is built for another kernel than {}.",
                                     plain(drivers.kernel)));
      out.remedy = "build it for this kernel: sudo dkms autoinstall";
      return out;
    }
    return broken(scene, kId, "driver_not_loaded", found);
  }
  std::string found = fmt::format("{}", fmt::join(bound, ", "));
  if (!drivers.nvidia_version.empty()) found += fmt::format(" {}", plain(drivers.nvidia_version));
  if (found.empty()) found = loaded(scene, "nvidia") ? "nvidia" : "as the driver's own meter says";
  return fine(kId, found + ".");
}

CheckedLink device_nodes(const Scene& scene) {
  constexpr std::string_view kId = "device-nodes";
  if (!scene.gpu) return skipped(kId, "None is needed.");
  if (scene.broken_before) return skipped(kId, "Cannot be judged before that.");
  if (scene.checkup.nodes.empty()) return skipped(kId, "None is known for this kind of GPU.");
  const auto missing = with_access(scene, NodeAccess::missing);
  std::vector<std::string> paths;
  for (const NodeLook* node : missing) paths.push_back(node->path);
  if (paths.empty()) {
    for (const NodeLook& node : scene.checkup.nodes) paths.push_back(node.path);
    return fine(kId, fmt::format("{}.", fmt::join(paths, ", ")));
  }
  const std::string list =
      fmt::format("{} {} missing", fmt::join(paths, ", "), paths.size() == 1 ? "is" : "are");
  if (missing.size() == 1 && is_only_for_one(*missing.front())) {
    return warning(scene, kId, "device_node_missing", list + ": ROCm cannot compute, Vulkan can.");
  }
  if (!scene.contained()) return broken(scene, kId, "device_node_missing", list + ".");
  return broken(scene, kId, "container_without_gpu",
                list + ": the card shows in /sys, and was not passed in.");
}

CheckedLink permissions(const Scene& scene) {
  constexpr std::string_view kId = "permissions";
  if (!scene.gpu) return skipped(kId, "Nothing to open.");
  std::vector<std::string> opened;
  for (const NodeLook& node : scene.checkup.nodes) {
    const bool spared =
        (is_only_for_one(node) && any_opens(scene, "/dev/dri/")) || another_opens(scene, node);
    CheckedLink out;
    switch (node.access) {
      case NodeAccess::opened:
        opened.push_back(node.path);
        continue;
      case NodeAccess::missing:
        continue;
      case NodeAccess::no_permission:
        out = broken(scene, kId, "device_permission", no_permission(scene, node));
        out.remedy = group_remedy(scene, node);
        break;
      case NodeAccess::refused:
        out = broken(scene, kId, "cgroup_device_refused",
                     fmt::format("{} is refused although its mode would do ({}, {}): a list of "
                                 "devices forbids it.",
                                 node.path, owner_of(node), mode_of(node)));
        break;
      case NodeAccess::no_device:
        out = broken(scene, kId, "driver_not_working",
                     node.path + " leads to no device: the driver lost it, or never had it.");
        break;
      case NodeAccess::failed:
        out = broken(scene, kId, "driver_not_working", node.path + " cannot be opened.");
        break;
    }
    if (spared || node.access == NodeAccess::failed) out.state = LinkState::warning;
    if (out.state == LinkState::broken || spared) return out;
  }
  if (opened.empty()) return skipped(kId, "There is no node to open.");
  return fine(kId, fmt::format("{} can be opened.", fmt::join(opened, ", ")));
}

CheckedLink driver_libraries(const Scene& scene) {
  constexpr std::string_view kId = "driver-libraries";
  if (!scene.gpu) return skipped(kId, "None is needed.");
  const Checkup& checkup = scene.checkup;
  for (const DriverTrouble& trouble : checkup.telemetry.troubles) {
    const std::string what = lower(trouble.what);
    const bool mismatch = what.contains("version");
    // What an earlier link said in its own words is not said again.
    if (scene.broken_before && !mismatch) return skipped(kId, "Cannot be judged before that.");
    CheckedLink out = broken(scene, kId, mismatch ? "driver_mismatch" : "driver_not_working",
                             plain(trouble.what) + ".");
    if (!mismatch) out.remedy = plain(trouble.remedy);
    return out;
  }
  std::vector<std::string> found;
  for (const LibraryLook& library : checkup.libraries) {
    if (!library.path.empty()) {
      found.push_back(library.version.empty() ? library.name
                                              : library.name + " " + library.version);
    }
    const std::string& kernel = checkup.drivers.nvidia_version;
    const bool of_nvidia = library.name == "libcuda.so.1" || library.name == "libnvidia-ml.so.1";
    if (of_nvidia && !library.version.empty() && !kernel.empty() && library.version != kernel) {
      return broken(scene, kId, "driver_mismatch",
                    fmt::format("The kernel runs driver {}, {} is of {}.", plain(kernel),
                                library.name, library.version));
    }
    if (library.name != "libcuda.so.1") continue;
    if (library.path.empty()) {
      return broken(scene, kId, "driver_library_missing",
                    "libcuda.so.1 is nowhere that the loader looks.");
    }
    if (checkup.housing.wsl && !library.path.starts_with("/usr/lib/wsl/")) {
      return broken(scene, kId, "wsl_driver",
                    plain(library.path) + " hides the libcuda that WSL brings.");
    }
  }
  const bool software_only =
      !checkup.vulkan.empty() && std::ranges::all_of(checkup.vulkan, &VulkanDriver::software);
  if (software_only && scene.vendor != "NVIDIA") {
    return warning(scene, kId, "software_vulkan_device",
                   "The only Vulkan driver renders on the CPU: " +
                       plain(base_name(checkup.vulkan.front().manifest)) + ".");
  }
  if (checkup.vulkan.empty() && (scene.vendor == "AMD" || scene.vendor == "Intel")) {
    return warning(scene, kId, "software_vulkan_device", "No Vulkan driver is installed.");
  }
  if (!checkup.vulkan.empty()) {
    found.push_back(fmt::format("{} Vulkan {}", checkup.vulkan.size(),
                                checkup.vulkan.size() == 1 ? "driver" : "drivers"));
  }
  if (found.empty()) return skipped(kId, "None was found, and none is known to be needed.");
  return fine(kId, fmt::format("{}.", fmt::join(found, ", ")));
}

}  // namespace picchio::doctor
