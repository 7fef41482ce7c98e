#include "machine/metered_gpus.h"

#include "evidence/metered_gpu.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace picchio {
namespace {

MachineGpu* known(Machine& machine, const MeteredGpu& gpu, std::string_view vendor) {
  for (MachineGpu& other : machine.gpus) {
    // Off the PCI bus there is one of a vendor: a Jetson's, an Apple's.
    const bool same = gpu.address.empty() ? other.vendor == vendor : other.address == gpu.address;
    if (same) return &other;
  }
  return nullptr;
}

}  // namespace

void add_metered_gpus(Machine& machine, std::span<const MeteredGpu> gpus) {
  for (const MeteredGpu& gpu : gpus) {
    const std::string_view vendor = vendor_of_meter(gpu.meter);
    if (MachineGpu* found = known(machine, gpu, vendor)) {
      if (gpu.name.starts_with(vendor) && !vendor.empty()) found->name = gpu.name;
      continue;
    }
    // The kernel's generic counters also know displays and NPUs; alone they prove no GPU.
    if (vendor.empty()) continue;
    MachineGpu added;
    added.name = gpu.name;
    added.vendor = vendor;
    added.address = gpu.address;
    added.driver = gpu.driver;
    added.source = gpu.meter;
    machine.gpus.push_back(added);
  }
}

}  // namespace picchio
