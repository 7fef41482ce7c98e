#include "os/supervisor_linux.h"

#include "os/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace picchio::os {
namespace {

// A process that SIGKILL does not end within this is stuck in the kernel (a driver that hangs).
constexpr Micros kKillPatience = std::chrono::seconds(10);
constexpr int kKillRoundMs = 20;

std::int64_t now_us() { return monotonic_now().count(); }

void close_range_or_each(unsigned first, unsigned last) {
  if (first > last || ::syscall(SYS_close_range, first, last, 0U) == 0) return;
  // Before Linux 5.9. A limit of a million descriptors would take a second; few have that many
  // open.
  const unsigned end = std::min(last, 65535U);
  for (unsigned fd = first; fd <= end; ++fd) ::close(static_cast<int>(fd));
}

// What we had open is none of the program's business, and a copy of a pipe's write end in here
// would keep its reader waiting.
void close_all_but(std::array<int, 6> kept) {
  std::ranges::sort(kept);
  unsigned next = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) close_range_or_each(next, number - 1);
    next = std::max(next, number + 1);
  }
  close_range_or_each(next, std::numeric_limits<unsigned>::max());
}

// "123" or "123 456 ": calls `visit` for each number of a stream of characters.
template <class Visit>
class NumberScanner {
 public:
  explicit NumberScanner(Visit visit) : visit_(visit) {}
  void feed(const char* text, ssize_t size) {
    for (ssize_t i = 0; i < size; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        number_ = number_ * 10 + (text[i] - '0');
      } else {
        flush();
      }
    }
  }
  void flush() {
    if (number_ > 0) visit_(static_cast<pid_t>(number_));
    number_ = 0;
  }

 private:
  Visit visit_;
  long number_ = 0;
};

std::size_t append_number(char* to, long number) {
  std::array<char, 24> digits{};
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  for (std::size_t i = 0; i < count; ++i) to[i] = digits[count - 1 - i];
  return count;
}

// "/proc/" + number + tail
std::array<char, 80> proc_path(long number, const char* tail) {
  std::array<char, 80> path{};
  std::memcpy(path.data(), "/proc/", 6);
  const std::size_t digits = append_number(path.data() + 6, number);
  const std::size_t room = path.size() - 7 - digits;
  std::memcpy(path.data() + 6 + digits, tail, std::min(std::strlen(tail), room));
  return path;
}

// A /proc of another pid namespace would name the wrong processes.
bool proc_is_ours() {
  std::array<char, 32> target{};
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size() - 1);
  long number = 0;
  for (ssize_t i = 0; i < size; ++i)
    number = number * 10 + (target[static_cast<std::size_t>(i)] - '0');
  return size > 0 && number == ::getpid();
}

// Parent from "/proc/PID/stat"; the name in it may hold blanks and parentheses, so from its last
// ')'.
long parent_of(long pid) {
  const int fd = ::open(proc_path(pid, "/stat").data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  std::array<char, 512> text{};
  const ssize_t size = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  if (size <= 0) return -1;
  const char* at = std::strrchr(text.data(), ')');
  if (at == nullptr || std::strlen(at) < 5) return -1;
  long parent = 0;
  for (at += 4; *at >= '0' && *at <= '9'; ++at) parent = parent * 10 + (*at - '0');
  return parent;
}

// A kernel without CONFIG_PROC_CHILDREN has no list of children: look through all processes.
template <class Visit>
void scan_for_children(Visit visit) {
  const int dir = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  const pid_t self = ::getpid();
  alignas(8) std::array<char, 4096> block{};
  for (;;) {
    const long size = ::syscall(SYS_getdents64, dir, block.data(), block.size());
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      // struct linux_dirent64: inode 8, offset 8, record length 2, type 1, name.
      unsigned short length = 0;
      std::memcpy(&length, block.data() + at + 16, sizeof length);
      const char* name = block.data() + at + 19;
      long pid = 0;
      for (const char* c = name; *c >= '0' && *c <= '9'; ++c) pid = pid * 10 + (*c - '0');
      if (pid > 1 && parent_of(pid) == self) visit(static_cast<pid_t>(pid));
      at += length;
    }
  }
  ::close(dir);
}

template <class Visit>
void for_each_child(Visit visit) {
  if (!proc_is_ours()) return;
  const pid_t self = ::getpid();
  std::array<char, 80> tail{};
  std::memcpy(tail.data(), "/task/", 6);
  const std::size_t digits = append_number(tail.data() + 6, self);
  std::memcpy(tail.data() + 6 + digits, "/children", 10);
  const int fd = ::open(proc_path(self, tail.data()).data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    scan_for_children(visit);
    return;
  }
  NumberScanner scanner(visit);
  std::array<char, 4096> block{};
  for (ssize_t size = 0; (size = ::read(fd, block.data(), block.size())) > 0;) {
    scanner.feed(block.data(), size);
  }
  scanner.flush();
  ::close(fd);
}

