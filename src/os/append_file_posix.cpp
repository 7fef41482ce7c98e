#include "os/append_file.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace picchio::os {
namespace {

Result<UniqueFd> open_to_append(const std::string& path) {
  // What is no file would be waited for: a FIFO without a reader.
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!fd) return fail(errno_kind(errno), "cannot write '{}': {}", path, errno_text(errno));
  return fd;
}

}  // namespace

Result<AppendFile> AppendFile::open(std::string path) {
  Result<UniqueFd> fd = open_to_append(path);
  if (!fd) return std::unexpected(fd.error());
  return AppendFile(std::move(path), *std::move(fd));
}

Result<> AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd_.get(), bytes.data(), bytes.size());
    if (wrote > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote == 0 || errno != EINTR) {
      return fail(errno_kind(errno), "cannot write '{}': {}", path_, errno_text(errno));
    }
  }
  return {};
}

Result<> AppendFile::reopen() {
  Result<UniqueFd> fd = open_to_append(path_);
  if (!fd) return std::unexpected(fd.error());
  fd_ = *std::move(fd);
  return {};
}

}  // namespace picchio::os
