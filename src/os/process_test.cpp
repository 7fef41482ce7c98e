#include "os/process.h"

#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/pipe.h"
#include "os/proc.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

namespace picchio::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// What "bounded" means below: far above what is needed on a loaded machine, far below for ever.
constexpr Micros kPatience = seconds(20);

bool alive(int pid) {
  const auto stat = read_proc_stat("/", pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

template <class Condition>
bool eventually(Condition condition) {
  const Micros end = monotonic_now() + kPatience;
  while (!condition()) {
    if (monotonic_now() > end) return false;
    (void)::poll(nullptr, 0, 2);
  }
  return true;
}

std::vector<int> pids_in(std::string_view text) {
  std::vector<int> pids;
  for (std::string_view line : split_lines(text)) {
    if (take_prefix(line, "pid ")) pids.push_back(static_cast<int>(parse_int(line).value_or(0)));
  }
  return pids;
}

void expect_gone(const std::vector<int>& pids) {
  for (const int pid : pids) EXPECT_FALSE(alive(pid)) << pid;
}

class Process : public testing::Test {
 protected:
  void SetUp() override {
    // A test runner in a shell's background has it ignored, and ignored signals stay so.
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGHUP, SIG_DFL);
    auto made = Interrupts::install();
    ASSERT_TRUE(made) << made.error().message;
    interrupts = std::make_unique<Interrupts>(std::move(*made));
  }

  static SpawnOptions program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PICCHIO_TEST_PROGRAM);
    return {.argv = std::move(arguments), .set_env = {}, .unset_env = {}, .stdin_text = {}};
  }
  static SpawnOptions shell(const std::string& script) {
    return {.argv = {"/bin/sh", "-c", script}, .set_env = {}, .unset_env = {}, .stdin_text = {}};
  }

  Result<Capture> run(const SpawnOptions& options, const CaptureLimits& limits = {},
                      const CaptureEvents& events = {}) {
    return run_captured(options, limits, events, *interrupts);
  }
  std::string stdout_of(const SpawnOptions& options) {
    const auto capture = run(options);
    return capture ? capture->stdout_head : "failed: " + capture.error().message;
  }

  Error refusal_of(const std::string& path) {
    const auto capture = run({.argv = {path}, .set_env = {}, .unset_env = {}, .stdin_text = {}});
    return capture ? Error{ErrorKind::failed, "it was run", ""} : capture.error();
  }

  std::unique_ptr<Interrupts> interrupts;
};

TEST_F(Process, ReadsAnInputThatIsLongerThanAnArgumentMayBe) {
  std::string text;
  while (text.size() < 300'000) text += "line of the input\n";
  const CaptureLimits limits{.max_output_bytes = 1 << 20, .stdout_keep_bytes = 1 << 20};
  SpawnOptions options = program({"echo"});
  options.stdin_text = text;
  const auto capture = run(options, limits);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->stdout_head, text);
  // By name as well, from its beginning.
  options.argv = {"/bin/cat", "/dev/stdin"};
  const auto by_name = run(options, limits);
  ASSERT_TRUE(by_name) << by_name.error().message;
  EXPECT_EQ(by_name->stdout_head, text);
}

TEST_F(Process, BothOutputsExitCodeAndStamps) {
  std::vector<std::string> lines;
  const CaptureEvents events{
      .started = {},
      .tick = {},
      .stderr_line = [&](std::string_view line, Micros) { lines.emplace_back(line); },
      .stdout_data = {}};
  const auto capture =
      run(shell("echo one >&2; echo out; printf 'two\\r\\n\\nlast' >&2; exit 7"), {}, events);
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->stderr_text, "one\ntwo\r\n\nlast");
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "last"}));
  EXPECT_EQ(capture->line_stamps.size(), split_lines(capture->stderr_text).size());
  EXPECT_TRUE(std::ranges::is_sorted(capture->line_stamps));
  EXPECT_EQ(capture->stdout_head, "out\n");
  EXPECT_EQ(capture->stdout_bytes, 4);
  EXPECT_EQ(capture->stdout_reads, 1);
  EXPECT_EQ(capture->first_byte, capture->last_byte);
  EXPECT_GT(capture->first_byte.value_or(Micros(0)), Micros(0));
  EXPECT_EQ(capture->exit_code, 7);
  EXPECT_EQ(capture->end, End::exited);
  EXPECT_GT(capture->wall, Micros(0));
  EXPECT_TRUE(capture->cpu_seconds);
}

