// What a judged run prints: the block, or JSON on stdout with the block on stderr.
#pragma once

#include "base/result.h"
#include "commands/read_run.h"
#include "evidence/stored_run.h"
#include "report/rows.h"

#include <optional>
#include <string>
#include <string_view>

namespace picchio {

struct OutputOptions {
  bool json = false;
  bool explain = false;
  bool strict = false;
  std::string evidence_directory;       // --keep-logs, or the folder replayed; may be empty
  std::optional<Drift> drift;           // of a run that was put into the history
  std::optional<RowFormat> rows;        // -o: a row on stdout, the block on stderr
  std::optional<RecordedRun> measured;  // absent: judged again, and no moment is told
};

/// Writes `text` to stdout and returns `code`, or says why it could not and returns
/// could_not_run. A reader that closed the pipe (head) has seen enough and is told nothing.
ExitCode print_product(std::string_view text, ExitCode code);
/// The same for a product that was printed in parts.
ExitCode after_printing(const Result<>& printed, ExitCode code);

/// Says on stderr why a command could not go on. 130 for Ctrl-C, else 2.
ExitCode fail_with(const Error& error);

/// Refuses --json beside -o.
[[nodiscard]] Result<> check_output(const OutputOptions& options);

/// Prints and returns the verdict's exit code.
ExitCode print_judged(const Judged& judged, const OutputOptions& options);

}  // namespace picchio