void reset_signals() {
  struct sigaction action{};
  ::sigemptyset(&action.sa_mask);
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &action, nullptr);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(const SupervisorTask& task, pid_t supervisor, int exec_error) {
  ::setpgid(0, 0);
  // Should the supervisor be killed, at least the program itself goes with it. It may have died
  // between fork and here, and then no signal comes any more.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  reset_signals();
  // All three numbers are 3 or higher, so no dup2 overwrites another's source.
  ::dup2(task.in, 0);
  ::dup2(task.out, 1);
  ::dup2(task.err, 2);
  ::execve(task.path, task.argv, task.envp);
  const int error = errno;
  [[maybe_unused]] const ssize_t wrote = ::write(exec_error, &error, sizeof error);
  ::_exit(127);
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisorTask& task) : task_(task) {}

  [[noreturn]] void run() {
    prepare();
    start();
    while (children_left_ && !given_up()) step();
    report(children_left_ ? ReportKind::abandoned : ReportKind::finished, status_, exit_at_us_);
    ::_exit(0);
  }

 private:
  void prepare() {
    ::setsid();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_NAME, "picchio-watch");
    for (const int standard : {0, 1, 2}) ::dup2(task_.null, standard);
    close_all_but({task_.control, task_.report, task_.null, task_.in, task_.out, task_.err});
    // Our parent may have been started with SIGCHLD ignored; then nothing could be waited for.
    struct sigaction action{};
    ::sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, nullptr);
    sigset_t child{};
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    signals_ = ::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
  }

  void start() {
    std::array<int, 2> exec_error{-1, -1};
    if (signals_ < 0 || ::pipe2(exec_error.data(), O_CLOEXEC) != 0) fail_start(errno);
    const pid_t self = ::getpid();
    const std::int64_t started = now_us();
    program_ = ::fork();
    if (program_ < 0) fail_start(errno);
    if (program_ == 0) become_program(task_, self, exec_error[1]);
    ::setpgid(program_, program_);
    ::close(exec_error[1]);
    ::close(task_.out);
    ::close(task_.err);
    // Closed by a successful exec: end of file.
    int error = 0;
    ssize_t got = 0;
    do {
      got = ::read(exec_error[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    ::close(exec_error[0]);
    if (got == sizeof error) {
      ::waitpid(program_, nullptr, 0);
      fail_start(error);
    }
    report(ReportKind::started, program_, started);
  }

  [[noreturn]] void fail_start(int error) {
    report(ReportKind::exec_failed, error, now_us());
    ::_exit(0);
  }

  void step() {
    std::array<pollfd, 2> wait{
        pollfd{.fd = killing_ ? -1 : task_.control, .events = POLLIN, .revents = 0},
        pollfd{.fd = signals_, .events = POLLIN, .revents = 0}};
    ::poll(wait.data(), wait.size(), killing_ ? kKillRoundMs : -1);
    if (wait[0].revents != 0) obey();
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) > 0) {
    }
    reap();
    if (program_gone_ && !terminating_) start_killing();
    if (killing_ && children_left_) kill_round();
  }

  void obey() {
    char command = 0;
    const ssize_t got = ::read(task_.control, &command, 1);
    if (got < 0 && errno == EINTR) return;
    if (got == 1 && command == kTerminate) {
      terminating_ = true;
      signal_all(SIGTERM);
      signal_all(SIGCONT);  // a stopped process acts on no other signal
    } else {
      start_killing();
    }
  }

  void start_killing() {
    if (killing_) return;
    killing_ = true;
    killing_since_us_ = now_us();
  }

  [[nodiscard]] bool given_up() const {
    return killing_ && now_us() - killing_since_us_ > kKillPatience.count();
  }

  // Only unreaped processes are signalled, so no number can mean a stranger.
  void signal_all(int number) const {
    if (!program_gone_) ::kill(-program_, number);
    for_each_child([&](pid_t pid) {
      if (program_gone_ || ::getpgid(pid) != program_) ::kill(pid, number);
    });
  }

  void kill_round() const { signal_all(SIGKILL); }

  void reap() {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno == EINTR) continue;
        children_left_ = false;
        return;
      }
      if (info.si_pid == 0) return;
      if (info.si_pid == program_) {
        exit_at_us_ = now_us();
        // While it is unreaped its group's number is taken: the last moment to use it. Needed where
        // /proc is hidden and children cannot be listed.
        if (!terminating_ || killing_) ::kill(-program_, SIGKILL);
        ::waitpid(program_, &status_, 0);
        program_gone_ = true;
      } else {
        ::waitpid(info.si_pid, nullptr, 0);
      }
    }
  }

  void report(ReportKind kind, std::int32_t value, std::int64_t at_us) const {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    const SupervisorReport message{
        .kind = kind,
        .value = value,
        .at_us = at_us,
        .cpu_us = (std::int64_t{used.ru_utime.tv_sec} + used.ru_stime.tv_sec) * 1'000'000 +
                  used.ru_utime.tv_usec + used.ru_stime.tv_usec};
    // Nobody there to read it: then nobody has to know.
    [[maybe_unused]] const ssize_t wrote = ::write(task_.report, &message, sizeof message);
  }

  const SupervisorTask& task_;
  int signals_ = -1;
  pid_t program_ = -1;
  int status_ = 0;
  std::int64_t exit_at_us_ = 0;
  std::int64_t killing_since_us_ = 0;
  bool program_gone_ = false;
  bool terminating_ =
      false;  // asked to end gently: the rest gets its time after the program's exit
  bool killing_ = false;
  bool children_left_ = true;
};

}  // namespace

void supervise(const SupervisorTask& task) { Supervisor(task).run(); }

}  // namespace picchio::os