TEST_F(Process, NothingOnStdoutIsAbsentNotZero) {
  const auto capture = run(program({"exit", "0"}));
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->first_byte, std::nullopt);
  EXPECT_EQ(capture->last_byte, std::nullopt);
  EXPECT_EQ(capture->stdout_reads, 0);
  EXPECT_TRUE(capture->line_stamps.empty());
}

TEST_F(Process, AStampIsTheArrivalOfItsLine) {
  // The second line waits for a file that the callback of the first makes.
  const auto file =
      std::filesystem::path(testing::TempDir()) / ("picchio_stamp_" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  Micros made{};
  const CaptureEvents events{.started = {},
                             .tick = {},
                             .stderr_line =
                                 [&](std::string_view line, Micros at) {
                                   if (line != "first") return;
                                   made = at;
                                   std::ofstream(file) << "go";
                                 },
                             .stdout_data = {}};
  const auto capture = run(shell("echo first >&2; while ! test -e '" + file.string() +
                                 "'; do sleep 0.01; done; echo second >&2"),
                           {.deadline = kPatience}, events);
  std::filesystem::remove(file);
  ASSERT_TRUE(capture);
  ASSERT_EQ(capture->line_stamps.size(), 2U);
  EXPECT_EQ(capture->line_stamps[0], made);
  EXPECT_GT(capture->line_stamps[1], capture->line_stamps[0]);
}

TEST_F(Process, StdinEmptyNoTerminalOwnGroupNoStrayDescriptorsNoIgnoredSignals) {
  const UniqueFd stray(::open("/", O_RDONLY));  // deliberately not close-on-exec
  EXPECT_EQ(stdout_of(program({"surroundings"})), "no terminal, empty stdin, own group");
  SpawnOptions reader = program({"surroundings"});
  reader.stdin_text = "x";
  EXPECT_EQ(stdout_of(reader), "no terminal, stdin, own group");
  EXPECT_EQ(trim(stdout_of(program({"descriptors"}))), "0 1 2");
  EXPECT_EQ(stdout_of(program({"ignored-signals"})), "");
}

TEST_F(Process, EnvironmentIsSetAndUnset) {
  ::setenv("PICCHIO_TEST_GONE", "1", 1);
  ::setenv("PICCHIO_TEST_KEPT", "kept", 1);
  ::setenv("PICCHIO_TEST_SET", "old", 1);
  SpawnOptions options = shell(
      "echo \"$PICCHIO_TEST_SET|${PICCHIO_TEST_GONE-unset}|$PICCHIO_TEST_KEPT|$PICCHIO_TEST_NEW\"");
  options.set_env = {{"PICCHIO_TEST_SET", "new value"}, {"PICCHIO_TEST_NEW", ""}};
  options.unset_env = {"PICCHIO_TEST_GONE", "PICCHIO_TEST"};
  EXPECT_EQ(stdout_of(options), "new value|unset|kept|\n");
}

TEST_F(Process, WhatCannotBeRunIsNamedAndSaysWhy) {
  const auto dir =
      std::filesystem::path(testing::TempDir()) / ("picchio_exec_" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir);
  const auto make = [&](const char* name, const char* content, mode_t mode) {
    const std::string path = dir / name;
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path;
  };
  struct Case {
    std::string path;
    ErrorKind kind;
    const char* why;
  };
  for (const Case& c : {
           Case{dir / "missing", ErrorKind::not_found, "no such file"},
           Case{make("plain", "#!/bin/sh\n", 0644), ErrorKind::denied, "permission denied"},
           Case{dir, ErrorKind::denied, "permission denied"},
           Case{make("text", "hello\n", 0755), ErrorKind::unsupported, "not a program"},
           Case{make("script", "#!/no/such/shell\n", 0755), ErrorKind::unsupported, "interpreter"},
       }) {
    const Error error = refusal_of(c.path);
    EXPECT_EQ(error.kind, c.kind) << c.path;
    EXPECT_TRUE(error.message.contains("cannot run '" + c.path + "'")) << error.message;
    EXPECT_TRUE(error.message.contains(c.why)) << error.message;
  }
  std::filesystem::remove_all(dir);
  EXPECT_FALSE(run({}));
}

TEST_F(Process, OutputCapCountsBothPipesAndStops) {
  const auto capture =
      run(program({"flood", "1000000"}), {.max_output_bytes = 1'000'000, .stdout_keep_bytes = 100});
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::output_cap);
  EXPECT_EQ(capture->stdout_bytes + static_cast<std::int64_t>(capture->stderr_text.size()),
            1'000'000);
  EXPECT_GT(capture->stderr_text.size(), 0U);
  EXPECT_EQ(capture->stdout_head.size(), 100U);
  EXPECT_EQ(capture->exit_code, 128 + SIGTERM);
}

