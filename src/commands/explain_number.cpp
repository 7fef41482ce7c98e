#include "commands/command.h"
#include "commands/figures_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "os/file.h"
#include "results/number.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {
namespace {

ExitCode fail_with(const Error& error) {
  print_error(error);
  return ExitCode::could_not_run;
}

/// Whoever gives a log means the command beside this one.
Error not_a_number(Error error, const std::string& text) {
  if (os::exists(text)) error.hint = fmt::format("picchio explain-log {} judges a log", text);
  return error;
}

}  // namespace

ExitCode explain_number(const Arguments& arguments) {
  CLI::App app(
      "Says which lane of a measured run a quoted number resembles: prefill, decode or wall-clock, "
      "cold or warm, as a rate, as ms per token or as tokens per minute.",
      "picchio explain");
  std::vector<std::string> words;
  std::string source;
  bool json = false;
  app.add_option("NUMBER", words, "with or without its unit: 45.2, 45 tok/s, '22 ms/token'");
  app.add_option("--of", source,
                 "the run: a file with a block, JSON or a table of llama-bench, a folder of "
                 "--keep-logs, '-' for standard input")
      ->type_name("RUN");
  app.add_flag("--json", json, "JSON on stdout, the sentence on stderr");
  app.footer(
      examples({"picchio explain 45.2 --of block.txt", "picchio explain 22 ms/token --of kept/",
                "picchio explain '2,700 tokens per minute' --of - < block.txt"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  if (arguments.has_rest || words.empty()) {
    return fail_with({ErrorKind::unsupported, "no number given", "picchio explain 45.2 --of RUN"});
  }
  const Result<results::QuotedNumber> number = results::read_number(text);
  if (!number) return fail_with(not_a_number(number.error(), text));
  if (source.empty()) {
    return fail_with({ErrorKind::unsupported, "no run to hold it against",
                      fmt::format("picchio explain {} --of block.txt", text)});
  }
  Result<std::vector<RunFigures>> read = figures_from(source);
  if (!read) return fail_with(read.error());
  std::vector<results::NumberedRun> runs;
  for (RunFigures& each : *read) runs.push_back({std::move(each), ""});
  const std::vector<results::NumberMatch> matches = results::explain_number(*number, runs);
  const std::string sentence = results::number_text(*number, runs, matches);
  if (!json) return print_product(sentence, ExitCode::ok);
  print_stderr(sentence);
  return print_product(results::number_json(*number, runs, matches), ExitCode::ok);
}

}  // namespace picchio
