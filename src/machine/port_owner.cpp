#include "machine/port_owner.h"

#include "base/text.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/proc.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

constexpr std::int64_t kMaxNetFile = std::int64_t{16} << 20;

// What stands between a client and the process that computes: containers' proxies, tunnels, web
// servers in front of an engine. /proc cuts a name after 15 bytes.
constexpr std::string_view kForwarders[] = {
    "docker-proxy", "rootlessport", "slirp4netns", "pasta",   "passt", "ssh",     "sshd",
    "socat",        "kubectl",      "haproxy",     "traefik", "envoy", "caddy",   "nginx",
    "apache2",      "httpd",        "ncat",        "gvproxy", "frpc",  "wslrelay"};

std::string under(const std::string& root, std::string_view path) {
  return (root.ends_with('/') ? root.substr(0, root.size() - 1) : root) + std::string(path);
}

// systemd and kin open a service's socket for it and keep a copy.
bool opens_sockets_for_others(const os::ProcStat& stat) {
  // Not by pid 1: in a container that is the server itself.
  return stat.comm == "systemd" || stat.comm == "launchd" || stat.comm == "init" ||
         stat.comm == "inetd" || stat.comm == "xinetd";
}

// Whether `pid` descends from one of `others`.
bool has_ancestor_among(const std::string& root, int pid, const std::vector<int>& others) {
  constexpr int kDeepest = 64;  // a made-up /proc may go round in circles
  for (int steps = 0; steps < kDeepest; ++steps) {
    const auto stat = os::read_proc_stat(root, pid);
    if (!stat || stat->parent <= 0) return false;
    pid = stat->parent;
    if (std::ranges::find(others, pid) != others.end()) return true;
  }
  return false;
}

std::string user_text(int uid) {
  const auto name = os::user_name(uid);
  return name ? fmt::format("'{}'", plain(*name)) : std::to_string(uid);
}

}  // namespace

bool only_forwards(std::string_view comm) {
  return std::ranges::find(kForwarders, comm) != std::end(kForwarders);
}

PortHolders port_holders(const std::string& root, const LocalEndpoint& endpoint) {
  std::vector<ListeningSocket> sockets;
  for (const std::string_view file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = os::read_file(under(root, file), kMaxNetFile);
    if (!text) continue;  // tcp6 is not there without IPv6
    std::ranges::move(listening_sockets(*text, endpoint), std::back_inserter(sockets));
  }
  PortHolders holders;
  if (sockets.empty()) return holders;
  std::vector<bool> found(sockets.size(), false);
  for (const int pid : os::all_processes(root).value_or(std::vector<int>())) {
    const auto open = os::open_files(root, pid);
    if (!open) continue;
    bool holds = false;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (std::ranges::find(*open, "socket:[" + sockets[i].inode + "]") == open->end()) continue;
      found[i] = holds = true;
    }
    if (holds) holders.pids.push_back(pid);
  }
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if (!found[i]) holders.hidden_uids.push_back(sockets[i].uid);
  }
  std::ranges::sort(holders.hidden_uids);
  const auto repeated = std::ranges::unique(holders.hidden_uids);
  holders.hidden_uids.erase(repeated.begin(), repeated.end());
  return holders;
}

Result<int> server_of(const std::string& root, const PortHolders& holders, int port) {
  if (!holders.hidden_uids.empty()) {
    return with_hint(
        fail(ErrorKind::denied, "port {} belongs to a process of user {}, which cannot be seen",
             port, user_text(holders.hidden_uids.front())),
        "run as the same user or root, or name the process by its pid");
  }
  std::vector<int> servers;
  for (const int pid : holders.pids) {
    const auto stat = os::read_proc_stat(root, pid);
    if (!stat || opens_sockets_for_others(*stat)) continue;
    servers.push_back(pid);
  }
  const std::vector<int> all = servers;
  std::erase_if(servers, [&](int pid) { return has_ancestor_among(root, pid, all); });
  if (servers.empty()) {
    // Also where a service manager alone holds it: the service starts with the first request.
    return with_hint(
        fail(ErrorKind::not_found, "no server listens on port {} of this machine", port),
        "is it running? of one in a container give the pid");
  }
  if (servers.size() > 1) {
    return with_hint(fail(ErrorKind::unsupported, "several processes listen on port {}: {}", port,
                          fmt::join(servers, ", ")),
                     "name one of them by its pid");
  }
  const std::string name = os::comm_of(root, servers.front()).value_or("");
  if (only_forwards(name)) {
    return with_hint(fail(ErrorKind::unsupported,
                          "port {} is held by {} (pid {}), which passes it on to another process",
                          port, plain(name), servers.front()),
                     "name the process that computes by its pid");
  }
  return servers.front();
}

}  // namespace picchio
