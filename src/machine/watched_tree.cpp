#include "machine/watched_tree.h"

#include "machine/telling_names.h"
#include "os/file.h"
#include "os/proc.h"

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

bool has_ended(const os::ProcStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

}  // namespace

Result<WatchedTree> WatchedTree::of(const std::string& root, int pid, int left_out) {
  const auto stat = os::read_proc_stat(root, pid);
  if (!stat) return fail(ErrorKind::not_found, "there is no process {}", pid);
  if (has_ended(*stat)) {
    return fail(ErrorKind::not_found, "process {} has ended; its parent has not noticed yet", pid);
  }
  WatchedTree tree(root, pid, left_out, stat->start_ticks, stat->comm);
  // Without a /proc it is a system whose GPUs are not driven through nodes in /dev.
  tree.readable_ = os::exists(root.ends_with('/') ? root + "proc" : root + "/proc");
  return tree;
}

bool WatchedTree::is_alive() const {
  const auto stat = os::read_proc_stat(root_, pid_);
  return stat && !has_ended(*stat) && stat->start_ticks == start_ticks_;
}

bool WatchedTree::look(Micros at) {
  if (!is_alive()) {
    pids_.clear();
    return false;
  }
  pids_ = os::process_tree(root_, pid_);
  std::erase(pids_, left_out_);
  for (const int pid : pids_) {
    note_member(pid, at);
    note_nodes(pid);
  }
  sample_cpu(at);
  return true;
}

void WatchedTree::note_member(int pid, Micros at) {
  const auto known = std::ranges::find_if(
      members_, [&](const WatchedProcess& member) { return member.pid == pid; });
  if (known != members_.end()) {
    known->last = at;
    // Between fork and exec a child still has its parent's name.
    if (const auto name = os::comm_of(root_, pid)) known->name = *name;
    return;
  }
  members_.push_back({.pid = pid,
                      .name = os::comm_of(root_, pid).value_or(""),
                      .in_tree = true,
                      .first = at,
                      .last = at});
}

void WatchedTree::note_nodes(int pid) {
  const auto open = os::open_files(root_, pid);
  const auto mapped = os::mapped_files(root_, pid);
  if (!open || !mapped) {
    // Asked afterwards: a process that ended meanwhile cannot be read either.
    const auto stat = os::read_proc_stat(root_, pid);
    if (stat && !has_ended(*stat)) readable_ = false;
    return;
  }
  const auto note = [this](const std::string& path) {
    if (!is_device_node(path)) return;
    const auto place = std::ranges::lower_bound(nodes_, path);
    if (place == nodes_.end() || *place != path) nodes_.insert(place, path);
  };
  std::ranges::for_each(*open, note);
  std::ranges::for_each(*mapped, note);  // a node can stay mapped after its descriptor was closed
}

void WatchedTree::sample_cpu(Micros at) {
  const auto all = os::cpu_seconds_of_tree(root_, pid_);
  if (!all) return;
  double used = *all;
  const std::vector<int> tree = os::process_tree(root_, pid_);
  if (std::ranges::find(tree, left_out_) != tree.end()) {
    used -= os::cpu_seconds_of_tree(root_, left_out_).value_or(0);
  }
  cpu_.push_back({at, used});
}

}  // namespace picchio
