#include "engines/llama_cpp/raised_verbosity.h"

#include "base/text.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace picchio::llama_cpp {
namespace {

// Become what they start, with our standard streams.
constexpr std::string_view kStarters[] = {"env",     "nice",    "ionice",  "nohup",
                                          "taskset", "numactl", "setsid",  "chrt",
                                          "stdbuf",  "time",    "prlimit", "timeout"};

struct ProgramRow {
  std::string_view name;
  ViewedProgram view;
};
constexpr ProgramRow kPrograms[] = {{"llama-server", ViewedProgram::server},
                                    {"llama-completion", ViewedProgram::completion},
                                    {"llama-cli", ViewedProgram::cli}};

/// Arguments after which the two verbosities differ in more than what the view knows, or the log
/// goes elsewhere.
constexpr std::string_view kOwnLogging[] = {"-v",
                                            "--verbose",
                                            "--log-verbose",
                                            "-lv",
                                            "--verbosity",
                                            "--log-verbosity",
                                            "--log-disable",
                                            "--log-file",
                                            "--log-jsonl",
                                            "--no-log-prefix",
                                            "--no-log-timestamps",
                                            "--log-prefix",
                                            "--verbose-prompt"};

/// Those that name a model: a server without one is a router, whose children's logs go to stdout.
constexpr std::string_view kModels[] = {"-m",        "--model", "-mu", "--model-url",  "-hf",
                                        "--hf-repo", "-hfr",    "-dr", "--docker-repo"};

bool has_argument(std::span<const std::string> arguments, std::span<const std::string_view> names) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return argument == name || (argument.starts_with(name) && argument[name.size()] == '=');
    });
  });
}

bool has_variable(const std::vector<std::string>& environment, std::string_view beginning) {
  return std::ranges::any_of(
      environment, [&](const std::string& entry) { return entry.starts_with(beginning); });
}

std::string why_not(ViewedProgram view, std::span<const std::string> arguments,
                    const std::vector<std::string>& environment) {
  if (has_argument(arguments, kOwnLogging)) return "its own arguments say what it logs";
  for (const std::string_view name : {"LLAMA_ARG_LOG_", "LLAMA_LOG_"}) {
    if (has_variable(environment, name)) return fmt::format("a variable {}* is set", name);
  }
  const bool model = has_argument(arguments, kModels) ||
                     has_variable(environment, "LLAMA_ARG_MODEL=") ||
                     has_variable(environment, "LLAMA_ARG_HF_REPO=");
  if (view == ViewedProgram::server && !model) {
    return "as a router it hands its models' logs to stdout";
  }
  return {};
}

// --- the build -------------------------------------------------------------------------------

constexpr std::int64_t kMostBytes = std::int64_t{512} << 20;
// A longer script is no plain wrapper.
constexpr std::int64_t kScript = 16384;
// Of --help, and of the common library's calls.
constexpr std::string_view kLevelText = "trace (more info)";
constexpr std::string_view kTagText = "cmn  %12.*s";

bool file_has_both(const std::string& path) {
  const auto bytes = os::read_file(path, kMostBytes);
  return bytes && bytes->find(kLevelText) != std::string::npos &&
         bytes->find(kTagText) != std::string::npos;
}

bool is_common_library(std::string_view name) {
  return name.starts_with("libllama-common.") || name.starts_with("libllama-common-");
}

bool library_in(const std::string& folder) {
  const auto names = os::list_dir(folder);
  if (!names) return false;
  return std::ranges::any_of(*names, [&](const std::string& name) {
    return is_common_library(name) && file_has_both(folder + "/" + name);
  });
}

/// Where the loader would look, as far as installed programs go.
std::vector<std::string> library_folders(const std::string& program) {
  const std::string own = program.substr(0, std::max<std::size_t>(program.rfind('/'), 1));
  std::vector<std::string> out = {own, own + "/../lib", own + "/../lib/llama"};
  for (const std::string_view machine : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    out.push_back(fmt::format("{}/../lib/{}", own, machine));
    out.push_back(fmt::format("{}/../lib/{}/llama", own, machine));
  }
  const std::string path = os::env("LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.empty()) out.emplace_back(folder);
  }
  return out;
}

bool is_binary(std::string_view bytes) {
  return bytes.starts_with(
             "\x7f"
             "ELF") ||
         bytes.starts_with("\xcf\xfa\xed\xfe") || bytes.starts_with("\xca\xfe\xba\xbe");
}

bool binary_prints_traces(const std::string& program) {
  if (file_has_both(program)) return true;
  return std::ranges::any_of(library_folders(program), library_in);
}

