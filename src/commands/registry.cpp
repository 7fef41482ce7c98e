#include "base/text.h"
#include "commands/command.h"
#include "commands/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace picchio {
namespace {

constexpr std::array kCommands = {
    Command{"causes", "explain the causes that WHY can name, and what mends them", causes_command},
    Command{"compare", "put two runs side by side and name the suspect", compare_command},
    Command{"diagnose", "measure a model and say where it really ran (the default)", diagnose},
    Command{"doctor", "check this machine from the card to the engines, link by link",
            doctor_command},
    Command{"explain", "say which lane of a run a quoted number resembles", explain_number},
    Command{"explain-log", "judge an engine log that somebody pasted", explain_log},
    Command{"guard", "run a command and say so when its model lands off the GPU", guard},
    Command{"history", "list what was measured before; export, import, prune", history_command},
    Command{"id", "say what is inside a model file, whatever its label claims", id},
    Command{"meters", "list what this machine's GPU meters can measure", meters_command},
    Command{"monitor", "probe a running server and say when it falls off the GPU", monitor},
    Command{"plan", "forecast from a model's header whether it fits, where and how fast", plan},
    Command{"replay", "judge a run kept by --keep-logs again", replay},
    Command{"share", "quote a run with its conditions: a line, a table row, a post", share_command},
    Command{"verify", "recompute what a pasted block claims", verify_command},
    Command{"vet", "say which conditions of a tok/s figure a post leaves out", vet_command},
    Command{"watch", "put the GPU meters beside a process that runs already", watch},
};

// A word that is no file and looks like a mistyped command is not a model.
const Command* mistyped(const std::string& word) {
  if (word.find_first_of("./:") != std::string::npos || std::filesystem::exists(word))
    return nullptr;
  constexpr std::size_t kTypos = 2;
  const auto nearest = std::ranges::min_element(
      kCommands, {}, [&](const Command& command) { return edit_distance(word, command.name); });
  // Of a short word more than half may not be a typo: "ab" is not "id".
  const std::size_t distance = edit_distance(word, nearest->name);
  return distance <= std::min(kTypos, word.size() / 2) ? nearest : nullptr;
}

Arguments split_arguments(std::vector<std::string> words) {
  Arguments out;
  const auto dashes = std::ranges::find(words, "--");
  out.has_rest = dashes != words.end();
  if (out.has_rest) out.rest.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
  out.words = std::move(words);
  return out;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto row = std::ranges::find(kCommands, name, &Command::name);
  return row == kCommands.end() ? nullptr : &*row;
}

void print_error(const Error& error) {
  // Names of files and words of engines stand in it as they came.
  print_stderr(fmt::format("picchio: error: {}\n", plain(error.message)));
  if (!error.hint.empty()) print_stderr(fmt::format("picchio: hint: {}\n", plain(error.hint)));
}

ExitCode run_command_line(std::vector<std::string> words) {
  Arguments arguments = split_arguments(std::move(words));
  if (arguments.words.empty()) return diagnose(arguments);
  const std::string first = arguments.words.front();
  if (first == "--version") return print_version();
  if (first == "--selftest") {
    arguments.words.erase(arguments.words.begin());
    return selftest(arguments);
  }
  if (first == "--list-meters") {  // as other tools name the question
    arguments.words.erase(arguments.words.begin());
    return meters_command(arguments);
  }
  if (const Command* command = find_command(first)) {
    arguments.words.erase(arguments.words.begin());
    return command->run(arguments);
  }
  if (const Command* command = mistyped(first)) {
    print_error({ErrorKind::not_found,
                 fmt::format("no command '{}' and no such file", plain(first)),
                 fmt::format("did you mean 'picchio {}'?", command->name)});
    return ExitCode::could_not_run;
  }
  return diagnose(arguments);
}

}  // namespace picchio
