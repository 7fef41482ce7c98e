#include "os/kept_file.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace picchio::os {

Result<KeptFile> KeptFile::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  return KeptFile(path, std::move(fd));
}

Result<std::string_view> KeptFile::read(std::span<char> space) const {
  // sysfs answers ENODEV once an attribute is removed; a file of an ordinary file system would go
  // on telling its last words, so it is asked for its name.
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0 || info.st_nlink == 0) {
    return fail(ErrorKind::not_found, "'{}' is gone", path_);
  }
  ssize_t size = -1;
  do {
    // At offset 0 both sysfs and seq_file make their text anew.
    size = ::pread(fd_.get(), space.data(), space.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return fail(errno_kind(errno), "cannot read '{}': {}", path_, errno_text(errno));
  if (size == 0) return fail(ErrorKind::malformed, "'{}' is empty", path_);
  return std::string_view(space.data(), static_cast<std::size_t>(size));
}

}  // namespace picchio::os
