// A started program and its watcher. Private to os/: others use process.h.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"
#include "os/process.h"

#include <optional>

namespace picchio::os {

struct ChildExit {
  int wait_status = 0;  // as waitpid() gives it
  Micros at{};          // monotonic_now() of the exit
  std::optional<double> cpu_seconds;
};

/// A program that runs until it exits or this object goes: the destructor kills what is left.
class Child {
 public:
  /// The program's outputs are the two pipes' write ends. Returns after the exec: a program that
  /// cannot be run is an error that names it.
  [[nodiscard]] static Result<Child> start(const SpawnOptions& options, UniqueFd out, UniqueFd err);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] Micros started() const { return started_; }

  /// Readable once take_exit() has something to say.
  [[nodiscard]] int event_fd() const { return events_.get(); }

  /// Nothing yet; or how the program ended, when all of it is gone; or that its supervisor was
  /// killed.
  [[nodiscard]] Result<std::optional<ChildExit>> take_exit();

  void terminate();  // SIGTERM to the whole tree
  void kill();       // SIGKILL to the whole tree, again and again until nothing is left

 private:
  Child() = default;

  int pid_ = -1;
  int watcher_ = -1;  // the supervisor's pid where there is one
  Micros started_{};
  UniqueFd events_;
  UniqueFd control_;
};

/// What a program gets as its stdin: SpawnOptions::stdin_text in a file without a name, read from
/// its beginning, or /dev/null. Its number is 3 or higher.
[[nodiscard]] Result<UniqueFd> open_stdin(const SpawnOptions& options);
/// /dev/null; 3 or higher.
[[nodiscard]] Result<UniqueFd> open_null();

}  // namespace picchio::os
