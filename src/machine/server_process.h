// The processes of a server on this machine: who listens, and who computes.
#pragma once

#include "base/result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// The process in the tree of `server` that runs the model: of ollama's and a router's children the
/// newest whose command line holds `needle` (a blob's name, a model's path or alias); the server
/// itself where none does. An empty needle: the server.
[[nodiscard]] int computing_process(const std::string& root, int server, const std::string& needle);

/// The one process whose command line is a server's of that name ("ollama" with "serve",
/// "llama-server" with its port): for a port whose holder may not be seen, since command lines may.
/// Absent: none, or several.
[[nodiscard]] std::optional<int> server_by_command(const std::string& root,
                                                   std::string_view program, std::string_view word);

/// A command line whose secrets were taken out: what follows "--api-key", "--hf-token" and kin, and
/// passwords in URLs.
[[nodiscard]] std::vector<std::string> without_keys(std::vector<std::string> words);

/// The port that an llama-server's command line names; absent: none does.
[[nodiscard]] std::optional<int> port_of(const std::vector<std::string>& words);

/// The model that it names ("-m", "--model"); absent: none does.
[[nodiscard]] std::optional<std::string> model_of(const std::vector<std::string>& words);

/// The variables that a process was started with. Empty where they may not be read.
[[nodiscard]] std::map<std::string, std::string> environment_at_start(const std::string& root,
                                                                      int pid);

}  // namespace picchio
