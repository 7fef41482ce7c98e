#include "os/child.h"
#include "os/clock.h"
#include "os/pipe.h"
#include "os/process.h"
#include "os/system_error.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace picchio::os {
namespace {

constexpr std::size_t kReadBlock = 65536;
constexpr Micros kTermPatience = std::chrono::seconds(2);
// After SIGKILL; longer only for a process that hangs in a driver, which nobody can wait out.
constexpr Micros kKillPatience = std::chrono::seconds(5);

class Watch {
 public:
  Watch(Child child, UniqueFd out, UniqueFd err, const CaptureLimits& limits,
        const CaptureEvents& events, const Interrupts& interrupts)
      : child_(std::move(child)),
        out_(std::move(out)),
        err_(std::move(err)),
        limits_(limits),
        events_(events),
        interrupts_(interrupts),
        block_(kReadBlock),
        next_tick_(limits.tick) {}

  Result<Capture> run() {
    if (events_.started) events_.started(child_.pid());
    for (;;) {
      const bool ended = wait();
      read_block(out_);
      read_block(err_);
      if (ended) {
        const auto exit = child_.take_exit();
        if (!exit) return std::unexpected(exit.error());
        if (const std::optional<ChildExit>& gone = *exit; gone) return finish(*gone);
      }
      if (look_after(now())) return abandon();
    }
  }

 private:
  [[nodiscard]] Micros now() const { return monotonic_now() - child_.started(); }

  /// Waits for anything and says whether the child has news.
  bool wait() {
    std::array<pollfd, 4> fds{
        pollfd{.fd = out_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = err_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = child_.event_fd(), .events = POLLIN, .revents = 0},
        pollfd{.fd = stopping_ ? -1 : interrupts_.fd(), .events = POLLIN, .revents = 0}};
    Micros until = stopping_ ? stop_step_ : limits_.deadline;
    if (events_.tick) until = std::min(until, next_tick_);
    // Rounded up: a rest below a millisecond would make poll() return at once, over and over.
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    (void)::poll(fds.data(), fds.size(),
                 static_cast<int>(std::clamp<std::int64_t>(rest, 0, 60000)));
    return fds[2].revents != 0;
  }

