// What only Linux has of os/file.h: the page cache, and the name of a time stamp.
#include "os/fd.h"
#include "os/file.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace picchio::os {
namespace {

// Bounds the answer's size: one byte per page, 256 KiB for 1 GiB of 4 KiB pages.
constexpr std::int64_t kWindow = std::int64_t{1} << 30;

// can_do_mincore() in mm/mincore.c: to others the kernel reports every page as resident.
bool mincore_tells(const std::string& path, const struct stat& info) {
  return info.st_uid == ::geteuid() || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

std::optional<std::int64_t> resident_pages(int fd, std::int64_t offset, std::int64_t length,
                                           std::int64_t page) {
  const auto size = static_cast<std::size_t>(length);
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, offset);
  if (start == MAP_FAILED) return std::nullopt;
  std::vector<unsigned char> pages(static_cast<std::size_t>((length + page - 1) / page));
  const bool told = ::mincore(start, size, pages.data()) == 0;
  ::munmap(start, size);
  if (!told) return std::nullopt;
  return std::ranges::count_if(pages, [](unsigned char flags) { return (flags & 1U) != 0; });
}

}  // namespace

Result<FileIdentity> file_identity(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(errno_kind(errno), "cannot look at '{}': {}", path, errno_text(errno));
  }
  return FileIdentity{
      .size = info.st_size,
      .mtime_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
      .inode = info.st_ino,
      .device = static_cast<std::uint64_t>(info.st_dev)};
}

std::optional<double> cached_fraction(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0 ||
      !mincore_tells(path, info)) {
    return std::nullopt;
  }
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t size = info.st_size;
  std::int64_t resident = 0;
  for (std::int64_t offset = 0; offset < size; offset += kWindow) {
    const auto count = resident_pages(fd.get(), offset, std::min(kWindow, size - offset), page);
    if (!count) return std::nullopt;
    resident += *count;
  }
  const std::int64_t pages = (size + page - 1) / page;
  return static_cast<double>(resident) / static_cast<double>(pages);
}

Result<> drop_cache(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  // Dirty pages are not dropped, and a freshly converted model has many.
  (void)::fdatasync(fd.get());  // a file system that cannot flush still drops its clean pages
  const int error = ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (error != 0) {
    return fail(errno_kind(error), "cannot drop '{}' from the page cache: {}", path,
                errno_text(error));
  }
  return {};
}

}  // namespace picchio::os
