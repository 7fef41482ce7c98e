#include "base/text.h"
#include "machine/gpu_table.h"
#include "machine/gpus.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace picchio {
namespace {

constexpr std::int64_t kMaxSysfsFile = 64 << 10;

std::optional<std::string> sysfs_value(const std::string& path) {
  const auto text = os::read_file(path, kMaxSysfsFile);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

// "0x10de" -> "10de"
std::string hex_id(const std::string& path) {
  const std::string text = lower(sysfs_value(path).value_or(""));
  std::string_view digits = text;
  take_prefix(digits, "0x");
  return std::string(digits);
}

std::optional<long> hex_number(std::string_view text) {
  take_prefix(text, "0x");
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string driver_of(const std::string& device_dir) {
  const auto link = os::read_link(device_dir + "/driver");
  return link ? std::string(base_name(*link)) : std::string();
}

// "0000:61:00.0"; domains have more than four digits behind Intel's VMD.
bool is_pci_address(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3 || parts[0].size() < 4 || parts[1].size() != 2 || parts[2].size() != 4 ||
      parts[2][2] != '.') {
    return false;
  }
  return hex_number(parts[0]) && hex_number(parts[1]) && hex_number(parts[2].substr(0, 2)) &&
         parts[2][3] >= '0' && parts[2][3] <= '7';
}

/// The nearest PCI function above a device in its full path, or nothing.
std::string pci_address_in(std::string_view device_path) {
  std::string address;
  for (const std::string_view part : split(device_path, '/')) {
    if (is_pci_address(part)) address = part;
  }
  return address;
}

std::string with_driver(std::string name, std::string_view driver) {
  name += driver.empty() ? " (no driver)" : " (driver " + std::string(driver) + ")";
  return name;
}

class Search {
 public:
  Search(const std::string& root, Machine& machine)
      : root_(root.ends_with('/') ? root.substr(0, root.size() - 1) : root), machine_(machine) {}

  void run() {
    const auto pci = os::list_dir(at("/sys/bus/pci/devices"));
    if (pci) {
      for (const std::string& address : *pci) add_pci(address);
    }
    const auto drm = os::list_dir(at("/sys/class/drm"));
    if (drm) {
      for (const std::string& name : *drm) {
        if (name.starts_with("renderD")) add_drm(name);
      }
    }
    add_tegra();
    add_nodes("/dev");
    // A node without its entry in a readable class is a left-over of another kernel (containers).
    if (!drm) add_nodes("/dev/dri");
    decide_known(pci, drm);
    std::ranges::stable_partition(machine_.gpus, &MachineGpu::can_compute);
  }

 private:
  using Listing = Result<std::vector<std::string>>;

  [[nodiscard]] std::string at(std::string_view path) const { return root_ + std::string(path); }

  void add(MachineGpu gpu, std::optional<std::string_view> why_not) {
    gpu.can_compute = !why_not;
    gpu.no_compute_reason = why_not.value_or("");
    machine_.gpus.push_back(std::move(gpu));
  }

  [[nodiscard]] bool listed(std::string_view address) const {
    return !address.empty() &&
           std::ranges::find(machine_.gpus, address, &MachineGpu::address) != machine_.gpus.end();
  }

  /// "" stands for any vendor.
  [[nodiscard]] bool has_usable(std::string_view vendor) const {
    return std::ranges::any_of(machine_.gpus, [&](const MachineGpu& gpu) {
      return gpu.can_compute && (vendor.empty() || gpu.vendor == vendor);
    });
  }

  void add_pci(const std::string& address) {
    const std::string dir = at("/sys/bus/pci/devices/") + address;
    const auto class_text = sysfs_value(dir + "/class");
    const auto pci_class = hex_number(class_text.value_or(""));
    if (!pci_class) {
      // Something that may be a GPU; a device that was unplugged meanwhile is none.
      if (os::exists(dir)) unreadable_ = "the class of PCI device " + address + " cannot be read";
      return;
    }
    if (is_gpu_class(*pci_class)) add_pci_gpu(address, dir, *pci_class);
  }

  void add_pci_gpu(const std::string& address, const std::string& dir, long pci_class) {
    const std::string vendor_id = hex_id(dir + "/vendor");
    const std::string device_id = hex_id(dir + "/device");
    const std::string_view vendor = pci_vendor_name(vendor_id);
    MachineGpu gpu;
    gpu.vendor = vendor;
    gpu.address = address;
    gpu.driver = driver_of(dir);
    gpu.source = "/sys/bus/pci/devices/" + address;
    auto why_not = why_pci_cannot_compute(vendor_id, device_id, pci_class);
    if (vendor_id == "1af4") why_not = why_virtio_cannot_compute(virtio_features(dir));
    std::string name = nvidia_model(address);
    if (name.empty()) {
      name = vendor.empty() ? "unknown vendor's" : std::string(vendor);
      name += why_not ? " display adapter" : " GPU";
      if (pci_class >> 16 == 0x12)
        name = (vendor.empty() ? "an" : std::string(vendor)) + " accelerator";
    }
    gpu.name =
        with_driver(fmt::format("{} {}:{} at {}", name, vendor_id, device_id, address), gpu.driver);
    add(std::move(gpu), why_not);
  }

  [[nodiscard]] static std::string virtio_features(const std::string& device_dir) {
    if (auto own = sysfs_value(device_dir + "/features")) return *own;
    for (const std::string& name : os::list_dir(device_dir).value_or(std::vector<std::string>())) {
      if (!name.starts_with("virtio")) continue;
      if (auto features = sysfs_value(fmt::format("{}/{}/features", device_dir, name)))
        return *features;
    }
    return {};
  }

  // "Model: \t\t NVIDIA GeForce RTX 4090", of NVIDIA's own driver.
  [[nodiscard]] std::string nvidia_model(const std::string& address) const {
    const auto text =
        os::read_file(at("/proc/driver/nvidia/gpus/") + address + "/information", kMaxSysfsFile);
    if (!text) return {};
    for (std::string_view line : split_lines(*text)) {
      if (take_prefix(line, "Model:")) return plain(trim(line));
    }
    return {};
  }

  void add_drm(const std::string& node) {
    const std::string link = at("/sys/class/drm/") + node + "/device";
    const auto device = os::real_path(link);
    if (!device) {
      unreadable_ = "the device of DRM node " + node + " cannot be read";
      return;
    }
    const std::string driver = driver_of(*device);
    const std::string identity = driver.empty() ? std::string(base_name(*device)) : driver;
    if (is_pretended_gpu(identity)) return;
    const std::string address = pci_address_in(*device);
    if (listed(address)) return;

    MachineGpu gpu;
    gpu.address = address;
    gpu.driver = driver;
    gpu.source = "/sys/class/drm/" + node;
    if (driver == "virtio_gpu") {
      gpu.vendor = "virtio";
      gpu.name = with_driver("virtio GPU", driver);
      add(std::move(gpu), why_virtio_cannot_compute(virtio_features(*device)));
      return;
    }
    const DrmDriver* row = find_drm_driver(identity);
    if (row == nullptr && device->contains("host1x")) row = find_drm_driver("tegra");
    gpu.vendor = row != nullptr ? row->vendor : std::string_view();
    gpu.name = with_driver(row != nullptr ? std::string(row->name) : "GPU " + node, driver);
    std::optional<std::string_view> why_not;
    if (row != nullptr && !row->cannot_compute.empty()) why_not = row->cannot_compute;
    add(std::move(gpu), why_not);
  }

  // A Jetson's GPU is no PCI function, and NVIDIA's own driver for it no DRM driver: the board
  // tells.
  void add_tegra() {
    const auto compatible = os::read_file(at("/proc/device-tree/compatible"), kMaxSysfsFile);
    if (!compatible || !compatible->contains("nvidia,tegra") || has_usable("NVIDIA")) return;
    MachineGpu gpu;
    gpu.vendor = "NVIDIA";
    gpu.name = "NVIDIA Tegra GPU";
    gpu.source = "/proc/device-tree/compatible";
    add(std::move(gpu), std::nullopt);
  }

  void add_nodes(std::string_view dir) {
    for (const std::string& file : os::list_dir(at(dir)).value_or(std::vector<std::string>())) {
      const GpuNode* node = find_gpu_node(dir, file);
      if (node == nullptr || (file == "kfd" && !kfd_has_gpu())) continue;
      const std::string path = std::string(dir) + "/" + file;
      // One vendor's nodes cannot be told from its cards that are listed; several nodes of cards
      // that are not (no PCI in sight) count each.
      const bool from_nodes = std::ranges::any_of(machine_.gpus, [&](const MachineGpu& gpu) {
        return gpu.source.starts_with("/dev/") && gpu.vendor == node->vendor && node->numbered;
      });
      if (has_usable(node->vendor) && !from_nodes) continue;
      MachineGpu gpu;
      gpu.vendor = node->vendor;
      gpu.name = std::string(node->name) + " behind " + path;
      gpu.source = path;
      add(std::move(gpu), std::nullopt);
    }
  }

  // The node is there as soon as the driver is, and the topology lists processors as nodes too.
  [[nodiscard]] bool kfd_has_gpu() const {
    const std::string dir = at("/sys/class/kfd/kfd/topology/nodes");
    const auto nodes = os::list_dir(dir);
    if (!nodes) return true;
    return std::ranges::any_of(*nodes, [&](const std::string& node) {
      // A container may not read those of cards that it was not given.
      const auto id = sysfs_value(fmt::format("{}/{}/gpu_id", dir, node));
      return !id || *id != "0";
    });
  }

  void decide_known(const Listing& pci, const Listing& drm) {
    if (!unreadable_.empty()) {
      machine_.gpus_unknown_reason = unreadable_;
      return;
    }
    // DRM shows only what has a driver, so it cannot stand in for a PCI list that is kept from us.
    const bool no_pci = !pci && pci.error().kind == ErrorKind::not_found;
    const auto buses = os::list_dir(at("/sys/bus"));
    if (pci || (no_pci && (drm || (buses && !buses->empty())))) {
      machine_.gpus_known = true;
      return;
    }
    // Without the prefix of a test's tree this is the path that a user can look at.
    machine_.gpus_unknown_reason =
        no_pci ? "neither /sys/bus/pci/devices nor /sys/class/drm is there: /sys is hidden"
               : "/sys/bus/pci/devices cannot be read";
  }

  std::string root_;
  Machine& machine_;
  std::string unreadable_;
};

}  // namespace

void find_gpus(const std::string& root, Machine& machine) { Search(root, machine).run(); }

}  // namespace picchio
