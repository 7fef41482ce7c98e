// The way of a program's stderr through us. Private to os/: others use relay.h.
#pragma once

#include "base/result.h"
#include "os/fd.h"
#include "os/relay.h"

#include <string>
#include <string_view>
#include <vector>

namespace picchio::os {

/// A pipe, or a terminal of its own where our stderr is one, so that colours and progress bars
/// stay: the same settings and size, without output processing and echo, since the real one does
/// that.
struct StderrChannel {
  UniqueFd source;  // ours, non-blocking
  UniqueFd sink;    // the program's
  bool terminal = false;
};
[[nodiscard]] Result<StderrChannel> open_channel();

/// Standard descriptors that are closed here are set on /dev/null, so that no file of ours gets a
/// number that is written to as stderr. Programs that we become do not have them.
void occupy_closed_streams();

/// Signals that whoever sends them to us alone means for the program: all that can be caught, but
/// for faults of our own code, SIGPIPE and SIGXFSZ (our own writes), those that a terminal stops a
/// job's reading and writing with, SIGCHLD and SIGWINCH.
[[nodiscard]] const std::vector<int>& forwarded_signals();

/// Our stderr's size for the program's.
void copy_window_size(int source);

enum class Got { bytes, nothing, end };
/// Reads once without waiting.
[[nodiscard]] Got read_some(int fd, std::string& buffer, std::string_view& bytes);

/// Whether a full-screen program has the second screen, by what passes through.
class AlternateScreen {
 public:
  void feed(std::string_view bytes);
  [[nodiscard]] bool on() const { return on_; }

 private:
  bool on_ = false;
  std::string sequence_;  // begun, not ended
};

/// One byte each, from the relay to its stand-by.
inline constexpr char kTakeOver = 'T';
inline constexpr char kNotNeeded = 'Q';
inline constexpr char kNobodyReads = 'X';  // our stderr is closed: so shall the program's be

/// The stand-by's whole life; never returns. Tells of every signal that it gets by a byte.
[[noreturn]] void stand_by(int control, StderrChannel channel, StreamView* view);

}  // namespace picchio::os
