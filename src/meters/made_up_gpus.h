// Test support: DRM devices and processes that use them, in a made-up tree, with a clock by hand.
#pragma once

#include "meters/meter.h"
#include "os/made_up_tree.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace picchio::meters {

class MadeUpGpus : public MadeUpTree {
 public:
  [[nodiscard]] Place place() const {
    return {.root = root(),
            .nvml_library = {},
            .now = [now = now_] { return *now; },
            .apple_libraries = root() + "/no-libraries"};
  }
  void pass(Micros time) const { *now_ += time; }

  /// A card as Linux shows it, with its two nodes; attributes go below what this returns.
  [[nodiscard]] std::string pci_card(int number, const std::string& address, const std::string& ids,
                                     const std::string& driver) const {
    pci(address, ids, "0x030000", driver);
    const std::string device = "pci0000:00/" + address;
    render_node(128 + number, device);
    card_node(number, device);
    return "/sys/devices/" + device;
  }

  /// "card0" of a device that has a render node already.
  void card_node(int number, const std::string& device) const {
    const std::string name = "card" + std::to_string(number);
    const std::string folder = "/sys/devices/" + device + "/drm/" + name;
    dir(folder);
    link(folder + "/device", root() + "/sys/devices/" + device);
    link("/sys/class/drm/" + name, root() + folder);
  }

  void process(int pid, int start_ticks = 100) const {
    file(fmt::format("/proc/{}/stat", pid),
         fmt::format("{} (llama) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {} 0 0\n", pid,
                     start_ticks));
    dir(fmt::format("/proc/{}/fd", pid));
    dir(fmt::format("/proc/{}/fdinfo", pid));
  }
  void open_gpu(int pid, int fd, std::string_view node, std::string_view fdinfo_text) const {
    link(fmt::format("/proc/{}/fd/{}", pid, fd), std::string(node));
    fdinfo(pid, fd, fdinfo_text);
  }
  void fdinfo(int pid, int fd, std::string_view text) const {
    file(fmt::format("/proc/{}/fdinfo/{}", pid, fd), text);
  }
  void close_gpu(int pid, int fd) const {
    remove_all(
        {fmt::format("/proc/{}/fd/{}", pid, fd), fmt::format("/proc/{}/fdinfo/{}", pid, fd)});
  }
  void end(int pid) const { remove_all({fmt::format("/proc/{}", pid)}); }
  void remove_all(std::initializer_list<std::string> paths) const {
    for (const std::string& path : paths) std::filesystem::remove_all(root() + path);
  }

 private:
  std::shared_ptr<Micros> now_ = std::make_shared<Micros>(std::chrono::seconds(1000));
};

}  // namespace picchio::meters
