// macOS has no /proc: nothing can be told of other processes here. Untested.
#include "os/proc.h"

namespace picchio::os {

std::optional<ProcStat> parse_proc_stat(std::string_view /*text*/) { return std::nullopt; }
std::optional<ProcStat> read_proc_stat(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}
std::optional<std::vector<int>> all_processes(const std::string& /*root*/) { return std::nullopt; }
std::optional<int> process_of_thread(const std::string& /*root*/, int /*id*/) {
  return std::nullopt;
}

std::vector<int> process_tree(const std::string& /*root*/, int /*pid*/) { return {}; }
std::optional<double> cpu_seconds_of_tree(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}
std::vector<std::string> thread_names(const std::string& /*root*/, int /*pid*/) { return {}; }
std::optional<std::vector<std::string>> mapped_files(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}
std::optional<std::vector<std::string>> open_files(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}
std::optional<std::string> comm_of(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}
std::optional<std::vector<std::string>> command_line(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}
std::optional<std::vector<std::string>> environment_of(const std::string& /*root*/, int /*pid*/) {
  return std::nullopt;
}

}  // namespace picchio::os
