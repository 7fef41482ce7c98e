#include "base/text.h"
#include "os/file.h"
#include "os/proc.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace picchio::os {
namespace {

// An engine with a few hundred libraries has some 10 KiB of maps per hundred; a JVM some MiB.
constexpr std::int64_t kMaxProcFile = std::int64_t{16} << 20;

std::string proc_file(const std::string& root, int pid, std::string_view name) {
  std::string path = root;
  if (!path.ends_with('/')) path += '/';
  path += "proc/";
  path += std::to_string(pid);
  path += '/';
  path += name;
  return path;
}

std::optional<std::string> read_proc(const std::string& root, int pid, std::string_view name) {
  auto text = read_file(proc_file(root, pid, name), kMaxProcFile);
  if (!text) return std::nullopt;
  return std::move(*text);
}

std::optional<std::vector<std::string>> read_words(const std::string& root, int pid,
                                                   std::string_view name) {
  const auto text = read_proc(root, pid, name);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  if (rest.ends_with('\0')) rest.remove_suffix(1);
  std::vector<std::string> words;
  if (rest.empty()) return words;
  for (const std::string_view word : split(rest, '\0')) words.emplace_back(word);
  return words;
}

void append_children(const std::string& root, int pid, std::vector<int>& out, bool& listed) {
  const std::string tasks = proc_file(root, pid, "task");
  const auto threads = list_dir(tasks);
  if (!threads) return;
  for (const std::string& thread : *threads) {
    // The list is per thread: a child stands in the one of the thread that forked it.
    const auto children = read_file(fmt::format("{}/{}/children", tasks, thread), kMaxProcFile);
    if (!children) continue;
    listed = true;
    for (const std::string_view word : split_blanks(*children)) {
      if (const auto child = parse_int(word)) out.push_back(static_cast<int>(*child));
    }
  }
}

// For a kernel without CONFIG_PROC_CHILDREN: one look at every process of the machine.
std::vector<int> tree_by_parents(const std::string& root, int pid) {
  std::vector<int> tree{pid};
  std::vector<ProcStat> rest;
  for (const int other : all_processes(root).value_or(std::vector<int>())) {
    if (auto stat = read_proc_stat(root, other)) rest.push_back(std::move(*stat));
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const ProcStat& stat : rest) {
      if (stat.parent == tree[i] && std::ranges::find(tree, stat.pid) == tree.end()) {
        tree.push_back(stat.pid);
      }
    }
  }
  return tree;
}

// The kernel writes a line end in a path as "\012".
std::string unescaped(std::string_view path) {
  std::string out;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path.substr(at).starts_with("\\012")) {
      out += '\n';
      at += 3;
    } else {
      out += path[at];
    }
  }
  return out;
}

}  // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  ProcStat stat;
  const auto pid = parse_int(text.substr(0, open));
  const auto fields = split_blanks(text.substr(close + 1));
  // fields[0] is field 3 of proc(5), the state; starttime is field 22.
  if (!pid || fields.size() < 20) return std::nullopt;
  stat.pid = static_cast<int>(*pid);
  stat.comm = text.substr(open + 1, close - open - 1);
  stat.state = fields[0].front();
  const auto field = [&](std::size_t number) { return parse_int(fields[number - 3]); };
  const auto parent = field(4);
  const auto utime = field(14);
  const auto stime = field(15);
  const auto cutime = field(16);
  const auto cstime = field(17);
  const auto start = field(22);
  if (!parent || !utime || !stime || !cutime || !cstime || !start) return std::nullopt;
  stat.parent = static_cast<int>(*parent);
  stat.own_ticks = *utime + *stime;
  stat.children_ticks = *cutime + *cstime;
  stat.start_ticks = *start;
  return stat;
}

std::optional<ProcStat> read_proc_stat(const std::string& root, int pid) {
  const auto text = read_proc(root, pid, "stat");
  if (!text) return std::nullopt;
  return parse_proc_stat(*text);
}

