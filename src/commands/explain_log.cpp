#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "engines/log_reader.h"
#include "os/file.h"
#include "report/explain.h"
#include "report/json.h"
#include "report/log_text.h"
#include "verdict/account.h"
#include "verdict/judge.h"

#include <fmt/format.h>

namespace picchio {
namespace {

// A journal of months fits; a runaway pipe does not take the machine's memory.
constexpr std::int64_t kMostLogBytes = std::int64_t{512} << 20;

Result<std::string> read_log(const std::string& path) {
  if (path == "-") return os::read_all(0, kMostLogBytes, "standard input");
  return os::read_file(path, kMostLogBytes);
}

}  // namespace

ExitCode explain_log(const Arguments& arguments) {
  CLI::App app(
      "Judges an engine log that somebody pasted: llama.cpp of any era, ollama, koboldcpp and "
      "others, with or without journald, docker or Windows around it.",
      "picchio explain-log");
  std::string path;
  bool json = false;
  bool strict = false;
  bool explained = false;
  app.add_option("FILE", path, "the log; '-' reads standard input");
  app.add_flag("--json", json, "JSON on stdout, the text on stderr");
  app.add_flag("--explain", explained, "every witness, and every cause with what proves it");
  app.add_flag("--strict", strict, "exit 7 when the log does not tell where the model ran");
  app.footer(examples(
      {"picchio explain-log server.log", "journalctl -u ollama | picchio explain-log -",
       "picchio explain-log --explain pasted.txt", "picchio explain-log --json pasted.txt"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (arguments.has_rest || path.empty()) {
    print_error({ErrorKind::unsupported, "no log given",
                 "picchio explain-log FILE, or '-' for standard input"});
    return ExitCode::could_not_run;
  }
  const Result<std::string> text = read_log(path);
  if (!text) {
    print_error(text.error());
    return ExitCode::could_not_run;
  }
  if (text->empty()) {
    print_error({ErrorKind::malformed, fmt::format("the log '{}' is empty", path), ""});
    return ExitCode::could_not_run;
  }
  const EngineLog log = read_engine_log(*text);
  const Placement placement = placement_of(log, nullptr);
  const Verdict verdict = judge_log(log, placement);
  const ExitCode code = exit_code_of(verdict.state, strict);
  std::string human = log_text(log, placement, verdict);
  if (explained) human += "\n" + explain(placement, verdict);
  if (!json) return print_product(human, code);
  print_stderr(human);
  return print_product(log_json(log, placement, verdict, static_cast<int>(code)) + "\n", code);
}

}  // namespace picchio
