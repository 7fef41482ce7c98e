// What macOS has of os/file.h. Untested: written without such a machine.
#include "os/file.h"
#include "os/system_error.h"

#include <sys/stat.h>

#include <cerrno>

namespace picchio::os {

Result<FileIdentity> file_identity(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(errno_kind(errno), "cannot look at '{}': {}", path, errno_text(errno));
  }
  return FileIdentity{.size = info.st_size,
                      .mtime_ns = std::int64_t{info.st_mtimespec.tv_sec} * 1'000'000'000 +
                                  info.st_mtimespec.tv_nsec,
                      .inode = info.st_ino,
                      .device = static_cast<std::uint64_t>(info.st_dev)};
}

// mincore() counts pages of this mapping there, not those of the unified buffer cache.
std::optional<double> cached_fraction(const std::string& /*path*/) { return std::nullopt; }

Result<> drop_cache(const std::string& path) {
  return fail(ErrorKind::unsupported,
              "cannot drop '{}' from the file cache: macOS has no such call", path);
}

}  // namespace picchio::os
