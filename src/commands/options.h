// CLI11 behind two calls, so that its heavy header stays in few files and every command answers a
// wrong flag in the same way.
#pragma once

#include "commands/command.h"
#include "evidence/verdict.h"
#include "report/rows.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace picchio {

/// Parses `words` into the options that `app` was given. Nullopt: go on. A code: the command ends
/// with it; help was printed on stdout, or the error with the nearest flag on stderr.
[[nodiscard]] std::optional<ExitCode> parse_options(CLI::App& app,
                                                    const std::vector<std::string>& words);

/// A check of a number's range. CLI11's own lets a NaN through.
[[nodiscard]] CLI::Validator number_between(double least, double most);

/// The option -o of a command that prints rows: csv, json, jsonl, md or sql.
void add_row_format(CLI::App& app, std::optional<RowFormat>& format);

/// "Examples:" with one line each, for the end of a command's help.
[[nodiscard]] std::string examples(std::initializer_list<std::string_view> lines);

}  // namespace picchio
