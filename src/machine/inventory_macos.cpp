// Untested: written without such a machine.
#include "machine/inventory.h"
#include "machine/processor.h"
#include "os/sysctl_macos.h"

namespace picchio {

Machine read_machine(const std::string& /*root*/) {
  Machine machine;
  machine.chip = os::sysctl_text("machdep.cpu.brand_string").value_or("");
  machine.ram_bytes = os::sysctl_number("hw.memsize");
  machine.last_level_cache_bytes = read_processor().last_level_cache_bytes;
  if (const auto cores = os::sysctl_number("hw.logicalcpu")) {
    machine.logical_cores = static_cast<int>(*cores);
  }
  machine.os = "macOS " + os::sysctl_text("kern.osproductversion").value_or("");
  // Every Mac that a current engine runs on has a GPU that Metal drives.
  MachineGpu gpu;
  gpu.vendor = machine.chip.starts_with("Apple") ? "Apple" : "";
  gpu.name = gpu.vendor.empty() ? "GPU of this Mac (Metal)" : machine.chip + " GPU (Metal)";
  gpu.source = "Metal";
  machine.gpus.push_back(std::move(gpu));
  machine.gpus_known = true;
  return machine;
}

}  // namespace picchio
