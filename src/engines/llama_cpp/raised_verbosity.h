// Whether a command's log may be made to tell the placement without anybody noticing.
#pragma once

#include "engines/llama_cpp/default_view.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::llama_cpp {

struct VerbosityPlan {
  /// The variable is to be set, and the log to be handed on through this view.
  std::optional<ViewedProgram> view;
  /// Why not; empty: `view` is there, or this is no program of llama.cpp's.
  std::string why_not;
  std::string program;  // its name, without folders; empty: no program of llama.cpp's
};

inline constexpr std::string_view kVerbosityName = "LLAMA_ARG_LOG_VERBOSITY";
inline constexpr std::string_view kVerbosityValue = "4";

/// Of a program's file.
enum class BuildLog {
  unknown,
  traces,    // it prints what DefaultView knows to tell apart
  says_own,  // a script in front of it decides what is logged
};

/// `environment` as "NAME=value" entries. `look` tells of a program's path, as the command names
/// it. Pure but for that.
[[nodiscard]] VerbosityPlan plan_verbosity(const std::vector<std::string>& command,
                                           const std::vector<std::string>& environment,
                                           const std::function<BuildLog(const std::string&)>& look);

/// Where in `command` the program stands that a plain starter (env, nice, nohup, taskset...) turns
/// into: its first word that is no option, no NAME=value and no number. command.size(): that is no
/// program of llama.cpp's, which includes options' values that are words (`timeout -s KILL`).
[[nodiscard]] std::size_t program_word(const std::vector<std::string>& command);

/// `traces` when the program's own bytes, or those of llama.cpp's libraries beside it, hold the
/// texts of builds that know the level "trace" and tag their lines. Nothing is run. A short script
/// is read for the program that it starts, and for what it says of the log.
[[nodiscard]] BuildLog log_of_build(const std::string& program);

/// A script's text speaks of an argument or a variable about the log. Doubtful words count.
[[nodiscard]] bool script_speaks_of_log(std::string_view script);

}  // namespace picchio::llama_cpp
