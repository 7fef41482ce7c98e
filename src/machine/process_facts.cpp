#include "machine/process_facts.h"

#include "base/text.h"
#include "machine/tcp_listeners.h"
#include "machine/telling_names.h"
#include "os/file.h"
#include "os/proc.h"

#include <algorithm>
#include <vector>

namespace picchio {
namespace {

constexpr std::size_t kMaxNames = 64;
constexpr std::int64_t kMaxNetFile = std::int64_t{16} << 20;

void add_once(std::vector<std::string>& names, std::string_view name) {
  const auto at = std::ranges::lower_bound(names, name);
  if (at == names.end() || *at != name) names.emplace(at, name);
}

void bound(std::vector<std::string>& names) {
  if (names.size() > kMaxNames) names.resize(kMaxNames);
}

/// Mesa's lavapipe and llvmpipe start their threads with a device.
std::optional<std::string> software_renderer(const std::string& root, int pid) {
  for (const std::string& name : os::thread_names(root, pid)) {
    if (name.starts_with("llvmpipe-")) return "llvmpipe";
  }
  return std::nullopt;
}

enum class Look { seen, gone, refused };

bool is_gone(const std::string& root, int pid) {
  const auto stat = os::read_proc_stat(root, pid);
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

Look look_at(const std::string& root, int pid, std::vector<std::string>& libraries,
             std::vector<std::string>& nodes) {
  const auto mapped = os::mapped_files(root, pid);
  const auto open = os::open_files(root, pid);
  // Asked afterwards: a process that ended meanwhile shows empty maps, which prove nothing.
  if (is_gone(root, pid)) return Look::gone;
  if (!mapped || !open) return Look::refused;
  for (const std::string& path : *mapped) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (is_telling_library(name)) add_once(libraries, name);
    // Held by a mapping after its descriptor was closed.
    if (is_device_node(path)) add_once(nodes, path);
  }
  for (const std::string& target : *open) {
    if (is_device_node(target)) add_once(nodes, target);
  }
  return Look::seen;
}

std::string join_path(const std::string& root, std::string_view path) {
  return (root.ends_with('/') ? root.substr(0, root.size() - 1) : root) + std::string(path);
}

/// Of those that listen there, as /proc/PID/fd shows them: "socket:[inode]".
std::vector<std::string> listening_sockets(const std::string& root, const LocalEndpoint& endpoint) {
  std::vector<std::string> out;
  for (const std::string_view file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = os::read_file(join_path(root, file), kMaxNetFile);
    if (!text) continue;  // tcp6 is not there without IPv6
    for (const std::string& inode : listener_inodes(*text, endpoint)) {
      out.push_back("socket:[" + inode + "]");
    }
  }
  return out;
}

}  // namespace

ProcessFacts read_process_facts(const std::string& root, int pid) {
  ProcessFacts facts;
  for (const int member : os::process_tree(root, pid)) {
    switch (look_at(root, member, facts.libraries, facts.device_nodes)) {
      case Look::seen:
        if (const auto renderer = software_renderer(root, member)) facts.renderer = *renderer;
        add_once(facts.processes, os::comm_of(root, member).value_or("?"));
        facts.readable = true;
        break;
      case Look::gone:
        break;
      case Look::refused:
        return {};
    }
  }
  bound(facts.libraries);
  bound(facts.device_nodes);
  bound(facts.processes);
  return facts;
}

std::optional<LocalWorker> find_local_worker(const std::string& root, std::string_view endpoint) {
  const auto loopback = parse_loopback(endpoint);
  if (!loopback) return std::nullopt;
  const std::vector<std::string> wanted = listening_sockets(root, *loopback);
  if (wanted.empty()) return std::nullopt;

  LocalWorker worker;
  worker.endpoint = endpoint;
  std::vector<std::string> found;
  for (const int pid : os::all_processes(root).value_or(std::vector<int>())) {
    const auto open = os::open_files(root, pid);
    if (!open) continue;
    bool holds = false;
    for (const std::string& socket : wanted) {
      if (std::ranges::find(*open, socket) == open->end()) continue;
      holds = true;
      add_once(found, socket);
    }
    if (!holds) continue;
    std::vector<std::string> libraries;
    if (look_at(root, pid, libraries, worker.device_nodes) != Look::seen) return std::nullopt;
    if (std::ranges::none_of(libraries, [](const auto& n) { return n.starts_with("libggml"); })) {
      return std::nullopt;
    }
    for (const std::string& name : libraries) add_once(worker.libraries, name);
    if (worker.process.empty()) worker.process = os::comm_of(root, pid).value_or("?");
  }
  // A socket whose holder cannot be seen may be the one that answers.
  if (found.size() != wanted.size()) return std::nullopt;
  bound(worker.libraries);
  bound(worker.device_nodes);
  return worker;
}

std::vector<LocalWorker> local_workers(const std::string& root,
                                       const std::vector<std::string>& arguments) {
  std::vector<LocalWorker> out;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--rpc") continue;
    for (const std::string_view endpoint : split(arguments[i + 1], ',')) {
      if (auto worker = find_local_worker(root, endpoint)) out.push_back(*std::move(worker));
    }
  }
  return out;
}

}  // namespace picchio