  /// One block at most, so that a flood on one pipe delays neither the other nor the ticks.
  /// False: nothing there now.
  bool read_block(UniqueFd& fd) {
    if (!fd) return false;
    const ssize_t got = ::read(fd.get(), block_.data(), block_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
      fd.reset();
      return false;
    }
    const Micros at = now();
    std::string_view bytes(block_.data(), static_cast<std::size_t>(got));
    const std::int64_t rest = limits_.max_output_bytes - taken_;
    const bool over = got > rest;
    if (over) bytes = bytes.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(rest, 0)));
    taken_ += static_cast<std::int64_t>(bytes.size());
    if (!bytes.empty()) {
      if (&fd == &out_) {
        take_stdout(bytes, at);
      } else {
        take_stderr(bytes, at);
      }
    }
    if (over) stop(End::output_cap, at);
    return true;
  }

  void take_stdout(std::string_view bytes, Micros at) {
    capture_.stdout_bytes += static_cast<std::int64_t>(bytes.size());
    ++capture_.stdout_reads;
    if (!capture_.first_byte) capture_.first_byte = at;
    capture_.last_byte = at;
    const std::int64_t room =
        limits_.stdout_keep_bytes - static_cast<std::int64_t>(capture_.stdout_head.size());
    if (room > 0) capture_.stdout_head += bytes.substr(0, static_cast<std::size_t>(room));
    if (events_.stdout_data) events_.stdout_data(bytes, at);
  }

  void take_stderr(std::string_view bytes, Micros at) {
    std::string& text = capture_.stderr_text;
    std::size_t search = text.size();
    text += bytes;
    last_stderr_ = at;
    for (std::size_t end = 0; (end = text.find('\n', search)) != std::string::npos;) {
      end_line(end, at);
      search = line_begin_ = end + 1;
    }
  }

  void end_line(std::size_t end, Micros at) {
    capture_.line_stamps.push_back(at);
    if (!events_.stderr_line) return;
    std::string_view line =
        std::string_view(capture_.stderr_text).substr(line_begin_, end - line_begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    events_.stderr_line(line, at);
  }

  /// Ticks and limits. True: even SIGKILL did not help.
  bool look_after(Micros at) {
    if (events_.tick && at >= next_tick_) {
      events_.tick(at);
      // A callback slower than the tick must not make this loop spin.
      next_tick_ = std::max(next_tick_ + limits_.tick, now() + limits_.tick / 2);
    }
    if (interrupts_.caught()) stop(End::interrupted, at);
    if (at >= limits_.deadline) stop(End::deadline, at);
    if (!stopping_ || at < stop_step_) return false;
    if (killed_) return true;
    child_.kill();
    killed_ = true;
    stop_step_ = at + kKillPatience;
    return false;
  }

  void stop(End why, Micros at) {
    if (stopping_) return;
    stopping_ = true;
    capture_.end = why;
    stop_step_ = at + kTermPatience;
    child_.terminate();
  }

  Capture finish(const ChildExit& exit) {
    // All writers are gone, so this ends; a descriptor that was passed on to a stranger may keep
    // the pipe open, and then "nothing there now" ends it.
    while (read_block(out_)) {
    }
    while (read_block(err_)) {
    }
    close_last_line();
    capture_.wall = exit.at - child_.started();
    capture_.cpu_seconds = exit.cpu_seconds;
    const bool by_signal = WIFSIGNALED(exit.wait_status);
    capture_.exit_code =
        by_signal ? 128 + WTERMSIG(exit.wait_status) : WEXITSTATUS(exit.wait_status);
    if (!stopping_) capture_.end = by_signal ? End::signalled : End::exited;
    return std::move(capture_);
  }

  Capture abandon() {
    close_last_line();
    capture_.wall = now();
    capture_.exit_code = 128 + SIGKILL;
    return std::move(capture_);
  }

  void close_last_line() {
    if (line_begin_ < capture_.stderr_text.size()) {
      end_line(capture_.stderr_text.size(), last_stderr_);
    }
  }

  Child child_;
  UniqueFd out_;
  UniqueFd err_;
  const CaptureLimits& limits_;
  const CaptureEvents& events_;
  const Interrupts& interrupts_;
  std::vector<char> block_;
  Capture capture_;
  std::int64_t taken_ = 0;
  std::size_t line_begin_ = 0;
  Micros last_stderr_{};
  Micros next_tick_;
  Micros stop_step_{};  // when the next harder means is due
  bool stopping_ = false;
  bool killed_ = false;
};

}  // namespace

Result<Capture> run_captured(const SpawnOptions& options, const CaptureLimits& limits,
                             const CaptureEvents& events, const Interrupts& interrupts) {
  if (const auto caught = interrupts.caught()) {
    return fail(ErrorKind::interrupted, "stopped by signal {}", *caught);
  }
  auto out = make_pipe();
  if (!out) return std::unexpected(out.error());
  auto err = make_pipe();
  if (!err) return std::unexpected(err.error());
  for (const int fd : {out->read_end.get(), err->read_end.get()}) {
    widen_pipe(fd);
    set_nonblocking(fd);
  }
  auto child = Child::start(options, std::move(out->write_end), std::move(err->write_end));
  if (!child) return std::unexpected(child.error());
  return Watch(std::move(*child), std::move(out->read_end), std::move(err->read_end), limits,
               events, interrupts)
      .run();
}

Result<Capture> run_simple(std::vector<std::string> argv, Micros deadline,
                           std::int64_t max_output_bytes, const Interrupts& interrupts) {
  const CaptureLimits limits{.max_output_bytes = max_output_bytes,
                             .stdout_keep_bytes = max_output_bytes,
                             .deadline = deadline,
                             .tick = deadline};
  return run_captured({.argv = std::move(argv), .set_env = {}, .unset_env = {}, .stdin_text = {}},
                      limits, {}, interrupts);
}

}  // namespace picchio::os
