#include "os/fd.h"
#include "os/file.h"
#include "os/file_in_parts.h"
#include "os/system_error.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>

namespace picchio::os {
namespace {

constexpr std::size_t kReadBlock = 65536;

Result<> flush_and_close(UniqueFd fd, const std::string& path) {
  if (::fsync(fd.get()) != 0) {
    return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));
  }
  // close() is where a network file system reports a full disk.
  if (::close(fd.release()) != 0 && errno != EINTR) {
    return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));
  }
  return {};
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A rename is on the disk once its folder is; some file systems cannot flush a folder, and then the
// file is still whole, so a failure here is no failure of the write.
void flush_dir(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (fd) (void)::fsync(fd.get());  // see above
}

using Fill = std::function<Result<>(const PartWriter& write)>;

Result<> write_directly(const std::string& path, const Fill& fill) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  return fill([&](std::string_view part) { return write_all(fd.get(), part, path); });
}

}  // namespace

Result<std::string> read_all(int fd, std::int64_t cap, std::string_view name) {
  std::string out;
  std::vector<char> block(kReadBlock);
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
      (void)::poll(&wait, 1, -1);  // whatever it says, the next read tells
      continue;
    }
    if (got < 0) return fail(errno_kind(errno), "cannot read '{}': {}", name, errno_text(errno));
    if (got == 0) return out;
    if (static_cast<std::int64_t>(out.size()) + got > cap) {
      return fail(ErrorKind::unsupported, "'{}' is larger than {} bytes", name, cap);
    }
    out.append(block.data(), static_cast<std::size_t>(got));
  }
}

Result<bool> read_on(int fd, std::string& bytes, std::size_t size, std::string_view name,
                     int stop_fd) {
  while (bytes.size() < size) {
    pollfd wait[2] = {{.fd = fd, .events = POLLIN, .revents = 0},
                      {.fd = stop_fd, .events = POLLIN, .revents = 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) {
      return fail(errno_kind(errno), "cannot wait for '{}': {}", name, errno_text(errno));
    }
    if (wait[1].revents != 0) return fail(ErrorKind::interrupted, "interrupted");
    if (wait[0].revents == 0) continue;
    const std::size_t had = bytes.size();
    bytes.resize(std::min(size, had + kReadBlock));
    const ssize_t got = ::read(fd, bytes.data() + had, bytes.size() - had);
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return false;
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return fail(errno_kind(errno), "cannot read '{}': {}", name, errno_text(errno));
    }
  }
  return true;
}

Result<std::string> read_file(const std::string& path, std::int64_t cap) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  struct stat info{};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::unsupported, "'{}' is a directory, not a file", path);
  }
  return read_all(fd.get(), cap, path);
}

Result<std::string> read_part(const std::string& path, std::int64_t offset, std::int64_t cap) {
  // Opening a pipe would wait for its writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return fail(ErrorKind::unsupported, "'{}' is no regular file", path);
  }
  const std::int64_t left =
      std::max<std::int64_t>(0, info.st_size - std::max<std::int64_t>(0, offset));
  std::string out(static_cast<std::size_t>(std::min(left, cap)), '\0');
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = ::pread(fd.get(), out.data() + filled, out.size() - filled,
                                static_cast<off_t>(offset) + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_kind(errno), "cannot read '{}': {}", path, errno_text(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  out.resize(filled);
  return out;
}

Result<> write_file_atomic(const std::string& path, std::string_view bytes, unsigned mode) {
  return write_file_in_parts(path, [&](const PartWriter& write) { return write(bytes); }, mode);
}

Result<> write_file_in_parts(const std::string& path, const Fill& fill, unsigned mode) {
  struct stat info{};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::unsupported, "cannot write '{}': it is a directory", path);
  }
  if (there && !S_ISREG(info.st_mode)) return write_directly(path, fill);

  const std::string target = there ? real_path(path).value_or(path) : path;
  std::string temporary = target + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));

  const auto write_and_rename = [&]() -> Result<> {
    if (::fchmod(fd.get(), static_cast<mode_t>(mode)) != 0) {
      return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));
    }
    const PartWriter write = [&](std::string_view part) { return write_all(fd.get(), part, path); };
    if (auto written = fill(write); !written) return written;
    if (auto flushed = flush_and_close(std::move(fd), path); !flushed) return flushed;
    if (::rename(temporary.c_str(), target.c_str()) != 0) {
      return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));
    }
    return {};
  };
  auto done = write_and_rename();
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  flush_dir(parent_of(target));
  return {};
}

Result<> make_dirs(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0) {
      const int error = errno;
      struct stat info{};
      // Parents of others' (read-only, automounted) are fine as long as they are there.
      const bool is_dir = ::stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
      if (!is_dir) {
        return fail(errno_kind(error), "cannot make the folder '{}': {}", part, errno_text(error));
      }
    }
    if (end == std::string::npos) return {};
  }
}

Result<std::vector<std::string>> list_dir(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()),
                                                [](DIR* d) { return ::closedir(d); });
  if (!dir) return fail(errno_kind(errno), "cannot list '{}': {}", path, errno_text(errno));
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail(errno_kind(errno), "cannot list '{}': {}", path, errno_text(errno));
  std::ranges::sort(names);
  return names;
}

Result<std::string> read_link(const std::string& path) {
  std::string target(256, '\0');
  for (;;) {
    const ssize_t got = ::readlink(path.c_str(), target.data(), target.size());
    if (got < 0)
      return fail(errno_kind(errno), "cannot read the link '{}': {}", path, errno_text(errno));
    if (static_cast<std::size_t>(got) < target.size()) {
      target.resize(static_cast<std::size_t>(got));
      return target;
    }
    target.resize(target.size() * 2);
  }
}

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
  if (!real) return std::nullopt;
  return std::string(real.get());
}

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

std::optional<std::string> find_on_path(const std::string& name) {
  const auto runnable = [](const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
  };
  if (name.empty()) return std::nullopt;
  if (name.contains('/')) return runnable(name) ? std::optional(name) : std::nullopt;
  const std::string path = env("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty entry means the current folder.
    std::string candidate = end == begin ? "." : path.substr(begin, end - begin);
    candidate += '/';
    candidate += name;
    if (runnable(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace picchio::os
