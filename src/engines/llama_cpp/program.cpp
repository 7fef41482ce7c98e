#include "engines/llama_cpp/program.h"

#include "base/text.h"

#include <fmt/format.h>

namespace picchio::llama_cpp {
namespace {

// True when `flag` is one of the names that begin a line: "-s,    --seed SEED    RNG seed". A name
// that ends in a comma is followed by another one; what stands behind the last is its value and the
// text.
bool lists(std::string_view help, std::string_view flag) {
  for (const std::string_view line : split_lines(help)) {
    for (std::string_view word : split_blanks(line)) {
      if (!word.starts_with('-')) break;
      const bool another = word.ends_with(',');
      if (another) word.remove_suffix(1);
      if (word.substr(0, word.find('=')) == flag) return true;
      if (!another) break;
    }
  }
  return false;
}

}  // namespace

std::optional<ProgramVersion> parse_version(std::string_view output) {
  for (std::string_view line : split_lines(output)) {
    line = trim(line);
    if (!take_prefix(line, "version: ")) continue;
    ProgramVersion out{plain(line), {}};
    std::string_view rest = line;
    if (const auto build = between(line, "(build ", ",")) {
      if (const auto number = parse_int(*build)) out.build = fmt::format("b{}", *number);
    } else if (const auto number = take_int(rest); number && rest.starts_with(' ')) {
      out.build = fmt::format("b{}", *number);
    }
    return out;
  }
  return std::nullopt;
}

Abilities parse_help(std::string_view help) {
  Abilities out;
  out.no_conversation = lists(help, "-no-cnv") || lists(help, "--no-conversation");
  out.no_display_prompt = lists(help, "--no-display-prompt");
  out.ignore_eos = lists(help, "--ignore-eos");
  out.seed = lists(help, "--seed");
  // Since about build 9200 the loader's lines need level 4, and --help lists the levels.
  out.verbosity_levels = lists(help, "-lv") && help.find("- 4: ") != std::string_view::npos;
  out.verbose = lists(help, "--verbose");
  out.simple_io = lists(help, "--simple-io");
  out.chat_only = lists(help, "--single-turn") && !out.no_conversation;
  return out;
}

}  // namespace picchio::llama_cpp
