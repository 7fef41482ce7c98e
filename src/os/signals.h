// The user's wish to stop, as a value that a waiting loop can poll.
#pragma once

#include "base/result.h"
#include "os/pipe.h"

#include <optional>

namespace picchio::os {

/// While it lives: SIGINT, SIGTERM and SIGHUP are caught instead of ending the process, and SIGPIPE
/// is ignored, so that a closed reader is an error of write(). A signal of the first three that was
/// ignored at the start stays ignored (nohup, a shell's background job). The destructor brings the
/// old handlers back. One at a time in a process: main owns it and hands it down.
class Interrupts {
 public:
  enum class Hangup {
    ends,     // SIGHUP is a wish to stop, like SIGINT
    is_told,  // take_hangup() answers, as daemons do; but the loss of the terminal ends
  };
  [[nodiscard]] static Result<Interrupts> install(Hangup hangup = Hangup::ends);

  Interrupts(Interrupts&&) = default;
  Interrupts& operator=(Interrupts&&) = delete;
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  /// Readable from the first signal on and for ever: never read from it, and poll it no more once
  /// caught() answers, or the loop spins.
  [[nodiscard]] int fd() const { return stop_.read_end.get(); }

  /// The first signal that was caught.
  [[nodiscard]] std::optional<int> caught() const;

  /// True once for any number of SIGHUPs that came since it was asked last, with Hangup::is_told.
  [[nodiscard]] bool take_hangup();
  /// Readable until they are taken; -1 with Hangup::ends.
  [[nodiscard]] int hangup_fd() const { return hangup_.read_end ? hangup_.read_end.get() : -1; }

 private:
  Interrupts(Pipe stop, Pipe hangup) : stop_(std::move(stop)), hangup_(std::move(hangup)) {}

  Pipe stop_;
  Pipe hangup_;  // empty with Hangup::ends
};

}  // namespace picchio::os
