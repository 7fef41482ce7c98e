#include "meters/drm/devices.h"

#include "base/text.h"
#include "meters/attribute.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace picchio::meters::drm {
namespace {

struct NodeKind {
  std::string_view sys_class;
  std::string_view prefix;  // the rest of the name are digits: "card0-DP-1" is a connector
  std::string_view dev_dir;
};
constexpr NodeKind kNodeKinds[] = {
    {"/sys/class/drm", "card", "/dev/dri/"},
    {"/sys/class/drm", "renderD", "/dev/dri/"},
    {"/sys/class/accel", "accel", "/dev/accel/"},
};

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "0000:03:00.0"; domains have more than four digits behind Intel's VMD.
bool is_pci_address(std::string_view text) {
  const auto parts = split(text, ':');
  return parts.size() == 3 && parts[0].size() >= 4 && parts[1].size() == 2 &&
         parts[2].size() == 4 && parts[2][2] == '.' &&
         text.find_first_not_of("0123456789abcdef:.") == std::string_view::npos;
}

// virtio and others sit below their PCI function, so the last one in the path counts.
std::string pci_address_in(std::string_view dir) {
  std::string address;
  for (const std::string_view part : split(dir, '/')) {
    if (is_pci_address(part)) address = part;
  }
  return address;
}

std::string pci_id(const std::string& path) {
  const std::string text = lower(attribute_text(path).value_or(""));
  std::string_view digits = text;
  take_prefix(digits, "0x");
  return std::string(digits);
}

Device device_at(std::string dir) {
  Device device;
  device.address = pci_address_in(dir);
  device.driver = base_name(os::read_link(dir + "/driver").value_or(std::string()));
  if (!device.address.empty()) {
    device.vendor = pci_id(dir + "/vendor");
    device.id = pci_id(dir + "/device");
  }
  device.dir = std::move(dir);
  return device;
}

struct VendorName {
  std::string_view vendor;
  std::string_view name;
};
constexpr VendorName kVendors[] = {
    {"1002", "AMD"}, {"1022", "AMD"}, {"8086", "Intel"}, {"10de", "NVIDIA"}, {"1af4", "virtio"},
};

// Devices outside of PCI are named by their driver, which is made for one family.
constexpr VendorName kDrivers[] = {
    {"msm", "Qualcomm Adreno"},
    {"msm_dpu", "Qualcomm Adreno"},
    {"adreno", "Qualcomm Adreno"},
    {"panfrost", "Arm Mali"},
    {"panthor", "Arm Mali"},
    {"lima", "Arm Mali"},
    {"v3d", "Broadcom VideoCore"},
    {"asahi", "Apple"},
    {"apple-gpu", "Apple"},
    {"etnaviv", "Vivante"},
    {"powervr", "Imagination PowerVR"},
    {"virtio_gpu", "virtio"},
    {"nouveau", "NVIDIA"},
};

std::string_view family_of(const Device& device) {
  const auto* vendor = std::ranges::find(kVendors, device.vendor, &VendorName::vendor);
  if (vendor != std::end(kVendors)) return vendor->name;
  const auto* driver = std::ranges::find(kDrivers, device.driver, &VendorName::vendor);
  return driver != std::end(kDrivers) ? driver->name : std::string_view();
}

}  // namespace

std::vector<Device> find_devices(const std::string& root) {
  std::map<std::string, Device> by_dir;
  for (const NodeKind& kind : kNodeKinds) {
    const std::string class_dir = under(root, kind.sys_class);
    for (const std::string& name : os::list_dir(class_dir).value_or(std::vector<std::string>())) {
      std::string_view digits = name;
      if (!take_prefix(digits, kind.prefix) || !all_digits(digits)) continue;
      auto dir = os::real_path(fmt::format("{}/{}/device", class_dir, name));
      if (!dir) continue;  // unplugged meanwhile
      Device& device = by_dir.try_emplace(*dir, device_at(*dir)).first->second;
      device.nodes.push_back(std::string(kind.dev_dir) + name);
      device.renders = device.renders || kind.prefix == "renderD";
      device.accelerator = device.accelerator || kind.prefix == "accel";
      if (kind.prefix == "card") device.class_dir = fmt::format("{}/{}", class_dir, name);
    }
  }
  std::vector<Device> devices;
  for (auto& [dir, device] : by_dir) devices.push_back(std::move(device));
  return devices;
}

std::string describe(const Device& device) {
  const std::string_view family = family_of(device);
  std::string name = family.empty() ? "" : std::string(family) + ' ';
  name += device.accelerator ? "NPU" : "GPU";
  if (!device.vendor.empty()) name += fmt::format(" {}:{}", device.vendor, device.id);
  name += device.driver.empty() ? " (no driver)" : " (driver " + device.driver + ")";
  return name;
}

}  // namespace picchio::meters::drm
