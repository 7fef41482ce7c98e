#include "verdict/doctor/doctor.h"

#include "verdict/causes/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace picchio {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

MachineGpu card(const std::string& vendor, const std::string& driver) {
  MachineGpu gpu;
  gpu.name = vendor + " GPU";
  gpu.vendor = vendor;
  gpu.address = "0000:01:00.0";
  gpu.driver = driver;
  return gpu;
}

NodeLook node(const std::string& path, NodeAccess access = NodeAccess::opened) {
  NodeLook look;
  look.path = path;
  look.card = "0000:01:00.0";
  look.access = access;
  look.mode = 0660;
  look.gid = 44;
  look.group = "render";
  return look;
}

EngineFound engine(std::vector<Device> devices, std::vector<std::string> backends = {}) {
  EngineFound out;
  out.name = "llama-server";
  out.path = "/opt/llama-server";
  out.asked = true;
  out.devices = std::move(devices);
  out.backends = std::move(backends);
  out.backends_known = true;
  return out;
}

Device device(DeviceKind kind) {
  Device out;
  out.name = "Vulkan0";
  out.description = "a card";
  out.kind = kind;
  return out;
}

/// An AMD card with everything in order.
Checkup in_order() {
  Checkup out;
  out.machine.gpus_known = true;
  out.machine.gpus = {card("AMD", "amdgpu")};
  out.nodes = {node("/dev/dri/renderD128"), node("/dev/kfd")};
  out.vulkan = {{"/usr/share/vulkan/icd.d/radeon.json", "libvulkan_radeon.so", false}};
  out.user = "ann";
  out.engines = {engine({device(DeviceKind::hardware_gpu)}, {"vulkan"})};
  return out;
}

Checkup no_engine() {
  Checkup out = in_order();
  out.engines.clear();
  return out;
}

/// A second card with a node of its own.
void add_card(Checkup& checkup, const std::string& vendor, const std::string& driver,
              NodeAccess access) {
  checkup.machine.gpus.push_back(card(vendor, driver));
  checkup.machine.gpus.back().address = "0000:02:00.0";
  checkup.nodes.push_back(node("/dev/dri/renderD129", access));
  checkup.nodes.back().card = "0000:02:00.0";
}

Checkup with_nvidia() {
  Checkup out = in_order();
  out.machine.gpus = {card("NVIDIA", "nvidia")};
  out.drivers.loaded = {"nvidia"};
  out.drivers.nvidia_version = "550.54.14";
  out.nodes = {node("/dev/nvidiactl"), node("/dev/nvidia0"), node("/dev/nvidia-uvm")};
  out.libraries = {{"libcuda.so.1", "/usr/lib/libcuda.so.1", "550.54.14"}};
  return out;
}

struct Case {
  const char* name;
  Checkup (*begin)();
  std::function<void(Checkup&)> change;
  const char* link;  // that is not in order; "" all are
  LinkState state;
  const char* cause;
  const char* remedy;  // words of it
  ExitCode exit;
};

using C = Checkup;

