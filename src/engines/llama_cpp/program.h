// What a llama.cpp program is and which flags it takes, read from its own --version and --help.
#pragma once

#include "evidence/run.h"

#include <optional>
#include <string>
#include <string_view>

namespace picchio::llama_cpp {

/// "version: 9430 (d48a56eff)" or "version: 0.7.0 (build 11669, commit Debian)", on stdout or
/// stderr, perhaps after other lines. `version` is the text after "version: "; `build` is "b9430" /
/// "b11669".
struct ProgramVersion {
  std::string version;
  std::string build;
};
[[nodiscard]] std::optional<ProgramVersion> parse_version(std::string_view output);

/// Flags that picchio would use, as far as the program's --help lists them.
struct Abilities {
  bool no_conversation = false;    // -no-cnv: completion without a chat template
  bool no_display_prompt = false;  // stdout starts with the first generated token
  bool ignore_eos = false;
  bool seed = false;
  bool verbosity_levels = false;  // -lv N with the list where 4 shows the loader's lines
  bool verbose = false;           // --verbose: everything
  bool simple_io = false;
  /// A chat program that reads its turns from the terminal and would never end by itself: llama-cli
  /// since December 2025. llama-completion is its successor for what picchio needs.
  bool chat_only = false;
};
[[nodiscard]] Abilities parse_help(std::string_view help);

}  // namespace picchio::llama_cpp
