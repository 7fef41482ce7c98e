#include "commands/output.h"

#include "commands/command.h"
#include "commands/terminal.h"
#include "report/block.h"
#include "report/explain.h"
#include "report/figures.h"
#include "report/json.h"
#include "report/run_rows.h"

#include <fmt/format.h>

#include <span>

namespace picchio {
namespace {

constexpr std::string_view colour_of(State state) {
  switch (state) {
    case State::healthy:
      return "\x1b[1;32m";
    case State::silent_cpu_fallback:
    case State::conflicting_evidence:
      return "\x1b[1;31m";
    case State::partial_offload:
      return "\x1b[1;33m";
    case State::cpu_only_machine:
    case State::no_placement_evidence:
    case State::no_timing_evidence:
      return "\x1b[1m";
  }
  return "";
}

// Only the verdict's word is coloured: the block stays what one pastes.
std::string with_colour(std::string text, State state) {
  const std::string word = fmt::format("VERDICT: {}", name_of(state));
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return text;
  const std::size_t state_at = at + word.size() - name_of(state).size();
  return fmt::format("{}{}{}\x1b[0m{}", text.substr(0, state_at), colour_of(state), name_of(state),
                     text.substr(at + word.size()));
}

/// The row of one run, as a table of one.
std::string row_of(const Judged& judged, const OutputOptions& options, RowFormat format) {
  RecordedRun run;
  if (options.measured) {
    run = *options.measured;
  } else {
    run.figures = figures_of(judged.run, judged.verdict);
  }
  const StoredRow row = stored_row(options.drift ? options.drift->id : 0, "", run);
  return run_rows(format, std::span(&row, 1));
}

}  // namespace

ExitCode print_product(std::string_view text, ExitCode code) {
  return after_printing(print_stdout(text), code);
}

ExitCode after_printing(const Result<>& printed, ExitCode code) {
  if (printed) return code;
  // Whoever reads with head or less has seen enough, and knows why the rest was not wanted.
  if (printed.error().kind != ErrorKind::interrupted) print_error(printed.error());
  return ExitCode::could_not_run;
}

ExitCode fail_with(const Error& error) {
  print_error(error);
  return error.kind == ErrorKind::interrupted ? ExitCode::interrupted : ExitCode::could_not_run;
}

Result<> check_output(const OutputOptions& options) {
  if (!options.json || !options.rows) return {};
  return fail(ErrorKind::unsupported, "--json and -o are two products for one standard output");
}

ExitCode print_judged(const Judged& judged, const OutputOptions& options) {
  const ExitCode code = exit_code_of(judged.verdict.state, options.strict);
  std::string text = block(judged.run, judged.verdict);
  const bool to_stderr = options.json || options.rows;
  const bool coloured = to_stderr ? stderr_wants_colour() : stdout_wants_colour();
  if (coloured) text = with_colour(std::move(text), judged.verdict.state);
  if (options.explain) {
    text += '\n';
    text += explain(judged.run, judged.verdict);
  }
  if (to_stderr) print_stderr(text);
  if (options.rows) {
    text = row_of(judged, options, *options.rows);
  } else if (options.json) {
    text = run_json(judged.run, judged.verdict, static_cast<int>(code), options.evidence_directory,
                    options.drift ? &*options.drift : nullptr) +
           "\n";
  }
  return print_product(text, code);
}

}  // namespace picchio
