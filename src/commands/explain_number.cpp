#include "commands/command.h"
#include "commands/figures_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/stored_runs.h"
#include "commands/terminal.h"
#include "os/file.h"
#include "os/identity.h"
#include "results/number.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {
namespace {

using results::NumberedRun;

// Of what is older nobody quotes a figure without saying so.
constexpr std::int64_t kNewestRuns = 20;

/// Whoever gives a log means the command beside this one.
Error not_a_number(Error error, const std::string& text) {
  if (os::exists(text)) error.hint = fmt::format("picchio explain-log {} judges a log", text);
  return error;
}

NumberedRun numbered(StoredRun run) {
  constexpr std::size_t kDate = 10;  // of RFC 3339
  std::string when = fmt::format("{} (@{}", to_rfc3339(run.run.at).substr(0, kDate), run.id);
  // An import brought it.
  if (!run.run.host.empty() && run.run.host != os::host_name()) when += " of " + run.run.host;
  return {std::move(run.run.figures), when + ")"};
}

Result<std::vector<NumberedRun>> runs_of_history(const std::string& text) {
  Result<std::vector<StoredRun>> stored = newest_runs(kNewestRuns);
  if (!stored) return std::unexpected(stored.error());
  if (stored->empty()) {
    return with_hint(fail(ErrorKind::not_found, "nothing was measured here yet"),
                     fmt::format("picchio explain {} --of block.txt", text));
  }
  std::vector<NumberedRun> out;
  out.reserve(stored->size());
  for (StoredRun& each : *stored) out.push_back(numbered(std::move(each)));
  return out;
}

/// Those that `source` names; empty: the newest of the history.
Result<std::vector<NumberedRun>> runs_of(const std::string& source, const std::string& text) {
  if (source.empty()) return runs_of_history(text);
  if (history::looks_like_run_id(source)) {
    Result<StoredRun> stored = stored_run(source);
    if (!stored) return std::unexpected(stored.error());
    return std::vector<NumberedRun>{numbered(*std::move(stored))};
  }
  Result<std::vector<RunFigures>> read = figures_from(source);
  if (!read) return std::unexpected(read.error());
  std::vector<NumberedRun> out;
  out.reserve(read->size());
  for (RunFigures& each : *read) out.push_back({std::move(each), ""});
  return out;
}

}  // namespace

ExitCode explain_number(const Arguments& arguments) {
  CLI::App app(
      "Says which lane of the last runs here a quoted number resembles: prefill, decode or "
      "wall-clock,\ncold or warm, as a rate, as ms per token or as tokens per minute.",
      "picchio explain");
  std::vector<std::string> words;
  std::string source;
  bool json = false;
  app.add_option("NUMBER", words, "with or without its unit: 45.2, 45 tok/s, '22 ms/token'");
  app.add_option(
         "--of", source,
         "one run instead: of the history (@12, last), a file with a block, JSON or a table "
         "of llama-bench, a folder of --keep-logs, '-' for standard input")
      ->type_name("RUN");
  app.add_flag("--json", json, "JSON on stdout, the sentence on stderr");
  app.footer(examples({"picchio explain 45.2", "picchio explain 22 ms/token --of last",
                       "picchio explain '2,700 tokens per minute' --of - < block.txt"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  if (arguments.has_rest || words.empty()) {
    return fail_with({ErrorKind::unsupported, "no number given", "picchio explain 45.2"});
  }
  const Result<results::QuotedNumber> number = results::read_number(text);
  if (!number) return fail_with(not_a_number(number.error(), text));
  const Result<std::vector<NumberedRun>> runs = runs_of(source, text);
  if (!runs) return fail_with(runs.error());
  const std::vector<results::NumberMatch> matches = results::explain_number(*number, *runs);
  const std::string sentence = results::number_text(*number, *runs, matches);
  if (!json) return print_product(sentence, ExitCode::ok);
  print_stderr(sentence);
  return print_product(results::number_json(*number, *runs, matches), ExitCode::ok);
}

}  // namespace picchio