TEST_F(Process, ExactlyTheCapIsNotTooMuch) {
  const auto capture = run(program({"flood", "1000"}), {.max_output_bytes = 1'000'000});
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::exited);
  EXPECT_EQ(capture->stdout_bytes, 500'000);
  EXPECT_EQ(capture->stderr_text.size(), 500'000U);
  EXPECT_EQ(capture->stdout_head.size(), 65536U);
}

TEST_F(Process, DeadlineEndsItAndTicksComeUntilThen) {
  std::vector<Micros> ticks;
  const CaptureEvents events{.started = {},
                             .tick = [&](Micros at) { ticks.push_back(at); },
                             .stderr_line = {},
                             .stdout_data = {}};
  const auto capture =
      run(program({"pause"}), {.deadline = milliseconds(300), .tick = milliseconds(20)}, events);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::deadline);
  EXPECT_EQ(capture->exit_code, 128 + SIGTERM);
  EXPECT_GE(capture->wall, milliseconds(300));
  EXPECT_LT(capture->wall, milliseconds(300) + kPatience);
  EXPECT_GE(ticks.size(), 2U);
  EXPECT_LE(ticks.size(), 17U);  // not in a spin
  EXPECT_GE(ticks.front(), milliseconds(20));
  expect_gone(pids_in(capture->stderr_text));
}

TEST_F(Process, OneThatIgnoresTermIsKilledAfterTwoSeconds) {
  Micros asked{};
  const CaptureEvents events{.started = {},
                             .tick = {},
                             .stderr_line =
                                 [&](std::string_view, Micros at) {
                                   asked = at;
                                   ::raise(SIGINT);
                                 },
                             .stdout_data = {}};
  const auto capture = run(program({"stubborn"}), {.deadline = kPatience}, events);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::interrupted);
  EXPECT_EQ(capture->exit_code, 128 + SIGKILL);
  EXPECT_GE(capture->wall, asked + seconds(2));
  EXPECT_LT(capture->wall, asked + seconds(10));
  ASSERT_EQ(pids_in(capture->stderr_text).size(), 1U);
  EXPECT_FALSE(alive(pids_in(capture->stderr_text)[0]));
}

class InterruptedProcess : public Process, public testing::WithParamInterface<int> {};

TEST_P(InterruptedProcess, EndsAndNoOtherStarts) {
  std::thread sender;
  const CaptureEvents events{.started = {},
                             .tick = {},
                             .stderr_line =
                                 [&](std::string_view, Micros) {
                                   if (sender.joinable()) return;
                                   sender = std::thread([] { ::kill(::getpid(), GetParam()); });
                                 },
                             .stdout_data = {}};
  const auto capture = run(program({"child-and-pause"}), {.deadline = kPatience}, events);
  if (sender.joinable()) sender.join();
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::interrupted);
  EXPECT_EQ(interrupts->caught(), GetParam());
  EXPECT_LT(capture->wall, seconds(10));
  expect_gone(pids_in(capture->stderr_text));

  const auto next = run(program({"exit", "0"}));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind, ErrorKind::interrupted);
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptedProcess, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(Process, KilledChildIsReportedAsSuch) {
  const auto killed = run(program({"kill-self", std::to_string(SIGKILL)}));
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->end, End::signalled);
  EXPECT_EQ(killed->exit_code, 128 + SIGKILL);

  int pid = 0;
  const CaptureEvents events{.started = [&](int p) { pid = p; },
                             .tick = {},
                             .stderr_line = [&](std::string_view, Micros) { ::kill(pid, SIGUSR1); },
                             .stdout_data = {}};
  const auto ended = run(program({"pause"}), {.deadline = kPatience}, events);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->end, End::signalled);
  EXPECT_EQ(ended->exit_code, 128 + SIGUSR1);
  EXPECT_EQ(pids_in(ended->stderr_text), std::vector{pid});
}

