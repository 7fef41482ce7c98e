#include "base/text.h"
#include "machine/checkup/checkup.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio {
namespace {

constexpr std::int64_t kMost = 1 << 20;
constexpr std::array<std::string_view, 9> kModules = {
    "nvidia", "nvidia_uvm", "nouveau", "amdgpu", "radeon", "i915", "xe", "nvidia_drm", "dxgkrnl"};

std::string text_of(const std::string& path) {
  return os::read_file(path, kMost).value_or(std::string());
}

std::vector<std::string> names_in(const std::string& path) {
  return os::list_dir(path).value_or(std::vector<std::string>());
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 ..."
std::string version_in_proc(const std::string& text) {
  for (const std::string_view word : split_blanks(text)) {
    if (!word.empty() && is_digit(word.front()) && word.contains('.')) return plain(word);
  }
  return {};
}

void read_blacklist(const std::string& folder, std::vector<std::string>& out) {
  for (const std::string& file : names_in(folder)) {
    if (!file.ends_with(".conf")) continue;
    const std::string text = text_of(fmt::format("{}/{}", folder, file));
    for (const std::string_view line : split_lines(text)) {
      const auto words = split_blanks(line);
      if (words.size() < 2 || words[0] != "blacklist") continue;
      const std::string module(words[1]);
      const bool known = std::ranges::find(kModules, std::string_view(module)) != kModules.end();
      if (known && std::ranges::find(out, module) == out.end()) out.push_back(module);
    }
  }
}

/// A variable of the firmware: four bytes of attributes, then its value.
std::optional<bool> secure_boot(const std::string& root) {
  const std::string folder = root + "/sys/firmware/efi/efivars";
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with("SecureBoot-")) continue;
    const auto bytes = os::read_file(fmt::format("{}/{}", folder, name), 64);
    if (!bytes || bytes->size() != 5) return std::nullopt;
    return bytes->back() == 1;
  }
  return std::nullopt;
}

/// Packages and DKMS put NVIDIA's module into one of these.
bool has_nvidia_module(const std::string& modules) {
  constexpr std::array<std::string_view, 6> kFolders = {
      "/updates/dkms", "/kernel/drivers/video",  "/extra",
      "/extramodules", "/kernel/nvidia-current", "/updates"};
  return std::ranges::any_of(kFolders, [&](std::string_view folder) {
    const auto names = names_in(modules + std::string(folder));
    return std::ranges::any_of(names, [](const std::string& name) {
      return name.starts_with("nvidia.ko") || name.starts_with("nvidia-current.ko");
    });
  });
}

}  // namespace

KernelDrivers find_kernel_drivers(const std::string& root) {
  KernelDrivers out;
  for (const std::string_view module : kModules) {
    if (os::exists(root + "/sys/module/" + std::string(module))) out.loaded.emplace_back(module);
  }
  out.nvidia_version = plain(trim(text_of(root + "/sys/module/nvidia/version")));
  if (out.nvidia_version.empty()) {
    out.nvidia_version = version_in_proc(text_of(root + "/proc/driver/nvidia/version"));
  }
  read_blacklist(root + "/etc/modprobe.d", out.blacklisted);
  read_blacklist(root + "/usr/lib/modprobe.d", out.blacklisted);
  out.secure_boot = secure_boot(root);
  out.kernel = plain(trim(text_of(root + "/proc/sys/kernel/osrelease")));
  for (const std::string& kernel : names_in(root + "/lib/modules")) {
    if (!has_nvidia_module(fmt::format("{}/lib/modules/{}", root, kernel))) continue;
    (kernel == out.kernel ? out.nvidia_for_this_kernel : out.nvidia_for_another_kernel) = true;
  }
  return out;
}

}  // namespace picchio
