// The GPUs that the kernel's DRM drivers show in sysfs.
#pragma once

#include <string>
#include <vector>

namespace picchio::meters::drm {

struct Device {
  std::string dir;                 // ".../sys/devices/pci0000:00/0000:03:00.0", every link followed
  std::string address;             // "0000:03:00.0"; empty: not on PCI
  std::string driver;              // of the kernel: "amdgpu"; empty: none
  std::string vendor;              // "1002", PCI's id; empty: not on PCI
  std::string id;                  // "744c"
  std::string class_dir;           // ".../sys/class/drm/card0": i915 keeps attributes there
  std::vector<std::string> nodes;  // "/dev/dri/card0", "/dev/dri/renderD128", "/dev/accel/accel0"
  bool renders = false;            // has a render node: not only a display
  bool accelerator = false;        // of the class accel: an NPU, no GPU
};

/// In the order of their folders, which is that of the bus. Reads nothing that a driver has to
/// answer.
[[nodiscard]] std::vector<Device> find_devices(const std::string& root);

/// As people know it: "AMD GPU 1002:744c (driver amdgpu)".
[[nodiscard]] std::string describe(const Device& device);

}  // namespace picchio::meters::drm
