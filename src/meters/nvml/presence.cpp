#include "meters/nvml/presence.h"

#include "base/text.h"
#include "os/file.h"

#include <fmt/format.h>

#include <string_view>

namespace picchio::meters::nvml {
namespace {

constexpr std::int64_t kMaxSmallFile = 64 << 10;

// What a file below /sys or /proc says, "" when it says nothing.
std::string value_of(const std::string& path) {
  return std::string(trim(os::read_file(path, kMaxSmallFile).value_or(std::string())));
}

std::string pci_dir(const std::string& root, const std::string& address) {
  return root + "/sys/bus/pci/devices/" + address;
}

// "0x10de" -> "10de"
std::string hex_digits(const std::string& path) {
  const std::string text = lower(value_of(path));
  std::string_view digits = text;
  take_prefix(digits, "0x");
  return std::string(digits);
}

std::string driver_of(const std::string& root, const std::string& address) {
  const auto link = os::read_link(pci_dir(root, address) + "/driver");
  return link ? plain(link->substr(link->rfind('/') + 1)) : std::string();
}

}  // namespace

std::vector<PciGpu> pci_gpus(const std::string& root) {
  std::vector<PciGpu> gpus;
  for (const std::string& address :
       os::list_dir(root + "/sys/bus/pci/devices").value_or(std::vector<std::string>())) {
    const std::string dir = pci_dir(root, address);
    // Base class 03, display controller: a card's sound and USB functions are NVIDIA's too.
    if (hex_digits(dir + "/vendor") != "10de" || !hex_digits(dir + "/class").starts_with("03")) {
      continue;
    }
    gpus.push_back({address, "10de:" + plain(hex_digits(dir + "/device")), driver_of(root, address),
                    is_asleep(root, address)});
  }
  return gpus;
}

bool is_asleep(const std::string& root, const std::string& address) {
  const std::string status = value_of(pci_dir(root, address) + "/power/runtime_status");
  return status == "suspended" || status == "suspending";
}

std::string sign_of_gpu(const std::string& root) {
  const auto gpus = pci_gpus(root);
  if (!gpus.empty()) {
    const PciGpu& gpu = gpus.front();
    return fmt::format("an NVIDIA GPU ({}, {})", gpu.address,
                       gpu.driver.empty() ? "no driver" : "driver " + gpu.driver);
  }
  for (const std::string& name : os::list_dir(root + "/dev").value_or(std::vector<std::string>())) {
    std::string_view rest = name;
    if (name == "nvidiactl" || (take_prefix(rest, "nvidia") && parse_int(rest))) {
      return "/dev/" + name;
    }
  }
  // The WSL kernel's door to the host's GPUs, of whatever vendor.
  return os::exists(root + "/dev/dxg") ? "/dev/dxg" : "";
}

std::string kernel_driver_version(const std::string& root) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024", and
  // "NVIDIA UNIX Open Kernel Module for x86_64  575.64 ..." of the open one.
  const std::string text = value_of(root + "/proc/driver/nvidia/version");
  const auto lines = split_lines(text);
  if (lines.empty()) return {};
  for (const std::string_view word : split_blanks(lines.front())) {
    const auto parts = split(word, '.');
    if (parts.size() >= 2 && parse_int(parts[0]) && parse_int(parts[1])) return plain(word);
  }
  return {};
}

}  // namespace picchio::meters::nvml
