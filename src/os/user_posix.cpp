// What belongs to the user and the terminal; the declarations are in os/file.h.
#include "os/file.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

extern "C" char** environ;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): POSIX's

namespace picchio::os {
namespace {

// HOME wins, as it does in every shell; a service may have none, and the user database has one.
std::optional<std::string> home_dir() {
  if (const auto home = env("HOME"); home && home->starts_with('/')) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr || found->pw_dir == nullptr || found->pw_dir[0] != '/') {
    return std::nullopt;
  }
  return std::string(found->pw_dir);
}

}  // namespace

std::optional<std::string> env(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    out.emplace_back(*entry);
  }
  return out;
}

Result<std::string> cache_dir() {
  if (const auto base = env("XDG_CACHE_HOME"); base && base->starts_with('/')) {
    return *base + "/picchio";
  }
  const auto home = home_dir();
  if (!home) return fail(ErrorKind::not_found, "cannot find a cache folder: HOME is not set");
  return *home + "/.cache/picchio";
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

std::optional<int> terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

Result<> write_all(int fd, std::string_view bytes, std::string_view name) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) {
      pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
      (void)::poll(&wait, 1, -1);  // whatever it says, the next write tells
      continue;
    }
    if (wrote < 0 && errno == EPIPE) {
      return fail(ErrorKind::interrupted, "cannot write '{}': the reader closed it", name);
    }
    const int error = wrote < 0 ? errno : ENOSPC;
    return fail(errno_kind(error), "cannot write '{}': {}", name, errno_text(error));
  }
  return {};
}

}  // namespace picchio::os
