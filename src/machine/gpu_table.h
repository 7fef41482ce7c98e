// What is known of graphics devices by their ids: vendors, and those that no engine can compute on.
// Pure tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// "10de" -> "NVIDIA"; empty for an unknown vendor.
[[nodiscard]] std::string_view pci_vendor_name(std::string_view vendor_id);

/// Whether the class of a PCI function (0x030200: base class, sub-class, interface) is a graphics
/// device or an accelerator.
[[nodiscard]] bool is_gpu_class(long pci_class);

/// Why no engine can compute on this PCI device, or nullopt when one could or the device is
/// unknown: better a doubt than a machine with a GPU called one without. `pci_class` as above; ids
/// are four lower-case hex digits.
[[nodiscard]] std::optional<std::string_view> why_pci_cannot_compute(std::string_view vendor_id,
                                                                     std::string_view device_id,
                                                                     long pci_class);

/// A virtio GPU by its feature bits ("1101...": one digit for each bit, from bit 0), as
/// /sys/.../virtioN/features has them; empty when they could not be read.
[[nodiscard]] std::optional<std::string_view> why_virtio_cannot_compute(std::string_view features);

/// A graphics device outside of PCI, by the kernel driver of its DRM render node.
struct DrmDriver {
  std::string_view driver;
  std::string_view vendor;
  std::string_view name;            // for people
  std::string_view cannot_compute;  // empty: it can
};
[[nodiscard]] const DrmDriver* find_drm_driver(std::string_view driver);

/// A driver with a render node and no device behind it (vgem, vkms).
[[nodiscard]] bool is_pretended_gpu(std::string_view driver);

/// A device node that only a GPU's driver makes. Digits after `prefix` are part of the name.
struct GpuNode {
  std::string_view dir;
  std::string_view prefix;
  bool numbered = false;
  std::string_view vendor;
  std::string_view name;
};
[[nodiscard]] const GpuNode* find_gpu_node(std::string_view dir, std::string_view file);

}  // namespace picchio
