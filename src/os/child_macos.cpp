// Untested: written without such a machine. macOS knows no subreaper and no death signal, so what
// makes its own session outlives us when we are killed; everything else holds for the program's
// group.
#include "os/child.h"
#include "os/clock.h"
#include "os/exec_image.h"
#include "os/pipe.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/event.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace picchio::os {
namespace {

[[noreturn]] void become_program(const ExecImage& image, int in, int out, int err, int exec_error) {
  ::setpgid(0, 0);
  struct sigaction action{};
  ::sigemptyset(&action.sa_mask);
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &action, nullptr);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::execve(image.path(), image.argv(), image.envp());
  const int error = errno;
  [[maybe_unused]] const ssize_t wrote = ::write(exec_error, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Result<Child> Child::start(const SpawnOptions& options, UniqueFd out, UniqueFd err) {
  if (options.argv.empty()) return fail(ErrorKind::failed, "cannot run a program without a name");
  auto exec_error = make_pipe();
  if (!exec_error) return std::unexpected(exec_error.error());
  const auto in = open_stdin(options);
  if (!in) return std::unexpected(in.error());
  const ExecImage image(options);
  Child child;
  child.events_ = UniqueFd(::kqueue());
  child.started_ = monotonic_now();
  sigset_t all{};
  sigset_t old{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  child.pid_ = ::fork();
  if (child.pid_ == 0) {
    become_program(image, in->get(), out.get(), err.get(), exec_error->write_end.get());
  }
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (child.pid_ < 0) return exec_failure(options.argv.front(), fork_error);
  ::setpgid(child.pid_, child.pid_);
  exec_error->write_end.reset();
  int error = 0;
  if (::read(exec_error->read_end.get(), &error, sizeof error) == sizeof error) {
    ::waitpid(child.pid_, nullptr, 0);
    child.pid_ = -1;
    return exec_failure(options.argv.front(), error);
  }
  struct kevent change{};
  EV_SET(&change, child.pid_, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, nullptr);
  ::kevent(child.events_.get(), &change, 1, nullptr, 0, nullptr);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      started_(other.started_),
      events_(std::move(other.events_)),
      control_(std::move(other.control_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill();
  ::waitpid(pid_, nullptr, 0);
}

Result<std::optional<ChildExit>> Child::take_exit() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return std::optional<ChildExit>();
  }
  kill();  // the rest of its group, while the unreaped leader keeps the number
  ChildExit out{.wait_status = 0, .at = monotonic_now(), .cpu_seconds = {}};
  rusage used{};
  if (::wait4(pid_, &out.wait_status, 0, &used) == pid_) {
    out.cpu_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  }
  pid_ = -1;
  return out;
}

void Child::terminate() { ::kill(-pid_, SIGTERM); }
void Child::kill() { ::kill(-pid_, SIGKILL); }

}  // namespace picchio::os
