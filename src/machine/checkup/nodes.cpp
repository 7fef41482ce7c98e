#include "base/text.h"
#include "machine/checkup/checkup.h"
#include "os/device_node.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace picchio {
namespace {

NodeAccess access_of(int error) {
  switch (error) {
    case 0:
      return NodeAccess::opened;
    case ENOENT:
    case ENOTDIR:
      return NodeAccess::missing;
    case EACCES:
      return NodeAccess::no_permission;
    case EPERM:
      return NodeAccess::refused;
    case ENODEV:
    case ENXIO:
      return NodeAccess::no_device;
    default:
      return NodeAccess::failed;
  }
}

/// Nodes of that folder whose names begin so and go on with digits; without any, `expected`.
std::vector<std::string> numbered(const std::string& root, const std::string& folder,
                                  std::string_view prefix, std::string_view expected) {
  std::vector<std::string> out;
  for (const std::string& name : os::list_dir(root + folder).value_or(std::vector<std::string>())) {
    std::string_view rest = name;
    if (take_prefix(rest, prefix) && !rest.empty() && std::ranges::all_of(rest, is_digit)) {
      out.push_back(fmt::format("{}/{}", folder, name));
    }
  }
  if (out.empty()) out.push_back(fmt::format("{}/{}", folder, expected));
  return out;
}

struct Wanted {
  std::string path;
  std::string card;
};

/// The render node of a card by its own folder; where that is not told, any.
std::vector<std::string> render_nodes(const std::string& root, const MachineGpu& gpu) {
  const std::string folder = fmt::format("{}/sys/bus/pci/devices/{}/drm", root, gpu.address);
  std::vector<std::string> out;
  for (const std::string& name : os::list_dir(folder).value_or(std::vector<std::string>())) {
    if (name.starts_with("renderD")) out.push_back("/dev/dri/" + name);
  }
  return out.empty() ? numbered(root, "/dev/dri", "renderD", "renderD128") : out;
}

/// What an engine opens to compute on the cards of this machine.
std::vector<Wanted> wanted_nodes(const std::string& root, const Machine& machine,
                                 const Housing& housing) {
  std::vector<Wanted> out;
  const auto add = [&out](const std::vector<std::string>& more, const std::string& card) {
    for (const std::string& path : more) {
      if (std::ranges::find(out, path, &Wanted::path) == out.end()) out.push_back({path, card});
    }
  };
  if (housing.wsl) add({"/dev/dxg"}, "");
  for (const MachineGpu& gpu : machine.gpus) {
    if (!gpu.can_compute || housing.wsl) continue;
    if (gpu.vendor == "NVIDIA" && gpu.driver != "nouveau" && !gpu.address.empty()) {
      add({"/dev/nvidiactl"}, gpu.address);
      add(numbered(root, "/dev", "nvidia", "nvidia0"), gpu.address);
      add({"/dev/nvidia-uvm"}, gpu.address);
    } else if (gpu.vendor == "AMD" || gpu.vendor == "Intel" || gpu.driver == "nouveau") {
      add(render_nodes(root, gpu), gpu.address);
      if (gpu.vendor == "AMD") add({"/dev/kfd"}, gpu.address);
    }
  }
  return out;
}

}  // namespace

std::vector<Group> read_groups(const std::string& root) {
  std::vector<Group> out;
  const std::string text = os::read_file(root + "/etc/group", 1 << 20).value_or(std::string());
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 4) continue;
    const auto gid = parse_int(fields[2]);
    if (!gid || *gid < 0 || *gid > 0xFFFFFFFFLL) continue;
    Group group{std::string(fields[0]), static_cast<unsigned>(*gid), {}};
    for (const std::string_view member : split(fields[3], ',')) {
      if (!trim(member).empty()) group.members.emplace_back(trim(member));
    }
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<NodeLook> look_at_nodes(const std::string& root, const Machine& machine,
                                    const Housing& housing, const std::string& user,
                                    os::NodeTrial trial) {
  std::vector<NodeLook> out;
  const std::vector<Group> groups = read_groups(root);
  const std::vector<unsigned> ours = os::own_groups();
  for (const auto& [path, card] : wanted_nodes(root, machine, housing)) {
    const os::NodeStatus status = os::try_node(root + path, trial);
    NodeLook look;
    look.path = path;
    look.card = card;
    look.access = access_of(status.error);
    look.mode = status.mode;
    look.gid = status.gid;
    if (status.gid) {
      look.member = std::ranges::find(ours, *status.gid) != ours.end();
      const auto group = std::ranges::find(groups, *status.gid, &Group::gid);
      if (group != groups.end()) {
        look.group = group->name;
        look.assigned = std::ranges::find(group->members, user) != group->members.end();
      }
    }
    out.push_back(std::move(look));
  }
  return out;
}

}  // namespace picchio
