#include "machine/server_process.h"

#include "base/text.h"
#include "os/proc.h"
#include "os/remote_name.h"

#include <algorithm>
#include <iterator>

namespace picchio {
namespace {

/// "--api-key", "--admin-api-key", "--hf-token", "-hft", "--gradio-auth", also shortened to
/// "--api-k"; not "--tokenizer".
bool is_secret_flag(std::string_view flag) {
  if (!flag.starts_with('-')) return false;
  if (flag == "-hft" || flag.starts_with("--api-k")) return true;
  constexpr std::string_view kSecretWords[] = {"key",  "keys",     "token",
                                               "auth", "password", "secret"};
  return std::ranges::any_of(split(flag, '-'), [&](std::string_view part) {
    return std::ranges::find(kSecretWords, lower(part)) != std::end(kSecretWords);
  });
}

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
  bool secret = false;
  for (std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (word.starts_with('-')) {
      secret = is_secret_flag(word.substr(0, equals));
      if (secret && equals != std::string::npos) word = word.substr(0, equals) + "=...";
    } else if (secret) {
      word = "...";  // some take several
    } else {
      word = os::without_secrets(word);
    }
  }
  return words;
}

std::optional<std::string> model_of(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-m" || words[i] == "--model") return words[i + 1];
  }
  return std::nullopt;
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
