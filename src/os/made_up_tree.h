// Test support: a machine's /proc, /sys and /dev in a temporary folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

namespace picchio {

class MadeUpTree {
 public:
  MadeUpTree()
      : root_(std::filesystem::temp_directory_path() /
              ("picchio_tree_" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directories(root_);
  }
  MadeUpTree(const MadeUpTree&) = delete;
  MadeUpTree& operator=(const MadeUpTree&) = delete;
  ~MadeUpTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] std::string root() const { return root_.string(); }

  void file(std::string_view path, std::string_view text = "") const {
    const auto full = at(path);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  void dir(std::string_view path) const { std::filesystem::create_directories(at(path)); }
  void link(std::string_view path, const std::string& target) const {
    const auto full = at(path);
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_symlink(target, full);
  }

  /// A PCI function as Linux shows it: its folder below the bridge, linked from the bus.
  void pci(const std::string& address, const std::string& ids, const std::string& pci_class,
           const std::string& driver = "") const {
    const std::string device = "/sys/devices/pci0000:00/" + address;
    file(device + "/class", pci_class + "\n");
    file(device + "/vendor", "0x" + ids.substr(0, 4) + "\n");
    file(device + "/device", "0x" + ids.substr(5) + "\n");
    if (!driver.empty()) {
      dir("/sys/bus/pci/drivers/" + driver);
      link(device + "/driver", "../../../bus/pci/drivers/" + driver);
    }
    link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + address);
  }

  /// A DRM render node of a device below /sys/devices. `driver` for devices outside of PCI.
  void render_node(int number, const std::string& device, const std::string& driver = "") const {
    const std::string name = "renderD" + std::to_string(number);
    dir("/sys/devices/" + device + "/drm/" + name);
    link("/sys/devices/" + device + "/drm/" + name + "/device", "../../../" + last_part(device));
    std::string up;
    for (const char c : device) up += c == '/' ? "../" : "";
    if (!driver.empty()) {
      dir("/sys/bus/platform/drivers/" + driver);
      link("/sys/devices/" + device + "/driver", "../" + up + "../bus/platform/drivers/" + driver);
    }
    link("/sys/class/drm/" + name, "../../devices/" + device + "/drm/" + name);
    file("/dev/dri/" + name);
  }

 private:
  [[nodiscard]] std::filesystem::path at(std::string_view path) const {
    return root_ / std::string(path.substr(1));
  }
  static std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  std::filesystem::path root_;
};

}  // namespace picchio
