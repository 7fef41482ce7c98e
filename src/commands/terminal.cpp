#include "commands/terminal.h"

#include "os/file.h"

namespace picchio {
namespace {

constexpr int kStdout = 1;
constexpr int kStderr = 2;

bool wants_colour(int fd) {
  const bool refused = !os::env("NO_COLOR").value_or("").empty();
  return !refused && os::env("TERM").value_or("") != "dumb" && os::is_terminal(fd);
}

}  // namespace

Result<> print_stdout(std::string_view text) { return os::write_all(kStdout, text, "stdout"); }

void print_stderr(std::string_view text) { (void)os::write_all(kStderr, text, "stderr"); }

bool stderr_is_terminal() {
  return os::is_terminal(kStderr) && os::env("TERM").value_or("") != "dumb";
}

bool stdout_wants_colour() { return wants_colour(kStdout); }
bool stderr_wants_colour() { return wants_colour(kStderr); }

}  // namespace picchio
