// Runs a command as if nobody stood between: its standard input and output, its terminal, its
// process group and its signals are ours; only its stderr passes through us, byte for byte.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::os {

/// Says which bytes of a stream are handed on. Also used in a process of its own, when this one is
/// killed.
class StreamView {
 public:
  StreamView() = default;
  StreamView(const StreamView&) = delete;
  StreamView& operator=(const StreamView&) = delete;
  virtual ~StreamView() = default;

  virtual void feed(std::string_view bytes, std::string& out) = 0;
  /// Nothing came for a while.
  virtual void rest(std::string& out) = 0;
  virtual void end(std::string& out) = 0;
  /// Something is held back.
  [[nodiscard]] virtual bool holds() const = 0;
};

struct RelayOptions {
  std::vector<std::string> argv;  // argv[0] is sought in PATH
  std::vector<std::pair<std::string, std::string>> set_env;
  std::function<std::unique_ptr<StreamView>()> make_view;  // empty: every byte is handed on
  UniqueFd keep;  // where all of it is written as well, before the view; none: nowhere
  /// Lines are said although the program took the terminal's line editing away: it is known to do
  /// that without taking the screen.
  bool speak_when_raw = false;
};

struct RelayEvents {
  /// Every piece after it was handed on, before the view: with what was not. Must not block.
  std::function<void(std::string_view bytes)> copy;
};

struct RelayEnd {
  int exit_code = 0;  // 128 + N for a program that signal N ended
  bool signalled = false;
  bool left_behind = false;  // a descendant still holds its stderr
  bool keep_failed = false;  // not all could be kept
};

/// Job control: the program belongs to our process group. What the terminal, a shell or a service
/// manager sends to all of the group reaches it without us; what is sent to this process alone is
/// forwarded. It stops with the program and goes on with it.
///
/// A second small process stands by. When this one ends, killed with SIGKILL included, while the
/// program or a descendant of it still writes, that one goes on handing over, so that nobody gets a
/// SIGPIPE that would not have come without us.
class Relay {
 public:
  /// Returns after the exec. An error of kind not_found: there is no such program; any other: it
  /// cannot be run. To be called before this process has a second thread; it takes over every
  /// signal that can be caught, but for faults. The program gets mask and dispositions as they
  /// were.
  [[nodiscard]] static Result<Relay> start(RelayOptions options);

  Relay(Relay&& other) noexcept;
  Relay& operator=(Relay&&) = delete;
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  [[nodiscard]] int pid() const;

  /// Until the program has ended and what it wrote is handed on.
  [[nodiscard]] RelayEnd run(const RelayEvents& events);

  /// From any thread: `line`, with its line end, is written to our stderr as soon as nothing is
  /// half-written there and the program does not own the screen. What had no such moment is written
  /// by speak_at_end().
  void say(std::string line);

  /// After run(): the lines that waited, and `text`, behind whatever the program left.
  void speak_at_end(std::string_view text);

 private:
  struct State;
  explicit Relay(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A program that nobody waits for: a session of its own, its streams on /dev/null. Its pid.
[[nodiscard]] Result<int> start_detached(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& env);

/// Takes notice of the end of one; true: it has ended.
bool reap(int pid);

/// A new file for writing, or the whole of an old one anew.
[[nodiscard]] Result<UniqueFd> create_file(const std::string& path);

}  // namespace picchio::os