std::vector<Case> machine_cases() {
  constexpr auto kBroken = LinkState::broken;
  constexpr auto kWarning = LinkState::warning;
  constexpr auto k4 = ExitCode::silent_cpu_fallback;
  constexpr auto k3 = ExitCode::partial_offload;
  constexpr auto k0 = ExitCode::ok;
  return {
      {"all in order", in_order, [](C&) {}, "", LinkState::ok, "", "", k0},
      {"NVIDIA in order", with_nvidia, [](C&) {}, "", LinkState::ok, "", "", k0},
      {"no GPU", in_order, [](C& c) { c.machine.gpus.clear(); }, "gpu-on-bus", LinkState::skipped,
       "no_gpu_in_machine", "", k0},
      {"no GPU in a virtual machine", in_order,
       [](C& c) {
         c.machine.gpus.clear();
         c.housing.virtual_machine = "KVM";
       },
       "gpu-on-bus", LinkState::skipped, "no_gpu_in_machine", "pass it through", k0},
      {"no GPU in WSL", in_order,
       [](C& c) {
         c.machine.gpus.clear();
         c.housing.wsl = true;
       },
       "gpu-on-bus", LinkState::skipped, "no_gpu_in_machine", "wsl --update", k0},
      {"only a screen's adapter", in_order,
       [](C& c) {
         c.machine.gpus[0].can_compute = false;
         c.machine.gpus[0].no_compute_reason = "the display adapter of a virtual machine";
       },
       "gpu-on-bus", LinkState::skipped, "no_gpu_in_machine", "", k0},
      {"hidden buses", in_order,
       [](C& c) {
         c.machine.gpus.clear();
         c.machine.gpus_known = false;
         c.machine.gpus_unknown_reason = "/sys cannot be read";
       },
       "gpu-on-bus", kWarning, "log_lacks_evidence", "/sys", k3},
      {"no driver", in_order, [](C& c) { c.machine.gpus[0].driver = ""; }, "kernel-driver", kBroken,
       "driver_not_loaded", "modprobe amdgpu", k4},
      {"no driver of NVIDIA", with_nvidia, [](C& c) { c.machine.gpus[0].driver = ""; },
       "kernel-driver", kBroken, "driver_not_loaded", "modprobe nvidia", k4},
      {"blacklisted", with_nvidia,
       [](C& c) {
         c.machine.gpus[0].driver = "";
         c.drivers.blacklisted = {"nvidia"};
       },
       "kernel-driver", kBroken, "driver_not_loaded", "blacklist nvidia", k4},
      {"Secure Boot", with_nvidia,
       [](C& c) {
         c.machine.gpus[0].driver = "";
         c.drivers.secure_boot = true;
         c.drivers.nvidia_for_this_kernel = true;
       },
       "kernel-driver", kBroken, "secure_boot_unsigned_module", "mokutil", k4},
      {"Secure Boot, and no module either", with_nvidia,
       [](C& c) {
         c.machine.gpus[0].driver = "";
         c.drivers.secure_boot = true;
       },
       "kernel-driver", kBroken, "driver_not_loaded", "modprobe", k4},
      {"a module for another kernel", with_nvidia,
       [](C& c) {
         c.machine.gpus[0].driver = "";
         c.drivers.nvidia_for_another_kernel = true;
       },
       "kernel-driver", kBroken, "driver_not_loaded", "dkms autoinstall", k4},
      {"nouveau", with_nvidia, [](C& c) { c.machine.gpus[0].driver = "nouveau"; }, "kernel-driver",
       kWarning, "nouveau_bound", "NVIDIA's own driver", k3},
      {"set aside for a guest", in_order, [](C& c) { c.machine.gpus[0].driver = "vfio-pci"; },
       "kernel-driver", kBroken, "driver_not_loaded", "give the card back", k4},
      {"no render node", in_order, [](C& c) { c.nodes[0].access = NodeAccess::missing; },
       "device-nodes", kBroken, "device_node_missing", "udevadm", k4},
      {"no render node in a container", in_order,
       [](C& c) {
         c.nodes[0].access = c.nodes[1].access = NodeAccess::missing;
         c.housing.container = "docker";
       },
       "device-nodes", kBroken, "container_without_gpu", "--device /dev/kfd", k4},
      {"no uvm", with_nvidia, [](C& c) { c.nodes[2].access = NodeAccess::missing; }, "device-nodes",
       kBroken, "device_node_missing", "nvidia-modprobe", k4},
      {"no kfd, which Vulkan does not need", in_order,
       [](C& c) { c.nodes[1].access = NodeAccess::missing; }, "device-nodes", kWarning,
       "device_node_missing", "", k3},
      {"in a snap", in_order,
       [](C& c) {
         c.nodes[0].access = NodeAccess::missing;
         c.housing.sandbox = "snap";
       },
       "surroundings", kBroken, "sandbox_hides_gpu", "package", k4},
      {"no permission", in_order, [](C& c) { c.nodes[0].access = NodeAccess::no_permission; },
       "permissions", kBroken, "device_permission", "usermod -aG render $USER", k4},
      {"no permission in a container", in_order,
       [](C& c) {
         c.nodes[0].access = NodeAccess::no_permission;
         c.housing.container = "podman";
       },
       "permissions", kBroken, "device_permission", "--group-add 44", k4},
      {"a group that the session does not know yet", in_order,
       [](C& c) {
         c.nodes[0].access = NodeAccess::no_permission;
         c.nodes[0].assigned = true;
       },
       "permissions", kBroken, "device_permission", "log in again, so", k4},
      {"a node of root alone", in_order,
       [](C& c) {
         c.nodes[0].access = NodeAccess::no_permission;
         c.nodes[0].group = "root";
       },
       "permissions", kBroken, "device_permission", "setfacl", k4},
      {"no permission for ROCm alone", in_order,
       [](C& c) { c.nodes[1].access = NodeAccess::no_permission; }, "permissions", kWarning,
       "device_permission", "usermod", k3},
      {"one of two cards that is not ours", with_nvidia,
       [](C& c) { c.nodes.push_back(node("/dev/nvidia1", NodeAccess::refused)); }, "permissions",
       kWarning, "cgroup_device_refused", "", k3},
      {"both cards, neither ours", with_nvidia,
       [](C& c) {
         c.nodes[1].access = NodeAccess::refused;
         c.nodes.push_back(node("/dev/nvidia1", NodeAccess::refused));
       },
       "permissions", kBroken, "cgroup_device_refused", "", k4},
      {"one of two cards set aside for a guest", in_order,
       [](C& c) { c.machine.gpus.push_back(card("AMD", "vfio-pci")); }, "kernel-driver", kWarning,
       "driver_not_loaded", "give the card back", k3},
      {"the processor's GPU was not passed in beside the card", with_nvidia,
       [](C& c) { add_card(c, "Intel", "i915", NodeAccess::missing); }, "device-nodes", kWarning,
       "device_node_missing", "", k3},
      {"the card was not passed in beside the processor's GPU", in_order,
       [](C& c) {
         c.machine.gpus[0].vendor = "Intel";
         add_card(c, "AMD", "amdgpu", NodeAccess::missing);
       },
       "device-nodes", kBroken, "device_node_missing", "", k4},
      {"the processor's GPU has no driver beside the card", in_order,
       [](C& c) { add_card(c, "Intel", "", NodeAccess::missing); }, "kernel-driver", kWarning,
       "driver_not_loaded", "modprobe", k3},
      {"no libcuda though the nodes were passed in", with_nvidia,
       [](C& c) {
         c.libraries[0].path.clear();
         c.housing.container = "docker";
       },
       "driver-libraries", kBroken, "driver_library_missing", "NVIDIA_DRIVER_CAPABILITIES", k4},
      {"a node without a group's bits", in_order,
       [](C& c) {
         c.nodes[0].access = NodeAccess::no_permission;
         c.nodes[0].mode = 0600;
       },
       "permissions", kBroken, "device_permission", "setfacl", k4},
      {"a list of devices", in_order, [](C& c) { c.nodes[0].access = NodeAccess::refused; },
       "permissions", kBroken, "cgroup_device_refused", "--device", k4},
      {"a node without its device", with_nvidia,
       [](C& c) { c.nodes[1].access = NodeAccess::no_device; }, "permissions", kBroken,
       "driver_not_working", "nvidia-smi", k4},
      {"two versions by their files", with_nvidia,
       [](C& c) { c.libraries[0].version = "560.35.03"; }, "driver-libraries", kBroken,
       "driver_mismatch", "reboot", k4},
      {"two versions by the meter, and no bus", in_order,
       [](C& c) {
         c.machine.gpus.clear();
         c.telemetry.troubles = {{"the driver and NVML have different versions", "reboot"}};
       },
       "driver-libraries", kBroken, "driver_mismatch", "reboot", k4},
      {"a meter that does not start", with_nvidia,
       [](C& c) { c.telemetry.troubles = {{"NVML does not answer", "look at dmesg"}}; },
       "driver-libraries", kBroken, "driver_not_working", "look at dmesg", k4},
      {"no libcuda", with_nvidia, [](C& c) { c.libraries[0].path.clear(); }, "driver-libraries",
       kBroken, "driver_library_missing", "", k4},
      {"WSL with a Linux driver", with_nvidia, [](C& c) { c.housing.wsl = true; },
       "driver-libraries", kBroken, "wsl_driver", "Windows", k4},
      {"only a renderer", in_order, [](C& c) { c.vulkan[0].software = true; }, "driver-libraries",
       kWarning, "software_vulkan_device", "Vulkan driver", k3},
      {"no Vulkan driver", in_order, [](C& c) { c.vulkan.clear(); }, "driver-libraries", kWarning,
       "software_vulkan_device", "Vulkan driver", k3},
  };
}

