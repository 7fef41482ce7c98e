#include "os/terminal_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace picchio::os {
namespace {

// tcsetattr() from a background job stops the whole job (SIGTTOU).
bool in_foreground(int fd) { return ::tcgetpgrp(fd) == ::getpgrp(); }

}  // namespace

struct TerminalInput::Settings {
  termios before{};
  termios ours{};
};

TerminalInput::TerminalInput(int fd, std::unique_ptr<Settings> settings)
    : fd_(fd), settings_(std::move(settings)) {}

TerminalInput::TerminalInput(TerminalInput&&) noexcept = default;

std::optional<TerminalInput> TerminalInput::open(int fd) {
  auto settings = std::make_unique<Settings>();
  if (::tcgetattr(fd, &settings->before) != 0 || !in_foreground(fd)) return std::nullopt;
  settings->ours = settings->before;
  settings->ours.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings->ours.c_cc[VMIN] = 0;  // read() hands out what there is, which may be nothing
  settings->ours.c_cc[VTIME] = 0;
  if (::tcsetattr(fd, TCSANOW, &settings->ours) != 0) return std::nullopt;
  return TerminalInput(fd, std::move(settings));
}

TerminalInput::~TerminalInput() {
  if (settings_ == nullptr || !in_foreground(fd_)) return;
  // Keys typed for us are not for the shell that comes next.
  (void)::tcsetattr(fd_, TCSAFLUSH, &settings_->before);
}

std::optional<std::string> TerminalInput::keys() const {
  std::array<char, 64> space{};
  const ssize_t got = ::read(fd_, space.data(), space.size());
  if (got < 0 && errno != EINTR && errno != EAGAIN) return std::nullopt;
  return std::string(space.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

void TerminalInput::refresh() const {
  termios now{};
  if (!in_foreground(fd_) || ::tcgetattr(fd_, &now) != 0) return;
  if ((now.c_lflag & static_cast<tcflag_t>(ICANON | ECHO)) != 0) {
    (void)::tcsetattr(fd_, TCSANOW, &settings_->ours);  // without it q wants a line end: no harm
  }
}

Woken wait_for_input(int input_fd, int stop_fd, Micros longest) {
  std::array<pollfd, 2> wait = {pollfd{.fd = input_fd, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop_fd, .events = POLLIN, .revents = 0}};
  // Rounded up: a rest below a millisecond would return at once, over and over.
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(longest, Micros{0}));
  (void)::poll(wait.data(), wait.size(), static_cast<int>(std::min<long>(ms.count(), 60'000)));
  if (wait[1].revents != 0) return Woken::stopped;
  return wait[0].revents != 0 ? Woken::input : Woken::timeout;
}

std::optional<int> terminal_height(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return std::nullopt;
  return size.ws_row;
}

}  // namespace picchio::os
