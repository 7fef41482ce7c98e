// Single keys from a terminal, and a wait that a key or a signal ends.
#pragma once

#include "base/time.h"

#include <memory>
#include <optional>
#include <string>

namespace picchio::os {

/// While it lives, keys arrive at once and are not echoed; Ctrl-C stays a signal. The destructor
/// brings the old settings back. Whoever ends the process by a signal that nobody catches must
/// leave the rest to the shell.
class TerminalInput {
 public:
  /// Absent when `fd` is no terminal, or one whose keys belong to another job just now: taking them
  /// would stop us.
  [[nodiscard]] static std::optional<TerminalInput> open(int fd);

  TerminalInput(TerminalInput&&) noexcept;
  TerminalInput& operator=(TerminalInput&&) = delete;
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;
  ~TerminalInput();

  [[nodiscard]] int fd() const { return fd_; }

  /// Bytes typed since the last call; never waits. Absent: the terminal is gone.
  [[nodiscard]] std::optional<std::string> keys() const;

  /// Again after the job was stopped and came back: shells restore their own settings in between.
  void refresh() const;

 private:
  struct Settings;
  TerminalInput(int fd, std::unique_ptr<Settings> settings);

  int fd_;
  std::unique_ptr<Settings> settings_;  // null: moved from
};

enum class Woken { timeout, input, stopped };

/// Waits until one of the descriptors can be read, at most `longest`. -1: none; both can be. A
/// signal that was caught already (Interrupts::caught) keeps `stop_fd` readable for ever.
[[nodiscard]] Woken wait_for_input(int input_fd, int stop_fd, Micros longest);

/// Lines of the terminal, absent when it is none or tells none.
[[nodiscard]] std::optional<int> terminal_height(int fd);

}  // namespace picchio::os
