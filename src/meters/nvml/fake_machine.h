// Test support: a machine's /proc, /sys and /dev in a temporary folder, and the fake NVML with what
// it is to answer (tests/fakes/nvml/README.md).
#pragma once

#include "meters/meter.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

namespace picchio::meters::nvml {

class FakeMachine {
 public:
  /// In the machine's own pid namespace, without a GPU.
  explicit FakeMachine(std::string_view scenario, int driver = 550)
      : root_(std::filesystem::temp_directory_path() /
              ("picchio_nvml_" + std::to_string(std::random_device{}()))),
        library_(std::string(PICCHIO_FAKE_NVML_DIR) + "/" + std::to_string(driver) +
                 "/libnvidia-ml.so.1") {
    link("/proc/self/ns/pid", "pid:[4026531836]");
    play(scenario);
    ::setenv("PICCHIO_FAKE_NVML", (root_ / "scenario").c_str(), 1);
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] Place place() const { return {root_.string(), library_}; }
  [[nodiscard]] Place place_without_library() const {
    return {root_.string(), (root_ / "libnvidia-ml.so.1").string()};
  }

  /// Valid for the next start of NVML.
  void play(std::string_view scenario) const { file("/scenario", scenario); }

  void file(std::string_view path, std::string_view text) const {
    const auto full = at(path);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  void link(std::string_view path, const std::string& target) const {
    const auto full = at(path);
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::remove(full);
    std::filesystem::create_symlink(target, full);
  }
  void pci_gpu(const std::string& address, const std::string& driver,
               const std::string& runtime_status) const {
    const std::string dir = "/sys/bus/pci/devices/" + address;
    file(dir + "/vendor", "0x10de\n");
    file(dir + "/device", "0x28e0\n");
    file(dir + "/class", "0x030000\n");
    file(dir + "/power/runtime_status", runtime_status + "\n");
    if (!driver.empty()) link(dir + "/driver", "../../../../bus/pci/drivers/" + driver);
  }

 private:
  [[nodiscard]] std::filesystem::path at(std::string_view path) const {
    return root_ / std::string(path.substr(1));
  }

  std::filesystem::path root_;
  std::string library_;
};

}  // namespace picchio::meters::nvml
