#include "os/child.h"
#include "os/exec_image.h"
#include "os/pipe.h"
#include "os/supervisor_linux.h"
#include "os/system_error.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace picchio::os {
namespace {

// Blocks every signal while it lives: a handler of ours must not run in the supervisor, which
// shares the pipe that the handler writes to.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &old_, nullptr); }

 private:
  sigset_t old_{};
};

std::optional<SupervisorReport> read_report(int fd) {
  SupervisorReport report;
  for (;;) {
    const ssize_t got = ::read(fd, &report, sizeof report);
    if (got == sizeof report) return report;
    if (got >= 0 || errno != EINTR) return std::nullopt;
  }
}

void wait_for(int pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void send(int fd, char command) {
  // Refused only when the supervisor is gone, and its end is seen on the other pipe.
  [[maybe_unused]] const ssize_t wrote = ::write(fd, &command, 1);
}

}  // namespace

Result<Child> Child::start(const SpawnOptions& options, UniqueFd out, UniqueFd err) {
  if (options.argv.empty()) return fail(ErrorKind::failed, "cannot run a program without a name");
  const std::string& path = options.argv.front();
  auto control = make_pipe();
  if (!control) return std::unexpected(control.error());
  auto report = make_pipe();
  if (!report) return std::unexpected(report.error());
  auto null = open_null();
  if (!null) return std::unexpected(null.error());
  const auto in = open_stdin(options);
  if (!in) return std::unexpected(in.error());
  const ExecImage image(options);
  const SupervisorTask task{.path = image.path(),
                            .argv = image.argv(),
                            .envp = image.envp(),
                            .control = control->read_end.get(),
                            .report = report->write_end.get(),
                            .null = null->get(),
                            .in = in->get(),
                            .out = out.get(),
                            .err = err.get()};
  pid_t supervisor = -1;
  int fork_error = 0;
  {
    const AllSignalsBlocked blocked;
    supervisor = ::fork();
    fork_error = errno;
    if (supervisor == 0) supervise(task);
  }
  if (supervisor < 0) {
    return fail(errno_kind(fork_error), "cannot run '{}': {}", path, errno_text(fork_error));
  }
  control->read_end.reset();
  report->write_end.reset();
  const auto first = read_report(report->read_end.get());
  if (!first || first->kind != ReportKind::started) {
    wait_for(supervisor);
    if (!first) return fail(ErrorKind::failed, "cannot run '{}': its supervisor was killed", path);
    return exec_failure(path, first->value);
  }
  set_nonblocking(report->read_end.get());
  Child child;
  child.pid_ = first->value;
  child.watcher_ = supervisor;
  child.started_ = Micros(first->at_us);
  child.events_ = std::move(report->read_end);
  child.control_ = std::move(control->write_end);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      watcher_(std::exchange(other.watcher_, -1)),
      started_(other.started_),
      events_(std::move(other.events_)),
      control_(std::move(other.control_)) {}

Child::~Child() {
  if (watcher_ < 0) return;
  control_.reset();  // the supervisor takes it for our death
  pollfd wait{.fd = events_.get(), .events = POLLIN, .revents = 0};
  // Bounded, for something that hangs in a driver: the supervisor goes on without us.
  if (::poll(&wait, 1, 5000) == 1) wait_for(watcher_);
}

Result<std::optional<ChildExit>> Child::take_exit() {
  SupervisorReport report;
  const ssize_t got = ::read(events_.get(), &report, sizeof report);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<ChildExit>();
  wait_for(watcher_);
  watcher_ = -1;
  if (got != sizeof report) {
    // Its death signal took the program; this is for what the program started.
    ::kill(-pid_, SIGKILL);
    return fail(ErrorKind::failed, "the process that supervised the program was killed");
  }
  ChildExit out{.wait_status = report.value, .at = Micros(report.at_us), .cpu_seconds = {}};
  if (report.kind == ReportKind::finished) out.cpu_seconds = seconds(Micros(report.cpu_us));
  return out;
}

void Child::terminate() { send(control_.get(), kTerminate); }
void Child::kill() { send(control_.get(), kKill); }

}  // namespace picchio::os
