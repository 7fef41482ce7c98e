#include "os/fd.h"
#include "os/file_head.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

namespace picchio::os {
namespace {

/// A mapped range. The handler of SIGBUS reads it: hence atomics, and hence for the process.
struct Guard {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> cut = false;
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::array<Guard, 8> guards;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// The kernel sends SIGBUS for a look behind the end of a mapped file. A page of zeros is put there
/// and the look goes on; its reader asks was_cut() before it believes anything.
void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const int saved = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Guard& guard : guards) {
    if (at < guard.begin.load() || at >= guard.end.load()) continue;
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* const start = reinterpret_cast<void*>(at / page * page);
    const void* const put =
        ::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (put == MAP_FAILED) break;
    guard.cut.store(true);
    errno = saved;
    return;
  }
  // Somebody else's: it happens again, and ends the process as it would have.
  ::signal(signal, SIG_DFL);
  errno = saved;
}

bool catch_bus_errors() {
  static const bool caught = [] {
    (void)::sysconf(_SC_PAGESIZE);  // before a handler needs it
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  return caught;
}

Result<std::size_t> take_guard() {
  if (!catch_bus_errors()) return fail(ErrorKind::failed, "cannot catch SIGBUS");
  for (std::size_t i = 0; i < guards.size(); ++i) {
    if (!guards.at(i).taken.exchange(true)) return i;
  }
  return fail(ErrorKind::failed, "too many files are looked at");
}

void give_back(std::size_t place) {
  Guard& guard = guards.at(place);
  guard.end.store(0);
  guard.begin.store(0);
  guard.cut.store(false);
  guard.taken.store(false);
}

// O_NONBLOCK: opening a pipe that nobody writes to would wait for ever; regular files do not care.
Result<UniqueFd> open_regular(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    return fail(errno_kind(errno), "cannot look at '{}': {}", path, errno_text(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::unsupported, "'{}' is a directory, not a file", path);
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::unsupported, "'{}' is not a regular file", path);
  }
  if (info.st_size == 0) return fail(ErrorKind::malformed, "'{}' is empty", path);
  return fd;
}

}  // namespace

Result<FileHead> FileHead::open(const std::string& path) {
  const auto fd = open_regular(path);
  if (!fd) return std::unexpected(fd.error());
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0 || info.st_size <= 0) {
    return fail(ErrorKind::failed, "'{}' changed while it was opened", path);
  }
  const auto guard = take_guard();
  if (!guard) return std::unexpected(guard.error());
  const std::size_t size = std::min(static_cast<std::size_t>(info.st_size), kMostBytes);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd->get(), 0);
  if (start == MAP_FAILED) {
    const int error = errno;
    give_back(*guard);
    return fail(errno_kind(error), "cannot map '{}': {}", path, errno_text(error));
  }
  guards.at(*guard).begin.store(reinterpret_cast<std::uintptr_t>(start));
  guards.at(*guard).end.store(reinterpret_cast<std::uintptr_t>(start) + size);
  return FileHead({static_cast<const std::byte*>(start), size}, info.st_size, *guard);
}

bool FileHead::was_cut() const { return !bytes_.empty() && guards.at(guard_).cut.load(); }

FileHead::FileHead(FileHead&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      file_bytes_(other.file_bytes_),
      guard_(other.guard_) {}

FileHead& FileHead::operator=(FileHead&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(file_bytes_, other.file_bytes_);
  std::swap(guard_, other.guard_);
  return *this;
}

FileHead::~FileHead() {
  if (bytes_.empty()) return;
  // First the guard: an address that is given to others is none of ours.
  give_back(guard_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // munmap wants it non-const
}

}  // namespace picchio::os
