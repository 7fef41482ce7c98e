// The command line of a measured pass, and what of the user's own arguments picchio must
// understand.
#pragma once

#include "base/result.h"
#include "engines/llama_cpp/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::llama_cpp {

struct PassRequest {
  std::string model_path;
  std::string prompt;
  std::int64_t context = 0;
  std::int64_t generate = 0;
  std::int64_t seed = 0;
  std::vector<std::string> user_args;  // last on the line, untouched: they win
};

/// Linux refuses an argument of 128 KiB (MAX_ARG_STRLEN): a longer prompt has to be the program's
/// stdin, which command_line() then names as its file.
[[nodiscard]] bool prompt_on_stdin(const std::string& prompt);

[[nodiscard]] std::vector<std::string> command_line(const std::string& program,
                                                    const Abilities& can,
                                                    const PassRequest& request);

/// The context that the user's own arguments ask for: the last of -c N, -cN, --ctx-size N,
/// --ctx-size=N. 0 means "what the model was trained with", as the engine reads it.
[[nodiscard]] std::optional<std::int64_t> context_of(const std::vector<std::string>& user_args);

/// Fails for an argument that picchio sets itself (-m, -p, -f, -n ...) or that would hide the log.
[[nodiscard]] Result<void> check_user_args(const std::vector<std::string>& user_args);

/// Variables set for the engine, and those taken away: numbers with a decimal point, no colours, no
/// log file, none of the request's own settings changed behind its back.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& set_environment();
[[nodiscard]] const std::vector<std::string>& unset_environment();

/// Names of the variables that can steer placement; a run keeps their values. Those that end in '*'
/// stand for every variable with that beginning.
[[nodiscard]] const std::vector<std::string_view>& placement_variables();

}  // namespace picchio::llama_cpp
