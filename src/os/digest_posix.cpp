#include "os/digest.h"
#include "os/fd.h"
#include "os/sha256.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace picchio::os {
namespace {

// Half of a second-level cache, so that what was copied out of the page cache is hashed while it
// is near. read() and not mmap(): a file that is cut meanwhile is then an end and not a SIGBUS.
constexpr std::size_t kPiece = std::size_t{256} << 10U;

Result<UniqueFd> open_to_hash(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(errno_kind(errno), "cannot open '{}': {}", path, errno_text(errno));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    return fail(errno_kind(errno), "cannot look at '{}': {}", path, errno_text(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::unsupported, "'{}' is not a regular file", path);
  }
#ifdef POSIX_FADV_SEQUENTIAL
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // a wish: doubles the readahead
#endif
  return fd;
}

}  // namespace

std::string as_hex(std::span<const unsigned char, kSha256Bytes> digest) {
  std::string out;
  for (const unsigned char byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

Result<std::string> sha256_of(std::span<const std::byte> bytes) {
  Result<Sha256> sum = Sha256::start();
  if (!sum) return std::unexpected(sum.error());
  if (const auto added = sum->add(bytes); !added) return std::unexpected(added.error());
  return sum->finish();
}

Result<std::string> sha256_of_file(const std::string& path, const DigestProgress& keep_going) {
  const Result<UniqueFd> fd = open_to_hash(path);
  if (!fd) return std::unexpected(fd.error());
  Result<Sha256> sum = Sha256::start();
  if (!sum) return std::unexpected(sum.error());
  std::vector<std::byte> piece(kPiece);
  std::int64_t done = 0;
  while (true) {
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_kind(errno), "cannot read '{}': {}", path, errno_text(errno));
    if (got == 0) return sum->finish();
    const auto read = std::span(piece).first(static_cast<std::size_t>(got));
    if (const auto added = sum->add(read); !added) return std::unexpected(added.error());
    done += got;
    if (keep_going && !keep_going(done)) {
      return fail(ErrorKind::interrupted, "interrupted while computing the SHA-256 of '{}'", path);
    }
  }
}

}  // namespace picchio::os
