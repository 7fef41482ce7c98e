#include "os/pipe.h"
#include "os/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace picchio::os {
namespace {

constexpr std::array kCaught = {SIGINT, SIGTERM, SIGHUP};

// A handler gets nothing but the number, so what it needs has to be global.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> wake_fd = -1;
std::atomic<int> first_signal = 0;
std::atomic<int> hangup_fd_to_write = -1;  // -1: a hangup ends
std::atomic<bool> hung_up = false;
std::array<struct sigaction, kCaught.size()> old_actions;
struct sigaction old_sigpipe;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  const int saved = errno;
  int fd = wake_fd.load();
  if (number == SIGHUP && hangup_fd_to_write.load() >= 0) {
    hung_up = true;
    fd = hangup_fd_to_write.load();
  } else {
    int none = 0;
    first_signal.compare_exchange_strong(none, number);
  }
  const char byte = 1;
  // Full or gone: then it is readable already, or nobody listens any more.
  [[maybe_unused]] const ssize_t wrote = ::write(fd, &byte, 1);
  errno = saved;
}

/// False after the hangup of the terminal that this process was started on.
bool has_terminal() {
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  return static_cast<bool>(terminal);
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
bool had_terminal = false;

}  // namespace

Result<Interrupts> Interrupts::install(Hangup hangup) {
  if (wake_fd.load() >= 0) return fail(ErrorKind::failed, "signals are caught already");
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  set_nonblocking(pipe->write_end.get());
  Pipe hangup_pipe;
  if (hangup == Hangup::is_told) {
    auto made = make_pipe();
    if (!made) return std::unexpected(made.error());
    hangup_pipe = *std::move(made);
    set_nonblocking(hangup_pipe.write_end.get());
    set_nonblocking(hangup_pipe.read_end.get());
  }
  first_signal = 0;
  hung_up = false;
  hangup_fd_to_write = hangup_pipe.write_end ? hangup_pipe.write_end.get() : -1;
  had_terminal = has_terminal();
  wake_fd = pipe->write_end.get();

  struct sigaction action{};
  ::sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // only loops that poll fd() mean to be woken
  for (std::size_t i = 0; i < kCaught.size(); ++i) {
    ::sigaction(kCaught[i], nullptr, &old_actions[i]);
    if (old_actions[i].sa_handler != SIG_IGN) ::sigaction(kCaught[i], &action, nullptr);
  }
  struct sigaction ignore{};
  ::sigemptyset(&ignore.sa_mask);
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &old_sigpipe);
  return Interrupts(*std::move(pipe), std::move(hangup_pipe));
}

Interrupts::~Interrupts() {
  if (!stop_.read_end) return;  // moved from
  for (std::size_t i = 0; i < kCaught.size(); ++i) {
    ::sigaction(kCaught[i], &old_actions[i], nullptr);
  }
  ::sigaction(SIGPIPE, &old_sigpipe, nullptr);
  wake_fd = -1;
  hangup_fd_to_write = -1;
}

bool Interrupts::take_hangup() {
  // Emptied first: one that comes from here on is readable again.
  std::array<char, 64> bytes{};
  while (hangup_.read_end && ::read(hangup_.read_end.get(), bytes.data(), bytes.size()) > 0) {
  }
  if (!hung_up.exchange(false)) return false;
  if (!had_terminal || has_terminal()) return true;
  // The terminal that it was started on is gone: that is the old meaning.
  int none = 0;
  first_signal.compare_exchange_strong(none, SIGHUP);
  const char byte = 1;
  [[maybe_unused]] const ssize_t wrote = ::write(stop_.write_end.get(), &byte, 1);
  return false;
}

std::optional<int> Interrupts::caught() const {
  const int number = first_signal.load();
  if (number == 0) return std::nullopt;
  return number;
}

}  // namespace picchio::os
