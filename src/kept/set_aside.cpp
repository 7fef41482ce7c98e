#include "kept/set_aside.h"

#include "os/file.h"

#include <filesystem>
#include <system_error>

namespace picchio::kept {
namespace {

// A pipe in place of the file would block, a folder cannot be replaced.
Result<bool> present(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return false;
  if (!std::filesystem::is_regular_file(status)) {
    return fail(ErrorKind::unsupported, "'{}' is not a regular file", path);
  }
  return true;
}

}  // namespace

Result<std::optional<std::string>> read_cache_file(const std::string& path,
                                                   std::int64_t most_bytes) {
  const Result<bool> there = present(path);
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::nullopt;
  Result<std::string> text = os::read_file(path, most_bytes);
  if (!text) {
    // Over the cap: whatever it is, this program did not write it.
    const bool too_large = text.error().kind == ErrorKind::unsupported;
    return fail(too_large ? ErrorKind::malformed : text.error().kind, "{}", text.error().message);
  }
  return *std::move(text);
}

Result<> set_aside(const std::string& path, const Error& unreadable, std::string* note) {
  if (unreadable.kind != ErrorKind::malformed) return std::unexpected(unreadable);
  const std::string aside = path + ".unreadable";
  std::error_code error;
  std::filesystem::rename(path, aside, error);
  // Another picchio may have moved it meanwhile; what is there no longer needs no moving.
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ErrorKind::failed, "{}, and it cannot be moved aside: {}", unreadable.message,
                error.message());
  }
  if (note != nullptr) *note = fmt::format("{}; moved to '{}'", unreadable.message, aside);
  return {};
}

}  // namespace picchio::kept