/// Of "LD_LIBRARY_PATH=/a:/b exec /opt/x/llama-server "$@"": its programs and its folders.
bool script_prints_traces(std::string_view script) {
  for (const std::string_view word : split_blanks(script)) {
    std::string_view value = word.substr(word.find('=') + 1);
    for (std::string_view path : split(value, ':')) {
      while (!path.empty() && (path.front() == '"' || path.front() == '\'')) path.remove_prefix(1);
      while (!path.empty() && (path.back() == '"' || path.back() == '\'')) path.remove_suffix(1);
      if (!path.starts_with('/')) continue;
      const std::string name(path);
      if (library_in(name)) return true;
      const auto head = os::read_part(name, 0, 4);
      if (head && is_binary(*head) && binary_prints_traces(name)) return true;
    }
  }
  return false;
}

/// "5", "0-3", "0x0f", "10.5s", "+19": values of starters' options, CPU lists, durations.
bool is_number(std::string_view word) {
  constexpr std::string_view kInNumbers = "0123456789abcdefABCDEFxX.,:+-smhd";
  const std::size_t digit = word.starts_with('+') ? 1 : 0;
  return digit < word.size() && word[digit] >= '0' && word[digit] <= '9' &&
         word.find_first_not_of(kInNumbers) == std::string_view::npos;
}

template <class Range>
bool is_one_of(std::string_view name, const Range& names) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

bool script_speaks_of_log(std::string_view script) {
  constexpr std::string_view kAnywhere[] = {"--verbos", "--log-", "--no-log-", "LLAMA_ARG_LOG_",
                                            "LLAMA_LOG_"};
  for (const std::string_view text : kAnywhere) {
    if (script.contains(text)) return true;
  }
  std::string words(script);
  for (char& c : words) {
    if (std::string_view("\"'`()[]{}$;&|<>=,").contains(c)) c = ' ';
  }
  return std::ranges::any_of(split_blanks(words),
                             [](std::string_view word) { return word == "-v" || word == "-lv"; });
}

std::size_t program_word(const std::vector<std::string>& command) {
  if (command.empty() || !is_one_of(base_name(command.front()), kStarters)) return 0;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string_view word = command[i];
    const std::string_view name = base_name(word);
    if (std::ranges::find(kPrograms, name, &ProgramRow::name) != std::end(kPrograms)) return i;
    const bool of_the_starter = word.starts_with('-') || word.contains('=') || is_number(word) ||
                                is_one_of(name, kStarters);
    if (!of_the_starter) break;
  }
  return command.size();
}

VerbosityPlan plan_verbosity(const std::vector<std::string>& command,
                             const std::vector<std::string>& environment,
                             const std::function<BuildLog(const std::string&)>& look) {
  VerbosityPlan plan;
  const std::size_t at = program_word(command);
  if (at >= command.size()) return plan;
  const auto row = std::ranges::find(kPrograms, base_name(command[at]), &ProgramRow::name);
  if (row == std::end(kPrograms)) return plan;
  plan.program = row->name;
  std::vector<std::string> variables = environment;
  variables.insert(variables.end(), command.begin(),
                   command.begin() + static_cast<std::ptrdiff_t>(at));
  plan.why_not = why_not(row->view, std::span(command).subspan(at + 1), variables);
  if (!plan.why_not.empty()) return plan;
  switch (look(command[at])) {
    case BuildLog::traces:
      plan.view = row->view;
      break;
    case BuildLog::says_own:
      plan.why_not = "it is a script that says itself what is logged";
      break;
    case BuildLog::unknown:
      plan.why_not = "its build is none whose lines picchio can tell apart";
      break;
  }
  return plan;
}

BuildLog log_of_build(const std::string& program) {
  const auto found = os::find_on_path(program);
  if (!found) return BuildLog::unknown;
  const std::string path = os::real_path(*found).value_or(*found);
  const auto head = os::read_part(path, 0, kScript);
  if (!head) return BuildLog::unknown;
  if (is_binary(*head)) return binary_prints_traces(path) ? BuildLog::traces : BuildLog::unknown;
  // What a longer one says behind its beginning is not known.
  const bool whole = head->size() < static_cast<std::size_t>(kScript);
  if (!head->starts_with("#!") || !whole) return BuildLog::unknown;
  if (script_speaks_of_log(*head)) return BuildLog::says_own;
  return script_prints_traces(*head) ? BuildLog::traces : BuildLog::unknown;
}

}  // namespace picchio::llama_cpp
