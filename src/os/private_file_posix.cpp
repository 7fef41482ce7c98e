#include "os/clock.h"
#include "os/private_file.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace picchio::os {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kOthers = 0077;
constexpr Micros kPause = std::chrono::milliseconds(10);

}  // namespace

Result<> make_private_file(const std::string& path) {
  const UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (made) {
    // An odd umask takes even the owner's rights.
    if (::fchmod(made.get(), kOwnerOnly) == 0) return {};
    return fail(errno_kind(errno), "cannot make '{}': {}", path, errno_text(errno));
  }
  const int error = errno;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(errno_kind(error), "cannot make '{}': {}", path, errno_text(error));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::unsupported, "'{}' is not a regular file", path);
  }
  if ((info.st_mode & kOthers) != 0) {
    (void)::chmod(path.c_str(), kOwnerOnly);  // whoever may not is not its owner
  }
  return {};
}

Result<UniqueFd> lock_folder(const std::string& path, Micros patience) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  const Micros last = monotonic_now() + patience;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(errno_kind(errno), "cannot lock '{}': {}", path, errno_text(errno));
    }
    if (monotonic_now() >= last) {
      return fail(ErrorKind::timed_out, "another process holds '{}'", path);
    }
    std::this_thread::sleep_for(kPause);
  }
  return fd;
}

}  // namespace picchio::os