std::vector<Case> engine_cases() {
  constexpr auto kBroken = LinkState::broken;
  constexpr auto kWarning = LinkState::warning;
  constexpr auto k4 = ExitCode::silent_cpu_fallback;
  constexpr auto k3 = ExitCode::partial_offload;
  const auto environment = [](const char* name, const char* value) {
    return [=](C& c) { c.environment = {{name, value}}; };
  };
  const auto of_ollama = [](std::function<void(OllamaFound&)> change) {
    return [=](C& c) {
      OllamaFound found;
      found.path = "/usr/bin/ollama";
      found.library_folder = "/usr/lib/ollama";
      found.libraries = {"vulkan"};
      change(found);
      c.ollama = found;
    };
  };
  return {
      {"only the CPU is listed", in_order,
       [](C& c) { c.engines = {engine({device(DeviceKind::host)})}; }, "engine", kBroken,
       "cpu_only_build", "", k4},
      {"only another machine's worker is listed", in_order,
       [](C& c) { c.engines = {engine({device(DeviceKind::remote)})}; }, "engine", kBroken,
       "cpu_only_build", "", k4},
      {"a mask that this card's engines do not heed", in_order,
       environment("ONEAPI_DEVICE_SELECTOR", "opencl:cpu"), "", LinkState::ok, "", "",
       ExitCode::ok},
      {"a mask of the only card's own index", in_order, environment("HIP_VISIBLE_DEVICES", "0"), "",
       LinkState::ok, "", "", ExitCode::ok},
      {"a mask, and an engine that lists the card all the same", in_order,
       environment("HIP_VISIBLE_DEVICES", "-1"), "variables", kWarning, "visible_devices_mask",
       "unset", k3},
      {"a mask", no_engine, environment("HIP_VISIBLE_DEVICES", "-1"), "variables", kBroken,
       "visible_devices_mask", "unset HIP_VISIBLE_DEVICES", k4},
      {"a mask of some", in_order, environment("HIP_VISIBLE_DEVICES", "1"), "variables", kWarning,
       "visible_devices_mask", "unset", k3},
      {"no device", in_order, environment("LLAMA_ARG_DEVICE", "none"), "variables", kBroken,
       "device_none", "unset LLAMA_ARG_DEVICE", k4},
      {"no layers", in_order, environment("LLAMA_ARG_N_GPU_LAYERS", "0"), "variables", kBroken,
       "ngl_0", "unset LLAMA_ARG_N_GPU_LAYERS", k4},
      {"unified memory", with_nvidia, environment("GGML_CUDA_ENABLE_UNIFIED_MEMORY", "1"),
       "variables", kWarning, "vram_overcommit", "unset", k3},
      {"a build for the CPU", in_order, [](C& c) { c.engines = {engine({})}; }, "engine", kBroken,
       "cpu_only_build", "GGML_VULKAN", k4},
      {"a package without its backend", in_order,
       [](C& c) {
         c.engines = {engine({})};
         c.engines[0].path = "/usr/bin/llama-server";
         c.machine.distribution = "debian";
       },
       "engine", kBroken, "package_without_backend", "libggml0-backend-vulkan", k4},
      {"a backend that finds nothing", in_order, [](C& c) { c.engines = {engine({}, {"vulkan"})}; },
       "engine", kBroken, "no_device_found", "driver", k4},
      {"a backend that does not load", in_order,
       [](C& c) {
         c.engines = {engine({})};
         c.engines[0].load_errors = {"libggml-hip.so: librocblas.so.4: cannot open"};
       },
       "engine", kBroken, "backend_library_not_loaded", "missing library", k4},
      {"a backend without libcuda", with_nvidia,
       [](C& c) {
         c.engines = {engine({})};
         c.engines[0].load_errors = {"libggml-cuda.so: libcuda.so.1: cannot open"};
       },
       "engine", kBroken, "driver_library_missing", "", k4},
      {"only a renderer listed", in_order,
       [](C& c) { c.engines = {engine({device(DeviceKind::software)}, {"vulkan"})}; }, "engine",
       kBroken, "software_vulkan_device", "", k4},
      {"a CPU build beside one that works", in_order, [](C& c) { c.engines.push_back(engine({})); },
       "engine", kWarning, "cpu_only_build", "GGML_VULKAN", k3},
      {"an engine that hangs", in_order,
       [](C& c) {
         c.engines[0] = engine({});
         c.engines[0].asked = false;
         c.engines[0].failure = "it does not answer";
       },
       "engine", kWarning, "", "--list-devices", k3},
      {"a wheel for the CPU", in_order,
       [](C& c) {
         c.engines[0] = engine({});
         c.engines[0].asked = false;
         c.engines[0].name = "llama-cpp-python";
       },
       "engine", kBroken, "cpu_only_build", "CMAKE_ARGS", k4},
      {"an engine that was built nobody knows how", in_order,
       [](C& c) {
         c.engines = {engine({})};
         c.engines[0].backends_known = false;
       },
       "engine", kBroken, "", "GPU backend", k4},
      {"an old wheel, all in one library", in_order,
       [](C& c) {
         c.engines[0] = engine({});
         c.engines[0].asked = false;
         c.engines[0].backends_known = false;
       },
       "engine", LinkState::skipped, "", "", ExitCode::ok},
      {"no engine", in_order, [](C& c) { c.engines.clear(); }, "engine", LinkState::skipped, "", "",
       ExitCode::ok},
      {"ollama's service is masked", in_order,
       of_ollama([](OllamaFound& o) { o.environment = {{"ROCR_VISIBLE_DEVICES", "-1"}}; }),
       "ollama", kBroken, "visible_devices_mask", "systemctl edit ollama", k4},
      {"ollama without libraries", in_order, of_ollama([](OllamaFound& o) { o.libraries.clear(); }),
       "ollama", kBroken, "backend_library_not_loaded", "install ollama again", k4},
      {"ollama's user has no group", in_order, of_ollama([](OllamaFound& o) {
         o.user = "ollama";
         o.missing_groups = {"render"};
       }),
       "ollama", kBroken, "device_permission", "usermod -aG render,video ollama", k4},
      {"others hold the memory", in_order,
       [](C& c) {
         MeteredGpu gpu;
         gpu.memory_bytes = 24 * kGiB;
         GpuReading now;
         now.memory_bytes = 20 * kGiB;
         c.telemetry.gpus = {gpu};
         c.telemetry.samples = {{Micros(0), {now}}};
       },
       "headroom", kWarning, "vram_taken_by_others", "close what holds", k3},
      {"it throttles at rest", in_order,
       [](C& c) {
         GpuReading now;
         now.throttling = Throttling{false, true, false};
         c.telemetry.gpus = {MeteredGpu{}};
         c.telemetry.samples = {{Micros(0), {now}}};
       },
       "headroom", kWarning, "gpu_throttled", "fans", k3},
  };
}

