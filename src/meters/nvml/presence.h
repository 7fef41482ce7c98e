// What the system tells of NVIDIA's GPUs before anything of NVIDIA's is asked. Reading these files
// wakes no GPU; starting NVML on one does. Every path is under `root`.
#pragma once

#include <string>
#include <vector>

namespace picchio::meters::nvml {

struct PciGpu {
  std::string address;  // "0000:01:00.0"
  std::string ids;      // "10de:2684"
  std::string driver;   // "nvidia", "nouveau", "vfio-pci"; empty: none
  bool asleep = false;  // runtime suspend, as laptops do: it answers only after waking up
};

/// NVIDIA's display controllers among the PCI devices, ascending.
[[nodiscard]] std::vector<PciGpu> pci_gpus(const std::string& root);

[[nodiscard]] bool is_asleep(const std::string& root, const std::string& address);

/// Words for the first sign of a GPU that NVML could know ("an NVIDIA GPU (0000:01:00.0, driver
/// nouveau)", "/dev/nvidia0"); empty when there is none.
[[nodiscard]] std::string sign_of_gpu(const std::string& root);

/// "550.54.14", of the module that the kernel runs; empty when it runs none.
[[nodiscard]] std::string kernel_driver_version(const std::string& root);

}  // namespace picchio::meters::nvml
