// The log of a server that somebody else started: what its standard error leads to.
#pragma once

#include "base/result.h"
#include "os/signals.h"

#include <cstdint>
#include <string>

namespace picchio {

/// No more of it is taken: a server at the highest verbosity writes a few hundred KiB for a load
/// and three requests.
inline constexpr std::int64_t kMostServerLog = std::int64_t{4} << 20;

class ServerLog {
 public:
  /// Of the process `pid`: the regular file behind its fd 2, else fd 1; else the journal of its
  /// systemd unit. `fallback`: a file to read where neither is there ("~/.ollama/logs/server.log");
  /// may be empty.
  [[nodiscard]] static ServerLog of(const std::string& root, int pid, const std::string& fallback,
                                    const os::Interrupts& interrupts);

  /// "its standard error (a file)", "the journal of ollama.service"; empty: there is none.
  [[nodiscard]] const std::string& source() const { return source_; }
  /// Why there is none: "its standard error is a terminal".
  [[nodiscard]] const std::string& none_because() const { return none_because_; }

  /// What the process itself wrote so far. Empty for a file that is appended to and may hold the
  /// words of an older process, and for a journal.
  [[nodiscard]] std::string before() const;

  /// appended() is what comes from now on.
  void mark();
  [[nodiscard]] std::string appended() const;

  /// What came since the mark, or since the last call, so that calls one after the other miss
  /// nothing; of more than kMostServerLog the end. A file that was cut short, or emptied and filled
  /// again, is read from its beginning.
  [[nodiscard]] std::string take();
  /// Whether the latest take() left something out: nobody knows what was loaded in it.
  [[nodiscard]] bool skipped() const { return skipped_; }

 private:
  explicit ServerLog(const os::Interrupts& interrupts) : interrupts_(&interrupts) {}

  [[nodiscard]] std::string journal() const;
  [[nodiscard]] std::string bytes_before_mark(std::int64_t count) const;

  const os::Interrupts* interrupts_;
  std::string path_;  // of the file; empty: a journal, or nothing
  std::string unit_;
  bool user_unit_ = false;
  bool may_hold_older_ = true;
  bool skipped_ = false;
  std::int64_t mark_ = 0;    // bytes of the file
  std::string before_mark_;  // its last bytes there: others mean that it was written anew
  std::string marked_time_;  // for the journal, "@SECONDS.MICROS"
  std::string source_;
  std::string none_because_ = "it was not looked for";
};

/// The systemd unit that a process belongs to, from its /proc/PID/cgroup:
/// "0::/system.slice/ollama.service" is "ollama.service"; empty: none. Pure.
struct SystemdUnit {
  std::string name;
  bool user = false;  // of a user's own manager
};
[[nodiscard]] SystemdUnit unit_in_cgroup(std::string_view text);

}  // namespace picchio
