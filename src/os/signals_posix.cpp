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
std::atomic<bool> hangup_is_told = false;
std::atomic<bool> hung_up = false;
std::array<struct sigaction, kCaught.size()> old_actions;
struct sigaction old_sigpipe;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  const int saved = errno;
  int none = 0;
  if (number == SIGHUP && hangup_is_told) {
    hung_up = true;
  } else {
    first_signal.compare_exchange_strong(none, number);
  }
  const char byte = 1;
  // Full or gone: then it is readable already, or nobody listens any more.
  [[maybe_unused]] const ssize_t wrote = ::write(wake_fd.load(), &byte, 1);
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
  set_nonblocking(pipe->read_end.get());
  first_signal = 0;
  hung_up = false;
  hangup_is_told = hangup == Hangup::is_told;
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

bool Interrupts::take_hangup() {
  if (!hung_up.exchange(false)) return false;
  if (had_terminal && !has_terminal()) {
    int none = 0;
    first_signal.compare_exchange_strong(none, SIGHUP);
    return false;
  }
  std::array<char, 64> bytes{};
  while (::read(read_end_.get(), bytes.data(), bytes.size()) > 0) {
  }
  // What else came in between is not to be forgotten.
  const char byte = 1;
  if (caught() || hung_up) {
    [[maybe_unused]] const ssize_t wrote = ::write(write_end_.get(), &byte, 1);
  }
  return true;
}

std::optional<int> Interrupts::caught() const {
  const int number = first_signal.load();
  if (number == 0) return std::nullopt;
  return number;
}

}  // namespace picchio::os