TEST_F(Process, AStoppedProgramCanBeEnded) {
  int pid = 0;
  const CaptureEvents events{.started = [&](int p) { pid = p; },
                             .tick = {},
                             .stderr_line = [&](std::string_view, Micros) { ::kill(pid, SIGSTOP); },
                             .stdout_data = {}};
  const auto capture = run(program({"pause"}), {.deadline = milliseconds(300)}, events);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::deadline);
  EXPECT_EQ(capture->exit_code, 128 + SIGTERM);
}

TEST_F(Process, NoDescendantIsLeftInItsOwnSession) {
  int pid = 0;
  std::size_t said = 0;
  CaptureEvents events{
      .started = [&](int p) { pid = p; }, .tick = {}, .stderr_line = {}, .stdout_data = {}};
  const auto expect_all_gone = [&](const Capture& capture, std::size_t count) {
    const auto pids = pids_in(capture.stderr_text);
    EXPECT_EQ(pids.size(), count);
    expect_gone(pids);
  };

  events.stderr_line = [&](std::string_view, Micros) {
    if (++said == 2) ::kill(pid, SIGKILL);
  };
  const auto killed = run(program({"daemon-and-pause"}), {.deadline = kPatience}, events);
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->end, End::signalled);
  expect_all_gone(*killed, 2);

  // The daemon ignores SIGTERM, so this one takes the two seconds.
  said = 0;
  events.stderr_line = [&](std::string_view, Micros) {
    if (++said == 2) ::raise(SIGINT);
  };
  const auto late = run(program({"daemon-and-pause"}), {.deadline = kPatience}, events);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->end, End::interrupted);
  expect_all_gone(*late, 2);
}

TEST_F(Process, ADaemonThatOutlivesItsProgramDoesNotHoldUsUp) {
  const auto capture = run(program({"daemon-and-exit"}), {.deadline = kPatience});
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->end, End::exited);
  EXPECT_EQ(capture->exit_code, 0);
  EXPECT_LT(capture->wall, seconds(10));
  expect_gone(pids_in(capture->stderr_text));
}

TEST_F(Process, CpuTimeOfTheWholeTree) {
  const auto capture = run(program({"burn-in-child", "300"}));
  ASSERT_TRUE(capture);
  EXPECT_GE(capture->cpu_seconds.value_or(0), 0.29);
  EXPECT_LT(capture->cpu_seconds.value_or(0), 5.0);
}

TEST_F(Process, WaitingCostsNoCpu) {
  const auto used = [] {
    return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
  };
  const double before = used();
  const auto capture = run(program({"pause"}), {.deadline = seconds(1)});
  ASSERT_TRUE(capture);
  EXPECT_LT(used() - before, 0.2);
}

TEST_F(Process, ClosedStandardDescriptorsOfOursDoNotMatter) {
  // In a process of its own, since gtest wants its stdout.
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const auto capture = run(shell("echo out; echo err >&2; cat; exit 4"), {.deadline = kPatience});
    const bool good = capture && capture->stdout_head == "out\n" &&
                      capture->stderr_text == "err\n" && capture->exit_code == 4;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Process, IgnoredSigchldOfOursDoesNotMatter) {
  ::signal(SIGCHLD, SIG_IGN);
  const auto capture = run(program({"exit", "5"}));
  ::signal(SIGCHLD, SIG_DFL);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->exit_code, 5);
}

TEST_F(Process, SimpleKeepsAllOfStdout) {
  const auto capture =
      run_simple({PICCHIO_TEST_PROGRAM, "flood", "1000"}, kPatience, 2'000'000, *interrupts);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->stdout_head.size(), 500'000U);
}

// A process that runs one of ours, tells the pids it hears of, and is killed without a warning.
struct Driver {
  pid_t pid = -1;
  UniqueFd pids;
};

