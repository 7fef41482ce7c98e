#include "results/compare.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/figures_source.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "os/file.h"
#include "report/comparison.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  std::string tolerance;
  std::string junit;
  bool json = false;
  bool markdown = false;
};

struct TwoRuns {
  RunFigures a;
  RunFigures b;
  ComparedNames names;
};

/// "5%", "0.05": a share.
Result<std::optional<double>> tolerance_of(const std::string& text) {
  if (text.empty()) return std::optional<double>();
  std::string_view rest = text;
  const bool percent = rest.ends_with('%');
  if (percent) rest.remove_suffix(1);
  const auto value = parse_double(rest);
  const double share = value.value_or(-1) / (percent ? 100 : 1);
  if (!value || share < 0 || share >= 1) {
    return with_hint(fail(ErrorKind::unsupported, "'{}' is no tolerance", plain(text)),
                     "--tolerance 5%, or 0.05");
  }
  return std::optional(share);
}

Result<TwoRuns> read_both(const CompareOptions& options) {
  TwoRuns out;
  if (options.b.empty()) {
    // A post that shows both.
    Result<std::vector<RunFigures>> both = figures_from(options.a);
    if (!both) return std::unexpected(both.error());
    if (both->size() != 2) {
      return with_hint(
          fail(ErrorKind::unsupported, "one source with {} run{} given; two runs are compared",
               both->size(), both->size() == 1 ? "" : "s"),
          "picchio compare A B");
    }
    return TwoRuns{std::move((*both)[0]),
                   std::move((*both)[1]),
                   {options.a + ", first", options.a + ", second"}};
  }
  if (options.a == "-" && options.b == "-") {
    return fail(ErrorKind::unsupported, "standard input can be one of the two only");
  }
  Result<RunFigures> a = one_run_from(options.a);
  if (!a) return std::unexpected(a.error());
  Result<RunFigures> b = one_run_from(options.b);
  if (!b) return std::unexpected(b.error());
  return TwoRuns{*std::move(a), *std::move(b), {options.a, options.b}};
}

}  // namespace

ExitCode compare_command(const Arguments& arguments) {
  CLI::App app(
      "Puts two runs side by side and names the first condition that differs as the suspect. Exit "
      "code 0: alike; 1: they differ; 2: not comparable.",
      "picchio compare");
  CompareOptions options;
  app.add_option("A", options.a,
                 "a run of the history (@12, last); a file with a block, the JSON of a run or a "
                 "table of llama-bench; a folder of --keep-logs; '-' for standard input");
  app.add_option("B", options.b, "the other; without it A holds both");
  app.add_option("--tolerance", options.tolerance,
                 "what is no difference, for every lane: 5% (default: the runs' own spread)");
  app.add_flag("--json", options.json, "JSON on stdout, the table on stderr");
  app.add_flag("--markdown", options.markdown, "a Markdown table");
  app.add_option("--junit", options.junit, "write a JUnit report to this file, for CI");
  app.footer(examples({"picchio compare before.txt after.txt", "picchio compare @12 last",
                       "picchio compare kept-a/ kept-b/",
                       "picchio compare base.json new.json --tolerance 5% --junit speed.xml",
                       "llama-bench -m m.gguf -o json | picchio compare old.json -"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (options.a.empty() || arguments.has_rest) {
    return fail_with({ErrorKind::unsupported, "no runs given", "picchio compare A B"});
  }
  if (options.json && options.markdown) {
    return fail_with({ErrorKind::unsupported, "--json and --markdown are two products", ""});
  }
  const Result<std::optional<double>> tolerance = tolerance_of(options.tolerance);
  const Result<TwoRuns> runs = tolerance ? read_both(options) : std::unexpected(tolerance.error());
  if (!runs) return fail_with(runs.error());
  const Comparison comparison = results::compare(runs->a, runs->b, *tolerance);
  const ExitCode code = !comparison.not_comparable.empty() ? ExitCode::could_not_run
                        : comparison.differs()             ? ExitCode::differs
                        : comparison.any_lane()            ? ExitCode::ok
                                                           : ExitCode::could_not_run;
  if (!options.junit.empty()) {
    const Result<> written =
        os::write_file_atomic(options.junit, comparison_junit(comparison, runs->names));
    if (!written) return fail_with(written.error());
  }
  const std::string text = comparison_text(comparison, runs->names);
  if (options.markdown) {
    return print_product(comparison_markdown(comparison, runs->names), code);
  }
  if (!options.json) return print_product(text, code);
  print_stderr(text);
  return print_product(comparison_json(comparison, runs->names) + "\n", code);
}

}  // namespace picchio
