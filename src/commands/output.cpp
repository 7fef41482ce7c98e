#include "commands/output.h"

#include "commands/command.h"
#include "commands/terminal.h"
#include "report/block.h"
#include "report/explain.h"
#include "report/json.h"

#include <fmt/format.h>

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

}  // namespace

ExitCode print_product(std::string_view text, ExitCode code) {
  const Result<> printed = print_stdout(text);
  if (printed) return code;
  // Whoever reads with head or less has seen enough, and knows why the rest was not wanted.
  if (printed.error().kind != ErrorKind::interrupted) print_error(printed.error());
  return ExitCode::could_not_run;
}

ExitCode print_judged(const Judged& judged, const OutputOptions& options) {
  const ExitCode code = exit_code_of(judged.verdict.state, options.strict);
  std::string text = block(judged.run, judged.verdict);
  const bool coloured = options.json ? stderr_wants_colour() : stdout_wants_colour();
  if (coloured) text = with_colour(std::move(text), judged.verdict.state);
  if (options.explain) {
    text += '\n';
    text += explain(judged.run, judged.verdict);
  }
  if (options.json) {
    print_stderr(text);
    text = run_json(judged.run, judged.verdict, static_cast<int>(code), options.evidence_directory,
                    options.drift ? &*options.drift : nullptr) +
           "\n";
  }
  return print_product(text, code);
}

}  // namespace picchio
