// Sub-commands as a table: a name, one line of help, a function.
#pragma once

#include "base/result.h"
#include "evidence/verdict.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// The words of a command line: `words` up to "--", `rest` behind it, untouched.
struct Arguments {
  std::vector<std::string> words;
  std::vector<std::string> rest;
  bool has_rest = false;  // a "--" was there, even with nothing behind it
};

struct Command {
  std::string_view name;
  std::string_view help;
  ExitCode (*run)(const Arguments& arguments);
};

[[nodiscard]] std::span<const Command> commands();
[[nodiscard]] const Command* find_command(std::string_view name);

ExitCode causes_command(const Arguments& arguments);
ExitCode diagnose(const Arguments& arguments);  // the default: no command word
ExitCode doctor_command(const Arguments& arguments);
ExitCode explain_log(const Arguments& arguments);
ExitCode explain_number(const Arguments& arguments);
ExitCode guard(const Arguments& arguments);
ExitCode history_command(const Arguments& arguments);
ExitCode id(const Arguments& arguments);
ExitCode compare_command(const Arguments& arguments);
ExitCode meters_command(const Arguments& arguments);
ExitCode monitor(const Arguments& arguments);
ExitCode plan(const Arguments& arguments);
ExitCode replay(const Arguments& arguments);
ExitCode share_command(const Arguments& arguments);
ExitCode verify_command(const Arguments& arguments);
ExitCode vet_command(const Arguments& arguments);
ExitCode watch(const Arguments& arguments);
ExitCode selftest(const Arguments& arguments);
ExitCode print_version();

/// Splits argv (without the program's name) and runs the command it names.
ExitCode run_command_line(std::vector<std::string> words);

/// "picchio: error: MESSAGE" and perhaps "picchio: hint: HINT" on stderr.
void print_error(const Error& error);

}  // namespace picchio
