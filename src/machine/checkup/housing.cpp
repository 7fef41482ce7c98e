#include "base/text.h"
#include "machine/checkup/checkup.h"
#include "os/file.h"

#include <array>
#include <utility>

namespace picchio {
namespace {

constexpr std::int64_t kMost = 1 << 20;

std::string text_of(const std::string& path) {
  return os::read_file(path, kMost).value_or(std::string());
}

std::string line_of(const std::string& path) { return plain(trim(text_of(path))); }

/// By what the runtime leaves: a file, or the variable that it starts the first process with.
std::string container_name(const std::string& root) {
  if (os::exists(root + "/.dockerenv")) return "docker";
  if (os::exists(root + "/run/.containerenv")) return "podman";
  if (os::exists(root + "/var/run/secrets/kubernetes.io")) return "kubernetes";
  const std::string environment = text_of(root + "/proc/1/environ");
  for (std::string_view entry : split(environment, '\0')) {
    if (take_prefix(entry, "container=") && !entry.empty()) return plain(entry);
  }
  const std::string groups = text_of(root + "/proc/1/cgroup");
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kWords = {
      {{"/docker", "docker"}, {"/kubepods", "kubernetes"}, {"/lxc", "lxc"}, {"/libpod", "podman"}}};
  for (const auto& [word, name] : kWords) {
    if (groups.contains(word)) return name;
  }
  // Where the first process may be looked at: other mounts than its are somebody's sandbox.
  const auto own = os::read_link(root + "/proc/self/ns/mnt");
  const auto first = os::read_link(root + "/proc/1/ns/mnt");
  if (own && first && *own != *first) return "a mount namespace";
  return {};
}

}  // namespace

Housing find_housing(const std::string& root,
                     const std::map<std::string, std::string>& environment) {
  Housing out;
  out.container = container_name(root);
  if (environment.contains("SNAP")) out.sandbox = "snap";
  if (os::exists(root + "/.flatpak-info")) out.sandbox = "flatpak";
  out.wsl = lower(text_of(root + "/proc/sys/kernel/osrelease")).contains("microsoft");
  const std::string vendor = line_of(root + "/sys/class/dmi/id/sys_vendor");
  const std::string product = line_of(root + "/sys/class/dmi/id/product_name");
  const bool guest = text_of(root + "/proc/cpuinfo").contains(" hypervisor");
  if (guest && !out.wsl) {
    out.virtual_machine = product.empty() ? "a hypervisor" : product;
    if (!vendor.empty() && !product.contains(vendor)) out.virtual_machine += " (" + vendor + ")";
  }
  return out;
}

}  // namespace picchio
