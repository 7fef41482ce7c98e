// A program for os_test to run: one mode for each way in which an engine can behave.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void say(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote <= 0) ::_exit(3);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

[[noreturn]] void pause_forever() {
  for (;;) ::pause();
}

void say_pid() { say(2, "pid " + std::to_string(::getpid()) + "\n"); }

// Leaves its session twice, as a daemon does: no process group and no parent leads to it.
void start_daemon() {
  if (const pid_t child = ::fork(); child != 0) {
    ::waitpid(child, nullptr, 0);
    return;
  }
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  say_pid();
  pause_forever();
}

void burn(long milliseconds) {
  const auto cpu_ms = [] { return std::clock() * 1000 / CLOCKS_PER_SEC; };
  while (cpu_ms() < milliseconds) {
  }
}

int list_descriptors() {
  DIR* dir = ::opendir("/proc/self/fd");
  if (dir == nullptr) return 1;
  std::string out;
  while (const dirent* entry = ::readdir(dir)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(dir)) out += std::string(entry->d_name) + " ";
  }
  say(1, out);
  return 0;
}

int list_ignored_signals() {
  for (int number = 1; number < 32; ++number) {
    struct sigaction action{};
    sigset_t blocked{};
    ::sigaction(number, nullptr, &action);
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
    if (action.sa_handler == SIG_IGN || ::sigismember(&blocked, number) == 1) {
      say(1, std::to_string(number) + " ");
    }
  }
  return 0;
}

int show_surroundings() {
  const int tty = ::open("/dev/tty", O_RDWR);
  char byte = 0;
  say(1, tty < 0 ? "no terminal, " : "a terminal, ");
  say(1, ::read(0, &byte, 1) == 0 ? "empty stdin, " : "stdin, ");
  say(1, ::getpgid(0) == ::getpid() ? "own group" : "foreign group");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const long number = argc > 2 ? std::atol(argv[2]) : 0;
  if (mode == "flood") {
    const std::string block(1000, 'x');
    for (long i = 0; i < number; ++i) say(i % 2 == 0 ? 1 : 2, block);
  } else if (mode == "pause") {
    say_pid();
    pause_forever();
  } else if (mode == "stubborn") {
    ::signal(SIGTERM, SIG_IGN);
    say_pid();
    pause_forever();
  } else if (mode == "daemon-and-pause") {
    start_daemon();
    say_pid();
    pause_forever();
  } else if (mode == "daemon-and-exit") {
    start_daemon();
    // Its "pid" line comes after the exit or before; both are fine.
  } else if (mode == "child-and-pause") {
    if (::fork() == 0) {
      say_pid();
      pause_forever();
    }
    say_pid();
    pause_forever();
  } else if (mode == "burn-in-child") {
    if (::fork() == 0) {
      burn(number);
      return 0;
    }
    ::wait(nullptr);
  } else if (mode == "descriptors") {
    return list_descriptors();
  } else if (mode == "ignored-signals") {
    return list_ignored_signals();
  } else if (mode == "echo") {
    std::string block(4096, ' ');
    for (;;) {
      const ssize_t got = ::read(0, block.data(), block.size());
      if (got <= 0) break;
      say(1, std::string_view(block).substr(0, static_cast<std::size_t>(got)));
    }
  } else if (mode == "surroundings") {
    return show_surroundings();
  } else if (mode == "kill-self") {
    ::raise(static_cast<int>(number));
  } else if (mode == "exit") {
    return static_cast<int>(number);
  }
  return 0;
}