Driver start_driver(const SpawnOptions& options, const Interrupts& interrupts) {
  auto pipe = make_pipe();
  Driver driver;
  driver.pid = ::fork();
  if (driver.pid == 0) {
    const auto tell = [&](int pid) {
      [[maybe_unused]] const ssize_t wrote = ::write(pipe->write_end.get(), &pid, sizeof pid);
    };
    const CaptureEvents events{.started = tell,
                               .tick = {},
                               .stderr_line =
                                   [&](std::string_view line, Micros) {
                                     for (const int pid : pids_in(line)) tell(pid);
                                   },
                               .stdout_data = {}};
    (void)run_captured(options, {}, events, interrupts);  // ends with us
    ::_exit(0);
  }
  driver.pids = std::move(pipe->read_end);
  return driver;
}

// The pids that a driver tells; fewer when it ended before.
std::vector<int> pids_of(const Driver& driver, int count) {
  std::vector<int> pids;
  int pid = 0;
  while (static_cast<int>(pids.size()) < count &&
         ::read(driver.pids.get(), &pid, sizeof pid) == static_cast<ssize_t>(sizeof pid)) {
    pids.push_back(pid);
  }
  return pids;
}

TEST_F(Process, OurOwnDeathLeavesNothing) {
  struct Case {
    const char* name;
    SpawnOptions options;
    int pids;  // "started" and one for each "pid" line
    int signal;
  };
  const std::string self = PICCHIO_TEST_PROGRAM;
  for (const Case& c :
       {Case{"direct child", program({"stubborn"}), 2, SIGKILL},
        Case{"through a shell that execs", shell("exec '" + self + "' stubborn"), 2, SIGKILL},
        Case{"through a shell that waits", shell("'" + self + "' stubborn; true"), 2, SIGKILL},
        Case{"a daemon", program({"daemon-and-pause"}), 3, SIGKILL},
        Case{"an orphaned session behind a shell",
             shell("setsid '" + self + "' daemon-and-pause; true"), 3, SIGKILL},
        Case{"a crash of ours", shell("'" + self + "' stubborn; true"), 2, SIGABRT}}) {
    const Driver driver = start_driver(c.options, *interrupts);
    const std::vector<int> pids = pids_of(driver, c.pids);
    EXPECT_EQ(std::ranges::count_if(pids, alive), c.pids) << c.name;
    ::kill(driver.pid, c.signal);
    ::waitpid(driver.pid, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return std::ranges::none_of(pids, alive); })) << c.name;
  }
}

TEST_F(Process, ASupervisorsDeathEndsTheProgramAndIsAnError) {
  int pid = 0;
  const CaptureEvents events{.started = [&](int p) { pid = p; },
                             .tick = {},
                             .stderr_line =
                                 [&](std::string_view, Micros) {
                                   if (const auto stat = read_proc_stat("/", pid)) {
                                     ASSERT_NE(stat->parent, ::getpid());
                                     ::kill(stat->parent, SIGKILL);
                                   }
                                 },
                             .stdout_data = {}};
  const auto capture = run(shell(std::string("'") + PICCHIO_TEST_PROGRAM + "' stubborn; true"),
                           {.deadline = kPatience}, events);
  ASSERT_FALSE(capture);
  EXPECT_TRUE(capture.error().message.contains("supervised")) << capture.error().message;
  EXPECT_TRUE(eventually([&] { return !alive(pid); }));
}

TEST(Interrupts, CatchesOnceAndRestores) {
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_DFL);
  {
    const auto interrupts = Interrupts::install();
    ASSERT_TRUE(interrupts);
    EXPECT_FALSE(Interrupts::install());
    ::raise(SIGHUP);  // ignored before, ignored now
    EXPECT_EQ(interrupts->caught(), std::nullopt);
    pollfd wait{.fd = interrupts->fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&wait, 1, 0), 0);
    ::raise(SIGTERM);
    ::raise(SIGINT);
    EXPECT_EQ(interrupts->caught(), SIGTERM);
    EXPECT_EQ(::poll(&wait, 1, 0), 1);
    struct sigaction now{};
    ::sigaction(SIGPIPE, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_IGN);
  }
  for (const auto& [number, handler] :
       {std::pair{SIGTERM, SIG_DFL}, {SIGHUP, SIG_IGN}, {SIGPIPE, SIG_DFL}}) {
    struct sigaction now{};
    ::sigaction(number, nullptr, &now);
    EXPECT_EQ(now.sa_handler, handler) << number;
  }
  ::signal(SIGHUP, SIG_DFL);
  const auto again = Interrupts::install();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->caught(), std::nullopt);
}

}  // namespace
}  // namespace picchio::os
