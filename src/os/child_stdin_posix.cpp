#include "os/child.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace picchio::os {
namespace {

UniqueFd duplicate(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

Result<UniqueFd> open_null() {
  const UniqueFd low(::open("/dev/null", O_RDWR | O_CLOEXEC));
  UniqueFd null = low ? duplicate(low.get()) : UniqueFd();
  if (!null) return fail(errno_kind(errno), "cannot open '/dev/null': {}", errno_text(errno));
  return null;
}

Result<UniqueFd> open_stdin(const SpawnOptions& options) {
  if (options.stdin_text.empty()) return open_null();
  const auto failure = [] {
    return with_hint(
        fail(errno_kind(errno), "cannot write the program's input to a temporary file: {}",
             errno_text(errno)),
        "is the disk of /tmp full?");
  };
  struct Close {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  if (!file) return failure();
  const std::string& text = options.stdin_text;
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return failure();
  if (std::fflush(file.get()) != 0) return failure();
  UniqueFd in = duplicate(::fileno(file.get()));
  if (!in || ::lseek(in.get(), 0, SEEK_SET) != 0) return failure();
  return in;
}

}  // namespace picchio::os
