#include "os/pipe.h"
#include "os/signals.h"

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
std::array<struct sigaction, kCaught.size()> old_actions;
struct sigaction old_sigpipe;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  const int saved = errno;
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
  const char byte = 1;
  // Full or gone: then it is readable already, or nobody listens any more.
  [[maybe_unused]] const ssize_t wrote = ::write(wake_fd.load(), &byte, 1);
  errno = saved;
}

}  // namespace

Result<Interrupts> Interrupts::install() {
  if (wake_fd.load() >= 0) return fail(ErrorKind::failed, "signals are caught already");
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  set_nonblocking(pipe->write_end.get());
  first_signal = 0;
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
  return Interrupts(std::move(pipe->read_end), std::move(pipe->write_end));
}

Interrupts::~Interrupts() {
  if (!read_end_) return;  // moved from
  for (std::size_t i = 0; i < kCaught.size(); ++i) {
    ::sigaction(kCaught[i], &old_actions[i], nullptr);
  }
  ::sigaction(SIGPIPE, &old_sigpipe, nullptr);
  wake_fd = -1;
}

std::optional<int> Interrupts::caught() const {
  const int number = first_signal.load();
  if (number == 0) return std::nullopt;
  return number;
}

}  // namespace picchio::os
