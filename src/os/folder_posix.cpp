#include "os/folder.h"
#include "os/system_error.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace picchio::os {
namespace {

EntryKind kind_of(const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return EntryKind::file;
    case DT_DIR:
      return EntryKind::folder;
    case DT_LNK:
      return EntryKind::link;
    case DT_UNKNOWN:
      return EntryKind::unknown;
    default:
      return EntryKind::other;
  }
}

EntryStatus status_of(const struct stat& info) {
  const EntryKind kind = S_ISREG(info.st_mode)   ? EntryKind::file
                         : S_ISDIR(info.st_mode) ? EntryKind::folder
                                                 : EntryKind::other;
  return {kind, info.st_size, static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::uint64_t>(info.st_dev)};
}

}  // namespace

Result<Folder> Folder::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK));
  if (!fd) return fail(errno_kind(errno), "cannot list '{}': {}", path, errno_text(errno));
  return Folder(std::move(fd), path);
}

Result<> Folder::each(
    const std::function<bool(std::string_view name, EntryKind kind)>& take) const {
  // closedir() closes the descriptor it was given, and status() still wants ours.
  UniqueFd own(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(own ? ::fdopendir(own.get()) : nullptr,
                                                [](DIR* d) { return ::closedir(d); });
  if (!dir) return fail(errno_kind(errno), "cannot list '{}': {}", path_, errno_text(errno));
  (void)own.release();  // the stream's now
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !take(name, kind_of(*entry))) return {};
  }
  if (errno != 0) return fail(errno_kind(errno), "cannot list '{}': {}", path_, errno_text(errno));
  return {};
}

Result<EntryStatus> Folder::status(const std::string& name) const {
  struct stat info{};
  if (::fstatat(fd_.get(), name.c_str(), &info, 0) != 0) {
    return fail(errno_kind(errno), "cannot look at '{}/{}': {}", path_, name, errno_text(errno));
  }
  return status_of(info);
}

Result<EntryStatus> Folder::status() const {
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0) {
    return fail(errno_kind(errno), "cannot look at '{}': {}", path_, errno_text(errno));
  }
  return status_of(info);
}

}  // namespace picchio::os
