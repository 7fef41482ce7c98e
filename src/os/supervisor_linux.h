// The process between us and a program. Private to os/.
//
// Linux can tie one child to its parent's death (PR_SET_PDEATHSIG), but not grandchildren: an
// engine behind a wrapper script would go on, and hold gigabytes of VRAM, after somebody killed us.
// So the program is started by a small process of ours that
// - holds the read end of a pipe whose write end only we have: its end of file is our death,
// - is a "child subreaper": whatever loses its parent becomes its child, sessions and double forks
//   notwithstanding, so killing direct children until there are none left reaches every descendant,
// - has its own session without a terminal: no Ctrl-C or hang-up meant for us hits it or the
// program.
//
// It is a fork of a program that may have threads, so it calls only async-signal-safe functions.
#pragma once

#include <cstdint>

namespace picchio::os {

struct SupervisorTask {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  int control = -1;  // read end: commands; end of file means kill
  int report = -1;   // write end: SupervisorReport
  int null = -1;     // /dev/null
  int in = -1;       // the program's stdin
  int out = -1;      // the program's stdout and stderr
  int err = -1;
};

/// A command on the control pipe.
constexpr char kTerminate = 'T';
constexpr char kKill = 'K';

enum class ReportKind : std::int32_t {
  started,      // value: the program's pid
  exec_failed,  // value: errno
  finished,     // value: wait status; all descendants are gone
  abandoned,    // the same, but something could not be killed
};

/// Written whole (far below PIPE_BUF): first started or exec_failed, after the former one more.
struct SupervisorReport {
  ReportKind kind = ReportKind::started;
  std::int32_t value = 0;
  std::int64_t at_us = 0;   // monotonic_now()
  std::int64_t cpu_us = 0;  // finished: user and system time of all that was reaped
};

/// Never returns. All signals must be blocked.
[[noreturn]] void supervise(const SupervisorTask& task);

}  // namespace picchio::os
