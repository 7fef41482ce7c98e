// What /proc tells of a process. Every path is under `root`, "/" on a real machine, so that tests
// feed trees. Processes end while one looks: what is gone is left out, never an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::os {

/// "/proc/PID/stat", the part that is used. Times in clock ticks.
struct ProcStat {
  int pid = 0;
  std::string comm;  // at most 15 bytes, untrusted
  char state = '?';  // 'Z': ended, not yet waited for
  int parent = 0;
  std::int64_t own_ticks = 0;       // utime + stime, all threads, ended ones too
  std::int64_t children_ticks = 0;  // cutime + cstime: of children it waited for, and theirs
  std::int64_t start_ticks = 0;     // since boot; with the pid it names a process for good
};

/// Pure. The name may hold blanks, line ends and parentheses, so fields are counted from its last
/// ')'.
[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view text);

[[nodiscard]] std::optional<ProcStat> read_proc_stat(const std::string& root, int pid);

/// The process that `id`, a process's or a thread's, belongs to; absent when there is none.
[[nodiscard]] std::optional<int> process_of_thread(const std::string& root, int id);

/// All numeric names in /proc, ascending. Absent when /proc cannot be listed.
[[nodiscard]] std::optional<std::vector<int>> all_processes(const std::string& root);

/// `pid` first, then its living descendants; empty when it is gone. A descendant whose parent ended
/// belongs to somebody else and is not among them.
[[nodiscard]] std::vector<int> process_tree(const std::string& root, int pid);

/// User and system time of the tree, of children it already waited for too; absent when `pid` is
/// gone. A child that ends while this reads can be missed once, never counted twice. Costs two
/// small reads for each process and one for each thread: about 0.1 ms for an engine of ten threads.
[[nodiscard]] std::optional<double> cpu_seconds_of_tree(const std::string& root, int pid);

/// Names of the process's living threads, as the kernel cuts them; empty when it is gone or there
/// is no /proc.
[[nodiscard]] std::vector<std::string> thread_names(const std::string& root, int pid);

/// Distinct paths of files mapped into the process, sorted, without the kernel's " (deleted)".
/// Absent when that may not be read.
[[nodiscard]] std::optional<std::vector<std::string>> mapped_files(const std::string& root,
                                                                   int pid);

/// What its descriptors point to: "/dev/nvidia0", "socket:[1234]"; one entry each, in no order.
/// Absent when that may not be read.
[[nodiscard]] std::optional<std::vector<std::string>> open_files(const std::string& root, int pid);

[[nodiscard]] std::optional<std::string> comm_of(const std::string& root, int pid);
[[nodiscard]] std::optional<std::vector<std::string>> command_line(const std::string& root,
                                                                   int pid);
/// "NAME=value" entries as they were at its start.
[[nodiscard]] std::optional<std::vector<std::string>> environment_of(const std::string& root,
                                                                     int pid);

}  // namespace picchio::os