std::optional<std::vector<int>> all_processes(const std::string& root) {
  const auto names = list_dir(root.ends_with('/') ? root + "proc" : root + "/proc");
  if (!names) return std::nullopt;
  std::vector<int> pids;
  for (const std::string& name : *names) {
    if (const auto pid = parse_int(name); pid && *pid > 0) pids.push_back(static_cast<int>(*pid));
  }
  std::ranges::sort(pids);
  return pids;
}

std::optional<int> process_of_thread(const std::string& root, int id) {
  const auto status = read_proc(root, id, "status");
  if (!status) return std::nullopt;
  for (std::string_view line : split_lines(*status)) {
    if (!take_prefix(line, "Tgid:")) continue;
    const auto process = parse_int(trim(line));
    if (process) return static_cast<int>(*process);
  }
  return std::nullopt;
}

std::vector<int> process_tree(const std::string& root, int pid) {
  if (!exists(proc_file(root, pid, "stat"))) return {};
  std::vector<int> tree{pid};
  bool listed = false;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    std::vector<int> children;
    append_children(root, tree[i], children, listed);
    for (const int child : children) {
      if (std::ranges::find(tree, child) == tree.end()) tree.push_back(child);
    }
  }
  return listed ? tree : tree_by_parents(root, pid);
}

std::optional<double> cpu_seconds_of_tree(const std::string& root, int pid) {
  std::int64_t ticks = 0;
  bool seen = false;
  // Parents come before their children here, so a child that is waited for in between is missing
  // from both and shows at the next call; the other order would count it twice.
  for (const int member : process_tree(root, pid)) {
    const auto stat = read_proc_stat(root, member);
    if (!stat) continue;
    seen = seen || member == pid;
    ticks += stat->own_ticks + stat->children_ticks;
  }
  const long per_second = ::sysconf(_SC_CLK_TCK);
  if (!seen || per_second <= 0) return std::nullopt;
  return static_cast<double>(ticks) / static_cast<double>(per_second);
}

std::vector<std::string> thread_names(const std::string& root, int pid) {
  std::vector<std::string> out;
  const auto threads = list_dir(proc_file(root, pid, "task"));
  if (!threads) return out;
  for (const std::string& thread : *threads) {
    const auto text = read_proc(root, pid, fmt::format("task/{}/comm", thread));
    if (text) out.emplace_back(trim(*text));
  }
  return out;
}

std::optional<std::vector<std::string>> mapped_files(const std::string& root, int pid) {
  const auto text = read_proc(root, pid, "maps");
  if (!text) return std::nullopt;
  std::vector<std::string> files;
  for (const std::string_view line : split_lines(*text)) {
    // "7f..-7f.. r-xp 00000000 08:01 1234    /usr/lib/libcuda.so.1": no earlier field holds a
    // slash.
    const auto slash = line.find('/');
    if (slash == std::string_view::npos) continue;
    std::string_view path = line.substr(slash);
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    if (files.empty() || files.back() != path) files.push_back(unescaped(path));
  }
  std::ranges::sort(files);
  const auto repeated = std::ranges::unique(files);
  files.erase(repeated.begin(), repeated.end());
  return files;
}

std::optional<std::vector<std::string>> open_files(const std::string& root, int pid) {
  const std::string dir = proc_file(root, pid, "fd");
  const auto names = list_dir(dir);
  if (!names) return std::nullopt;
  std::vector<std::string> targets;
  for (const std::string& name : *names) {
    if (auto target = read_link(fmt::format("{}/{}", dir, name)))
      targets.push_back(std::move(*target));
  }
  return targets;
}

std::optional<std::string> comm_of(const std::string& root, int pid) {
  const auto text = read_proc(root, pid, "comm");
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<std::vector<std::string>> command_line(const std::string& root, int pid) {
  return read_words(root, pid, "cmdline");
}

std::optional<std::vector<std::string>> environment_of(const std::string& root, int pid) {
  return read_words(root, pid, "environ");
}

}  // namespace picchio::os
