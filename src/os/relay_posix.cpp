#include "os/clock.h"
#include "os/exec_image.h"
#include "os/pipe.h"
#include "os/relay.h"
#include "os/relay_channel.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>

// Where a program is looked for and what it inherits; execvp() reads both from here.
extern char** environ;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

namespace picchio::os {
namespace {

constexpr int kStderr = 2;
// As much as the widened pipe holds at most at once is a read or two.
constexpr std::size_t kBlock = std::size_t{512} << 10;
// A signal that went to the whole group reaches the stand-by within microseconds; on a machine
// whose cores are all computing it gets its turn within a scheduler's period.
constexpr Micros kGroupSignal{40'000};
constexpr Micros kHeldLongEnough{100'000};
constexpr Micros kAskTerminalAgain{200'000};

// What a pipe that has room at all takes without waiting: the least that POSIX lets be atomic is
// less, Linux's and macOS' pages are no smaller.
constexpr std::size_t kWithoutWaiting = 4096;

std::vector<int> handled_signals() {
  std::vector<int> out = forwarded_signals();
  out.push_back(SIGWINCH);
  out.push_back(SIGCHLD);
  return out;
}

/// A timer that ran out was set by who started us, before the exec: it is the program's.
bool is_timer(int number) { return number == SIGALRM || number == SIGVTALRM || number == SIGPROF; }

struct Caught {
  int number = 0;
  bool from_kernel = false;  // the terminal's keys, which go to the whole group
};

// A handler gets nothing but the number, so what it needs has to be global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int signal_pipe = -1;

void on_signal(int number, siginfo_t* info, void*) {
  const int saved = errno;
  const Caught caught{number, info != nullptr && info->si_code > 0 && !is_timer(number)};
  [[maybe_unused]] const ssize_t wrote = ::write(signal_pipe, &caught, sizeof caught);
  errno = saved;
}

void install(int number) {
  struct sigaction action{};
  ::sigfillset(&action.sa_mask);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;  // a write that waits for a slow reader is to be woken
  ::sigaction(number, &action, nullptr);
}

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Pair> make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
    return fail(errno_kind(errno), "cannot make a socket: {}", errno_text(errno));
  }
  const UniqueFd a(ends[0]);
  const UniqueFd b(ends[1]);
  Pair out{UniqueFd(::fcntl(a.get(), F_DUPFD_CLOEXEC, 3)),
           UniqueFd(::fcntl(b.get(), F_DUPFD_CLOEXEC, 3))};
  if (!out.ours || !out.theirs) {
    return fail(errno_kind(errno), "cannot make a socket: {}", errno_text(errno));
  }
  return out;
}

/// What the program would have had without us.
struct Inherited {
  sigset_t mask{};
  struct sigaction child_ended{};
};

[[noreturn]] void become(const ExecImage& image, int sink, const Inherited& inherited, int status) {
  ::dup2(sink, kStderr);
  ::sigaction(SIGCHLD, &inherited.child_ended, nullptr);
  environ = const_cast<char**>(image.envp());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  ::sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
  ::execvp(image.path(), image.argv());
  const int error = errno;
  [[maybe_unused]] const ssize_t wrote = ::write(status, &error, sizeof error);
  ::_exit(127);
}

int wait_for(int pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int ms_until(Micros then) {
  return static_cast<int>(std::max(then - monotonic_now(), Micros{0}).count() / 1000) + 1;
}

bool owns_the_terminal() {
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  return terminal && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

std::string with_returns(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

/// The way to our stderr that does not wait, in as large pieces as that allows.
struct Outlet {
  UniqueFd own;  // of a pipe, a description of our own: the shared one may not be set non-blocking
  std::size_t piece = kWithoutWaiting;  // bytes

  [[nodiscard]] int fd() const { return own ? own.get() : kStderr; }
};

Outlet open_outlet() {
  Outlet out;
  struct stat about{};
  if (::fstat(kStderr, &about) != 0) return out;
  const bool pipe = S_ISFIFO(about.st_mode);
  if (pipe) {
    // Where there is no /proc, or the pipe is another user's, small pieces do.
    out.own = UniqueFd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  }
  if (out.own || S_ISREG(about.st_mode)) out.piece = kBlock;
  return out;
}

}  // namespace

struct Relay::State {
  RelayOptions options;
  Outlet out;
  StderrChannel channel;
  std::unique_ptr<StreamView> view;
  UniqueFd control;
  Pipe signals;
  Pipe said_pipe;
  int child = -1;
  int stand_by_pid = -1;

  std::mutex said_mutex;
  std::deque<std::string> said;

  std::optional<int> status;  // of the child
  bool broken = false;        // nobody reads our stderr
  bool keep_failed = false;
  bool stopped_by_terminal = false;
  bool writing = false;  // bytes are under way to our stderr
  bool source_ended = false;
  char last_byte = '\n';
  AlternateScreen screen;
  Micros last_bytes{};
  std::string visible;
  std::array<std::optional<Micros>, 65> to_forward;  // by signal number: when
  std::array<std::optional<Micros>, 65> group_had;   // when the stand-by got it

  void hand_on(std::string_view bytes, const RelayEvents& events);
  void write_out(std::string_view bytes);
  void give_up_output();
  void handle_signals();
  void handle(const Caught& caught);
  void hear_stand_by();
  void forward(int number, bool from_kernel);
  void forward_due();
  void look_at_child();
  void stop_with_child(int number);
  [[nodiscard]] bool may_speak() const;
  void speak(std::string_view line);
  void speak_what_waits();
  /// When a signal has to be forwarded, or in a while.
  [[nodiscard]] Micros next_forward() const;
  [[nodiscard]] int wait_ms();
  void drain(const RelayEvents& events);
  void end_view();
  void dismiss_stand_by();
};

/// Waits for our stderr to take some, and serves signals meanwhile: a reader that stalls for hours
/// must not keep them from the program.
void Relay::State::write_out(std::string_view bytes) {
  const bool nested = std::exchange(writing, true);
  while (!bytes.empty() && !broken) {
    std::array<pollfd, 3> wait{{
        {.fd = out.fd(), .events = POLLOUT, .revents = 0},
        {.fd = signals.read_end.get(), .events = POLLIN, .revents = 0},
        {.fd = stand_by_pid > 0 ? control.get() : -1, .events = POLLIN, .revents = 0},
    }};
    (void)::poll(wait.data(), wait.size(), ms_until(next_forward()));
    // A flood comes in pieces so small that what there is nothing of must cost nothing.
    if (wait[1].revents != 0) handle_signals();
    if (wait[2].revents != 0) hear_stand_by();
    forward_due();
    if (wait[0].revents == 0) continue;
    const ssize_t wrote = ::write(out.fd(), bytes.data(), std::min(bytes.size(), out.piece));
    if (wrote > 0) {
      last_byte = bytes[static_cast<std::size_t>(wrote) - 1];
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote < 0 && errno == EPIPE) {
      give_up_output();
    } else if (wrote == 0 || (errno != EINTR && errno != EAGAIN)) {
      break;  // a full disk, a terminal that was hung up: lost, as they would be without us
    }
  }
  writing = nested;
}

/// As it would be without us: the program's next write to a closed reader is its SIGPIPE.
void Relay::State::give_up_output() {
  broken = true;
  [[maybe_unused]] const ssize_t wrote = ::write(control.get(), &kNobodyReads, 1);
  channel.source.reset();
  source_ended = true;
}

void Relay::State::hand_on(std::string_view bytes, const RelayEvents& events) {
  last_bytes = monotonic_now();
  if (channel.terminal) screen.feed(bytes);
  if (view) {
    visible.clear();
    view->feed(bytes, visible);
    write_out(visible);
  } else {
    write_out(bytes);
  }
  if (options.keep && !keep_failed) {
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const ssize_t wrote = ::write(options.keep.get(), rest.data(), rest.size());
      if (wrote > 0) {
        rest.remove_prefix(static_cast<std::size_t>(wrote));
      } else if (wrote == 0 || errno != EINTR) {
        keep_failed = true;
        break;
      }
    }
  }
  if (events.copy) events.copy(bytes);
}

void Relay::State::handle_signals() {
  std::array<Caught, 32> caught{};
  for (;;) {
    const ssize_t got = ::read(signals.read_end.get(), caught.data(), sizeof caught);
    if (got <= 0) return;
    const auto count = static_cast<std::size_t>(got) / sizeof(Caught);
    for (std::size_t i = 0; i < count; ++i) handle(caught[i]);
  }
}

void Relay::State::handle(const Caught& caught) {
  switch (caught.number) {
    case SIGCHLD:
      look_at_child();
      break;
    case SIGWINCH:
      if (channel.terminal && channel.source) copy_window_size(channel.source.get());
      break;
    case SIGTSTP:
      stopped_by_terminal = true;
      forward(caught.number, caught.from_kernel);
      break;
    case SIGCONT:
      if (channel.terminal && channel.source) copy_window_size(channel.source.get());
      forward(caught.number, caught.from_kernel);
      break;
    default:
      forward(caught.number, caught.from_kernel);
  }
}

void Relay::State::forward(int number, bool from_kernel) {
  if (from_kernel || status) return;
  const auto index = static_cast<std::size_t>(number);
  hear_stand_by();
  const Micros now = monotonic_now();
  if (group_had[index] && now - *group_had[index] < 3 * kGroupSignal) {
    group_had[index].reset();
    return;
  }
  to_forward[index] = stand_by_pid > 0 ? now + kGroupSignal : now;
}

void Relay::State::hear_stand_by() {
  std::array<char, 64> numbers{};
  for (;;) {
    const ssize_t got = ::recv(control.get(), numbers.data(), numbers.size(), MSG_DONTWAIT);
    if (got == 0) stand_by_pid = 0;  // somebody ended it
    if (got <= 0) return;
    for (const char number : std::string_view(numbers.data(), static_cast<std::size_t>(got))) {
      const auto index = static_cast<std::size_t>(number);
      if (index >= to_forward.size()) continue;
      if (to_forward[index]) {
        to_forward[index].reset();
      } else {
        group_had[index] = monotonic_now();
      }
    }
  }
}

void Relay::State::forward_due() {
  const Micros now = monotonic_now();
  for (std::size_t number = 0; number < to_forward.size(); ++number) {
    if (!to_forward[number] || *to_forward[number] > now) continue;
    to_forward[number].reset();
    if (!status) ::kill(child, static_cast<int>(number));
  }
}

void Relay::State::look_at_child() {
  for (;;) {
    int now = 0;
    const pid_t got = ::waitpid(child, &now, WNOHANG | WUNTRACED);
    if (got != child) return;
    if (WIFSTOPPED(now)) {
      stop_with_child(WSTOPSIG(now));
      continue;
    }
    status = now;
    return;
  }
}

/// A job whose program has stopped is stopped, so that the shell takes the terminal back. One that
/// somebody stopped alone, to let it go on alone, keeps its relay.
void Relay::State::stop_with_child(int number) {
  const bool by_job_control = number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
  if (!by_job_control || (!stopped_by_terminal && !owns_the_terminal())) return;
  stopped_by_terminal = false;
  to_forward[static_cast<std::size_t>(SIGTSTP)].reset();
  // What it said last, a screen put back in order, belongs in front of the prompt.
  std::string buffer(kBlock, '\0');
  std::string_view bytes;
  while (!writing && channel.source &&
         read_some(channel.source.get(), buffer, bytes) == Got::bytes) {
    hand_on(bytes, {});
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
  if (number == SIGTSTP) install(number);
  if (channel.terminal && channel.source) copy_window_size(channel.source.get());
}

bool Relay::State::may_speak() const {
  if (last_byte != '\n' || screen.on()) return false;
  if (options.speak_when_raw || !channel.terminal) return true;
  termios settings{};
  return ::tcgetattr(kStderr, &settings) != 0 || (settings.c_lflag & ICANON) != 0;
}

void Relay::State::speak(std::string_view line) {
  termios settings{};
  const bool raw =
      channel.terminal && ::tcgetattr(kStderr, &settings) == 0 && (settings.c_oflag & OPOST) == 0;
  write_out(raw ? with_returns(line) : std::string(line));
}

void Relay::State::speak_what_waits() {
  std::array<char, 64> bytes{};
  while (::read(said_pipe.read_end.get(), bytes.data(), bytes.size()) > 0) {
  }
  while (may_speak()) {
    std::string line;
    {
      const std::scoped_lock lock(said_mutex);
      if (said.empty()) return;
      line = std::move(said.front());
      said.pop_front();
    }
    speak(line);
  }
}

Micros Relay::State::next_forward() const {
  constexpr Micros kLong{10'000'000};
  Micros until = monotonic_now() + kLong;
  for (const auto& due : to_forward) {
    if (due) until = std::min(until, *due);
  }
  return until;
}

int Relay::State::wait_ms() {
  const Micros now = monotonic_now();
  Micros until = next_forward();
  if (view && view->holds()) until = std::min(until, last_bytes + kHeldLongEnough);
  {
    const std::scoped_lock lock(said_mutex);
    if (!said.empty()) until = std::min(until, now + kAskTerminalAgain);
  }
  return ms_until(until);
}

void Relay::State::drain(const RelayEvents& events) {
  std::string buffer(kBlock, '\0');
  std::string_view bytes;
  while (channel.source) {
    const Got got = read_some(channel.source.get(), buffer, bytes);
    if (got == Got::end) source_ended = true;
    if (got != Got::bytes) return;
    hand_on(bytes, events);
  }
}

void Relay::State::end_view() {
  if (!view) return;
  visible.clear();
  view->end(visible);
  write_out(visible);
}

void Relay::State::dismiss_stand_by() {
  if (stand_by_pid <= 0) return;
  const char word = source_ended ? kNotNeeded : kTakeOver;
  [[maybe_unused]] const ssize_t wrote = ::write(control.get(), &word, 1);
  control.reset();
  if (source_ended) wait_for(stand_by_pid);
  stand_by_pid = -1;
}

Relay::Relay(std::unique_ptr<State> state) : state_(std::move(state)) {}
Relay::Relay(Relay&& other) noexcept = default;
Relay::~Relay() {
  if (state_) state_->dismiss_stand_by();
}

int Relay::pid() const { return state_->child; }

Result<Relay> Relay::start(RelayOptions options) {
  occupy_closed_streams();
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->out = open_outlet();
  if (state->options.make_view) state->view = state->options.make_view();
  auto channel = open_channel();
  if (!channel) return std::unexpected(channel.error());
  auto control = make_pair();
  if (!control) return std::unexpected(control.error());
  auto status = make_pipe();
  if (!status) return std::unexpected(status.error());
  auto signals = make_pipe();
  if (!signals) return std::unexpected(signals.error());
  auto said = make_pipe();
  if (!said) return std::unexpected(said.error());
  const ExecImage image({.argv = state->options.argv,
                         .set_env = state->options.set_env,
                         .unset_env = {},
                         .stdin_text = {}});

  sigset_t all{};
  Inherited before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before.mask);
  // Where it is ignored nobody hears how a child ended.
  struct sigaction heard{};
  heard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &heard, &before.child_ended);
  state->stand_by_pid = ::fork();
  if (state->stand_by_pid == 0)
    stand_by(control->theirs.get(), *std::move(channel), state->view.get());
  control->theirs.reset();
  state->child = ::fork();
  const int fork_error = errno;
  if (state->child == 0) become(image, channel->sink.get(), before, status->write_end.get());
  channel->sink.reset();
  status->write_end.reset();
  state->channel = *std::move(channel);
  state->control = std::move(control->ours);
  int exec_error = 0;
  const bool failed = state->child < 0 || ::read(status->read_end.get(), &exec_error,
                                                 sizeof exec_error) == sizeof exec_error;
  if (failed) {
    if (state->child > 0) wait_for(state->child);
    state->source_ended = true;
    state->dismiss_stand_by();
    ::sigaction(SIGCHLD, &before.child_ended, nullptr);
    ::sigprocmask(SIG_SETMASK, &before.mask, nullptr);
    return exec_failure(state->options.argv.front(), state->child < 0 ? fork_error : exec_error);
  }
  for (const UniqueFd* fd :
       {&signals->read_end, &signals->write_end, &said->read_end, &said->write_end}) {
    set_nonblocking(fd->get());
  }
  state->signals = *std::move(signals);
  state->said_pipe = *std::move(said);
  signal_pipe = state->signals.write_end.get();
  // Also those that were ignored so far (nohup, a shell's background job): the program inherited
  // that and may have set it aside, and whoever sends one to us means it.
  for (const int number : handled_signals()) {
    install(number);
    ::sigdelset(&before.mask, number);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on files' sizes: the kept log is not whole then
  ::sigprocmask(SIG_SETMASK, &before.mask, nullptr);
  state->look_at_child();  // it may have ended before the handler stood
  return Relay(std::move(state));
}

RelayEnd Relay::run(const RelayEvents& events) {
  State& s = *state_;
  std::string buffer(kBlock, '\0');
  while (!s.status) {
    std::array<pollfd, 4> wait{{
        {.fd = s.signals.read_end.get(), .events = POLLIN, .revents = 0},
        {.fd = s.said_pipe.read_end.get(), .events = POLLIN, .revents = 0},
        {.fd = s.stand_by_pid > 0 ? s.control.get() : -1, .events = POLLIN, .revents = 0},
        {.fd = s.source_ended ? -1 : s.channel.source.get(), .events = POLLIN, .revents = 0},
    }};
    (void)::poll(wait.data(), wait.size(), s.wait_ms());
    s.handle_signals();
    s.hear_stand_by();
    s.forward_due();
    if (!s.source_ended) {
      std::string_view bytes;
      const Got got = read_some(s.channel.source.get(), buffer, bytes);
      if (got == Got::bytes) s.hand_on(bytes, events);
      // The program closed it, or gave it away to nobody; it may run on for hours.
      if (got == Got::end) s.source_ended = true;
    }
    if (s.view && s.view->holds() && monotonic_now() - s.last_bytes >= kHeldLongEnough) {
      s.visible.clear();
      s.view->rest(s.visible);
      s.write_out(s.visible);
      s.last_bytes = monotonic_now();
    }
    s.speak_what_waits();
  }
  s.drain(events);
  s.end_view();
  RelayEnd end;
  end.left_behind = !s.source_ended;
  end.keep_failed = s.keep_failed;
  end.signalled = WIFSIGNALED(*s.status);
  end.exit_code = end.signalled ? 128 + WTERMSIG(*s.status) : WEXITSTATUS(*s.status);
  return end;
}

void Relay::say(std::string line) {
  {
    const std::scoped_lock lock(state_->said_mutex);
    state_->said.push_back(std::move(line));
  }
  const char byte = 0;
  [[maybe_unused]] const ssize_t wrote = ::write(state_->said_pipe.write_end.get(), &byte, 1);
}

void Relay::speak_at_end(std::string_view text) {
  std::string all;
  {
    const std::scoped_lock lock(state_->said_mutex);
    for (const std::string& line : state_->said) all += line;
    state_->said.clear();
  }
  all += text;
  if (all.empty()) return;
  if (state_->last_byte != '\n') state_->write_out("\n");
  state_->speak(all);
}

Result<int> start_detached(const std::vector<std::string>& argv,
                           const std::vector<std::pair<std::string, std::string>>& env) {
  const ExecImage image({.argv = argv, .set_env = env, .unset_env = {}, .stdin_text = {}});
  const std::vector<int> handled = handled_signals();
  const pid_t pid = ::fork();
  if (pid < 0)
    return fail(errno_kind(errno), "cannot run '{}': {}", argv.front(), errno_text(errno));
  if (pid > 0) return pid;
  ::setsid();
  sigset_t none{};
  ::sigemptyset(&none);
  for (const int number : handled) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= kStderr; ++fd) ::dup2(null, fd);
  if (null > kStderr) ::close(null);
  ::execve(image.path(), image.argv(), image.envp());
  ::_exit(127);
}

bool reap(int pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; }

Result<UniqueFd> create_file(const std::string& path) {
  const UniqueFd low(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  // Where a standard stream is closed it would have that one's number.
  UniqueFd fd(low ? ::fcntl(low.get(), F_DUPFD_CLOEXEC, 3) : -1);
  if (!fd) return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));
  return fd;
}

}  // namespace picchio::os
