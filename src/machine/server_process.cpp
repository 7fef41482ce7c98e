#include "machine/server_process.h"

#include "base/text.h"
#include "os/proc.h"

#include <algorithm>
#include <array>

namespace picchio {
namespace {

constexpr std::array<std::string_view, 6> kSecretFlags = {
    "--api-key", "--api-key-file", "--hf-token", "-hft", "--token", "--password"};

bool names(const std::vector<std::string>& words, const std::string& needle) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word.contains(needle); });
}

}  // namespace

int computing_process(const std::string& root, int server, const std::string& needle) {
  if (needle.empty()) return server;
  int found = server;
  std::int64_t newest = -1;
  for (const int pid : os::process_tree(root, server)) {
    if (pid == server) continue;
    const auto words = os::command_line(root, pid);
    const auto stat = os::read_proc_stat(root, pid);
    if (!words || !stat || stat->state == 'Z' || !names(*words, needle)) continue;
    if (stat->start_ticks < newest) continue;
    newest = stat->start_ticks;
    found = pid;
  }
  return found;
}

std::optional<int> server_by_command(const std::string& root, std::string_view program,
                                     std::string_view word) {
  std::optional<int> found;
  for (const int pid : os::all_processes(root).value_or(std::vector<int>())) {
    const auto words = os::command_line(root, pid);
    if (!words || words->empty()) continue;
    const std::string_view path = words->front();
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name != program || std::ranges::find(*words, word) == words->end()) continue;
    if (found) return std::nullopt;
    found = pid;
  }
  return found;
}

std::vector<std::string> without_keys(std::vector<std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view flag : kSecretFlags) {
      if (words[i] == flag && i + 1 < words.size()) words[i + 1] = "...";
      if (words[i].starts_with(flag) && words[i].size() > flag.size() &&
          words[i][flag.size()] == '=') {
        words[i] = std::string(flag) + "=...";
      }
    }
  }
  return words;
}

std::optional<int> port_of(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "--port") continue;
    const auto port = parse_int(words[i + 1]);
    constexpr int kHighestPort = 65535;
    if (port && *port > 0 && *port <= kHighestPort) return static_cast<int>(*port);
  }
  return std::nullopt;
}

std::map<std::string, std::string> environment_at_start(const std::string& root, int pid) {
  std::map<std::string, std::string> out;
  const auto entries = os::environment_of(root, pid);
  if (!entries) return out;
  for (const std::string& entry : *entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

}  // namespace picchio
