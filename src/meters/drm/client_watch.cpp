#include "meters/drm/client_watch.h"

#include "meters/attribute.h"
#include "os/file.h"
#include "os/proc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio::meters::drm {
namespace {

constexpr Micros kLookThroughEvery = std::chrono::seconds(1);

// The longest text of today's drivers has some 3 KiB.
constexpr std::size_t kMaxFdInfo = 16 << 10;

bool is_gpu_node(std::string_view target) {
  return target.starts_with("/dev/dri/") || target.starts_with("/dev/accel/");
}

}  // namespace

Result<std::vector<GpuProcessUse>> told(ProcessLook look) {
  if (!look.use.empty() || look.denied.empty()) return std::move(look.use);
  return fail(ErrorKind::denied,
              "cannot see the GPU files of process {}: that needs the same user or root",
              look.denied.front());
}

ClientWatch::ClientWatch(Place place, std::vector<Watched> devices)
    : place_(std::move(place)), devices_(std::move(devices)) {}

std::string ClientWatch::at(int pid, std::string_view name) const {
  return under(place_.root, fmt::format("/proc/{}/{}", pid, name));
}

bool ClientWatch::uses_rocm(int pid) const {
  const auto found = processes_.find(pid);
  return found != processes_.end() && found->second.rocm;
}

void ClientWatch::drop_others(std::span<const int> pids) {
  std::erase_if(processes_, [&](const auto& each) {
    if (std::ranges::find(pids, each.first) != pids.end()) return false;
    book_.forget(each.first);
    return true;
  });
}

void ClientWatch::keep_gpu(int pid, Process& process, const std::string& fd, std::string node,
                           std::map<std::string, OpenGpu>& found) {
  const auto known = process.gpus.find(fd);
  if (known != process.gpus.end() && known->second.node == node) {
    found.insert(process.gpus.extract(known));
    return;
  }
  auto fdinfo = os::KeptFile::open(at(pid, "fdinfo/" + fd));
  if (fdinfo) {
    found.emplace(fd, OpenGpu{std::move(node), std::move(*fdinfo)});
  } else if (fdinfo.error().kind == ErrorKind::denied) {
    process.denied = true;
  }
}

void ClientWatch::look_through(int pid, Process& process) {
  process.denied = false;
  process.rocm = false;
  std::map<std::string, OpenGpu> found;
  const std::string dir = at(pid, "fd");
  const auto fds = os::list_dir(dir);
  if (!fds) process.denied = fds.error().kind == ErrorKind::denied;
  for (const std::string& fd : fds.value_or(std::vector<std::string>())) {
    auto target = os::read_link(fmt::format("{}/{}", dir, fd));
    if (!target) continue;  // closed meanwhile
    if (*target == "/dev/kfd") process.rocm = true;
    if (is_gpu_node(*target)) keep_gpu(pid, process, fd, std::move(*target), found);
  }
  process.gpus = std::move(found);
}

int ClientWatch::device_of(const Client& client, std::string_view node) const {
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    const Device& device = devices_[index].device;
    const bool same = client.address.empty() || device.address.empty()
                          ? std::ranges::find(device.nodes, node) != device.nodes.end()
                          : client.address == device.address;
    // Two drivers can share one PCI function only in turn, but a node can be renamed.
    if (same) return static_cast<int>(index);
  }
  return -1;
}

void ClientWatch::read_clients(int pid, Process& process, std::vector<Sighting>& sightings) const {
  std::array<char, kMaxFdInfo> space{};
  std::erase_if(process.gpus, [&](const auto& each) {
    const auto text = each.second.fdinfo.read(space);
    if (!text) return true;  // closed meanwhile
    auto client = parse_fdinfo(*text);
    const int device = client ? device_of(*client, each.second.node) : -1;
    // Another meter's device: not read again before the next look through.
    if (device < 0) return true;
    sightings.push_back({.pid = pid,
                         .device = device,
                         .unified = devices_[static_cast<std::size_t>(device)].unified,
                         .client = std::move(*client)});
    return false;
  });
}

ProcessLook ClientWatch::look(std::span<const int> pids) {
  drop_others(pids);
  const Micros now = place_.now();
  ProcessLook look;
  std::vector<Sighting> sightings;
  for (const int pid : pids) {
    const auto [found, is_new] = processes_.try_emplace(pid);
    Process& process = found->second;
    if (is_new || now - process.looked_through >= kLookThroughEvery) {
      const auto stat = os::read_proc_stat(place_.root, pid);
      const std::int64_t start = stat ? stat->start_ticks : 0;
      if (!is_new && stat && start != process.start_ticks) {
        process.gpus.clear();
        book_.forget(pid);
      }
      if (stat) process.start_ticks = start;
      process.looked_through = now;
      look_through(pid, process);
    }
    if (process.denied) look.denied.push_back(pid);
    read_clients(pid, process, sightings);
  }
  book_.look(now, sightings);
  look.use = book_.use(pids);
  return look;
}

}  // namespace picchio::meters::drm