const CheckedLink* worst(const Examination& examination, std::string_view id) {
  const CheckedLink* out = nullptr;
  for (const CheckedLink& link : examination.links) {
    if (link.id == id &&
        (out == nullptr || link.state == LinkState::warning || link.state == LinkState::broken)) {
      out = &link;
    }
  }
  return out;
}

void expect_as_said(const Case& c) {
  Checkup checkup = c.begin();
  c.change(checkup);
  const Examination examination = examine(checkup);
  EXPECT_EQ(examination.exit_code(), c.exit) << c.name;
  EXPECT_FALSE(examination.summary.empty());
  const std::string_view wanted = c.link;
  if (wanted.empty()) {
    for (const CheckedLink& link : examination.links) {
      EXPECT_TRUE(link.state == LinkState::ok || link.state == LinkState::skipped)
          << c.name << ": " << link.id << ": " << link.found;
    }
    return;
  }
  const CheckedLink* link = worst(examination, wanted);
  ASSERT_NE(link, nullptr) << c.name;
  EXPECT_EQ(name_of(link->state), name_of(c.state)) << c.name << ": " << link->found;
  EXPECT_EQ(link->cause, c.cause) << c.name;
  EXPECT_TRUE(link->remedy.contains(c.remedy)) << c.name << ": " << link->remedy;
  if (c.state == LinkState::broken) {
    ASSERT_TRUE(examination.first_broken) << c.name;
    EXPECT_EQ(examination.links[*examination.first_broken].id, wanted) << c.name;
  } else {
    EXPECT_FALSE(examination.first_broken) << c.name;
  }
}

