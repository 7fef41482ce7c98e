#include "machine/checkup/checkup.h"

#include "os/device_node.h"
#include "os/identity.h"

#include <algorithm>
#include <array>
#include <utility>

namespace picchio {
namespace {

/// Libraries that backends load, by the vendor of the cards that are there.
std::vector<std::string> wanted_libraries(const Machine& machine, const Housing& housing) {
  std::vector<std::string> out;
  const auto has = [&](std::string_view vendor) {
    return std::ranges::any_of(machine.gpus, [&](const MachineGpu& gpu) {
      return gpu.can_compute && gpu.vendor == vendor;
    });
  };
  const bool any = std::ranges::any_of(machine.gpus, &MachineGpu::can_compute);
  if (has("NVIDIA") || housing.wsl) {
    out.insert(out.end(), {"libcuda.so.1", "libnvidia-ml.so.1"});
  }
  if (has("AMD")) out.emplace_back("libamdhip64.so");
  if (has("Intel")) out.emplace_back("libze_loader.so.1");
  if (any || housing.wsl) out.emplace_back("libvulkan.so.1");
  return out;
}

}  // namespace

Checkup look_at_machine(const std::string& root, Machine machine,
                        const std::map<std::string, std::string>& environment,
                        os::NodeTrial trial) {
  const std::string base = root.ends_with('/') ? root.substr(0, root.size() - 1) : root;
  Checkup out;
  out.machine = std::move(machine);
  out.housing = find_housing(base, environment);
  out.drivers = find_kernel_drivers(base);
  out.user = os::user_name(os::own_uid()).value_or("");
  out.nodes = look_at_nodes(base, out.machine, out.housing, out.user, trial);
  out.libraries = find_libraries(base, wanted_libraries(out.machine, out.housing), environment);
  out.vulkan = find_vulkan_drivers(base, environment);
  return out;
}

}  // namespace picchio
