#include "os/pipe.h"
#include "os/relay_channel.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace picchio::os {
namespace {

constexpr int kStderr = 2;
constexpr std::size_t kBlock = std::size_t{256} << 10;

UniqueFd moved_up(int fd) {
  const UniqueFd low(fd);
  return UniqueFd(low ? ::fcntl(low.get(), F_DUPFD_CLOEXEC, 3) : -1);
}

Result<StderrChannel> open_terminal(const termios& settings) {
  StderrChannel out;
  out.terminal = true;
  out.source = moved_up(::posix_openpt(O_RDWR | O_NOCTTY));
  const bool made =
      out.source && ::grantpt(out.source.get()) == 0 && ::unlockpt(out.source.get()) == 0;
  const char* name = made ? ::ptsname(out.source.get()) : nullptr;
  if (name != nullptr) out.sink = moved_up(::open(name, O_RDWR | O_NOCTTY));
  if (!out.sink) {
    return fail(errno_kind(errno), "cannot open a pseudo-terminal: {}", errno_text(errno));
  }
  termios own = settings;
  own.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  own.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
  ::tcsetattr(out.sink.get(), TCSANOW, &own);
  copy_window_size(out.source.get());
  set_nonblocking(out.source.get());
  return out;
}

// Of the stand-by: a handler gets nothing but the number.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int control_of_stand_by = -1;

void tell_of_signal(int number) {
  const int saved = errno;
  const char byte = static_cast<char>(number);
  [[maybe_unused]] const ssize_t wrote = ::write(control_of_stand_by, &byte, 1);
  errno = saved;
}

void close_all_but(int a, int b) {
  // The user's own descriptors are not ours to hold: whoever waits for the end of the program's
  // stdout must get it.
  constexpr int kMostDescriptors = 4096;
  for (int fd = 0; fd < kMostDescriptors; ++fd) {
    if (fd != kStderr && fd != a && fd != b) ::close(fd);
  }
}

bool write_blocking(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(kStderr, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EAGAIN) {
      pollfd wait{.fd = kStderr, .events = POLLOUT, .revents = 0};
      (void)::poll(&wait, 1, -1);
    } else if (errno == EPIPE) {
      return false;
    } else if (errno != EINTR) {
      return true;  // lost, as they would be without us
    }
  }
  return true;
}

[[noreturn]] void hand_on_to_the_end(int source, StreamView* view) {
  std::string buffer(kBlock, '\0');
  std::string visible;
  for (;;) {
    pollfd wait{.fd = source, .events = POLLIN, .revents = 0};
    (void)::poll(&wait, 1, -1);
    std::string_view bytes;
    const Got got = read_some(source, buffer, bytes);
    if (got == Got::nothing) continue;
    visible.clear();
    if (view == nullptr) {
      visible = bytes;
    } else if (got == Got::end) {
      view->end(visible);
    } else {
      view->feed(bytes, visible);
    }
    if (!write_blocking(visible) || got == Got::end) ::_exit(0);
  }
}

}  // namespace

Result<StderrChannel> open_channel() {
  termios settings{};
  // One that has been hung up tells no settings; then it is as good as a closed pipe.
  if (::isatty(kStderr) == 1 && ::tcgetattr(kStderr, &settings) == 0) {
    return open_terminal(settings);
  }
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  widen_pipe(pipe->write_end.get());
  set_nonblocking(pipe->read_end.get());
  return StderrChannel{.source = std::move(pipe->read_end), .sink = std::move(pipe->write_end)};
}

void occupy_closed_streams() {
  for (int fd = 0; fd <= kStderr; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free is this one.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY) < 0) return;
  }
}

const std::vector<int>& forwarded_signals() {
  static const std::vector<int> numbers = [] {
    constexpr std::array kNot = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGFPE,
                                 SIGILL,  SIGTRAP, SIGSYS,  SIGABRT, SIGPIPE,
                                 SIGXFSZ, SIGTTIN, SIGTTOU, SIGCHLD, SIGWINCH};
    constexpr int kMost = 64;
    std::vector<int> out;
    for (int number = 1; number <= kMost; ++number) {
      struct sigaction now{};
      // The C library keeps some to itself.
      if (std::ranges::find(kNot, number) == kNot.end() &&
          ::sigaction(number, nullptr, &now) == 0) {
        out.push_back(number);
      }
    }
    return out;
  }();
  return numbers;
}

void copy_window_size(int source) {
  winsize size{};
  if (::ioctl(kStderr, TIOCGWINSZ, &size) == 0) ::ioctl(source, TIOCSWINSZ, &size);
}

Got read_some(int fd, std::string& buffer, std::string_view& bytes) {
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    bytes = std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
    return Got::bytes;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Got::nothing;
  return Got::end;  // a pseudo-terminal says EIO when nobody has it open any more
}

void AlternateScreen::feed(std::string_view bytes) {
  constexpr std::size_t kLongest = 32;
  while (!bytes.empty()) {
    if (sequence_.empty()) {
      const std::size_t at = bytes.find('\x1b');
      if (at == std::string_view::npos) return;
      bytes.remove_prefix(at + 1);
      sequence_ = '\x1b';
      continue;
    }
    const char c = bytes.front();
    bytes.remove_prefix(1);
    sequence_ += c;
    const bool inside =
        sequence_.size() < kLongest && (c == '[' || c == '?' || c == ';' || (c >= '0' && c <= '9'));
    if (inside) continue;
    const bool mode = sequence_.starts_with("\x1b[?") && (c == 'h' || c == 'l');
    if (mode &&
        (sequence_.contains("1049") || sequence_.contains("?47") || sequence_.contains("1047"))) {
      on_ = c == 'h';
    }
    sequence_.clear();
    if (c == '\x1b') sequence_ = c;
  }
}

void stand_by(int control, StderrChannel channel, StreamView* view) {
  channel.sink.reset();
  close_all_but(control, channel.source.get());
  control_of_stand_by = control;
  struct sigaction action{};
  ::sigemptyset(&action.sa_mask);
  action.sa_handler = tell_of_signal;
  for (const int number : forwarded_signals()) ::sigaction(number, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (const int number : {SIGPIPE, SIGTTIN, SIGXFSZ}) ::sigaction(number, &action, nullptr);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (;;) {
    char command = 0;
    const ssize_t got = ::read(control, &command, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got == 1 && command == kNotNeeded) ::_exit(0);
    if (got == 1 && command == kNobodyReads) {
      channel.source.reset();
      continue;
    }
    // Its word, or its death.
    if (!channel.source) ::_exit(0);
    hand_on_to_the_end(channel.source.get(), view);
  }
}

}  // namespace picchio::os