TEST(Doctor, NamesTheLinkItsCauseAndItsRemedy) {
  for (const Case& c : machine_cases()) expect_as_said(c);
  for (const Case& c : engine_cases()) expect_as_said(c);
}

TEST(Doctor, NamesOnlyCausesOfTheCatalogue) {
  for (const auto& cases : {machine_cases(), engine_cases()}) {
    for (const Case& c : cases) {
      Checkup checkup = c.begin();
      c.change(checkup);
      for (const CheckedLink& link : examine(checkup).links) {
        if (link.cause.empty()) continue;
        EXPECT_NE(find_cause_entry(link.cause), nullptr) << c.name << ": " << link.cause;
      }
    }
  }
}

TEST(Doctor, WhatFollowsFromABrokenLinkIsNotBlamedAgain) {
  Checkup checkup = in_order();
  for (NodeLook& look : checkup.nodes) look.access = NodeAccess::missing;
  checkup.engines = {engine({}, {"vulkan"}), engine({})};
  const Examination examination = examine(checkup);
  std::vector<LinkState> engines;
  for (const CheckedLink& link : examination.links) {
    if (link.id == "engine") engines.push_back(link.state);
  }
  // The second lacks a backend whatever the nodes are.
  EXPECT_EQ(engines, (std::vector{LinkState::skipped, LinkState::broken}));
  EXPECT_EQ(examination.links[*examination.first_broken].id, "device-nodes");
}

TEST(Doctor, ForARunOnlyTheMachinesOwnLinksAreTold) {
  Checkup checkup = in_order();
  checkup.engines = {engine({})};
  checkup.environment = {{"HIP_VISIBLE_DEVICES", "-1"}};
  EXPECT_TRUE(broken_links(checkup).empty());
  checkup.nodes[0].access = NodeAccess::no_permission;
  const std::vector<BrokenLink> links = broken_links(checkup);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].cause, "device_permission");
  checkup.machine.gpus.clear();
  EXPECT_TRUE(broken_links(checkup).empty());
}

}  // namespace
}  // namespace picchio
