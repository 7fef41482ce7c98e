#include "gguf/header_bytes.h"

#include "base/text.h"
#include "gguf/header.h"

#include <algorithm>

namespace picchio::gguf {
namespace {

constexpr std::uint64_t kMaxTextBytes = 1U << 30U;  // llama.cpp's bound

std::span<const std::byte> header_part(std::span<const std::byte> bytes, std::int64_t file_bytes) {
  const std::int64_t usable = std::clamp<std::int64_t>(file_bytes, 0, kMaxHeaderBytes);
  return bytes.first(std::min(bytes.size(), static_cast<std::size_t>(usable)));
}

}  // namespace

std::string shown(std::string_view name) { return fit(plain(name.substr(0, 256)), 64); }

std::string Part::in_words() const {
  return name.empty() ? fmt::format("{} {}", words, number)
                      : fmt::format("{} '{}'", words, shown(name));
}

HeaderBytes::HeaderBytes(std::span<const std::byte> bytes, std::int64_t file_bytes)
    : bytes_(header_part(bytes, file_bytes)),
      file_bytes_(std::max<std::int64_t>(file_bytes, 0)),
      in_(bytes_) {}

std::uint64_t HeaderBytes::file_bytes_after(std::size_t position) const {
  const auto all = static_cast<std::uint64_t>(file_bytes_);
  return all > position ? all - position : 0;
}

Result<> HeaderBytes::skip(const Part& part, std::uint64_t count) {
  const std::size_t at = position();
  if (!in_.skip(count)) return past_end(part, at, count);
  return {};
}

Result<std::string_view> HeaderBytes::text(const Part& part) {
  const std::size_t at = position();
  const auto length = in_.number<std::uint64_t>();
  if (!length) return past_end(part, at, 8);
  if (*length > kMaxTextBytes) {
    return fail(ErrorKind::malformed, "{} at byte {} claims a text of {} bytes", part.in_words(),
                at, *length);
  }
  const auto value = in_.text(*length);
  if (!value) return past_end(part, at, 8 + *length);
  return *value;
}

std::unexpected<Error> HeaderBytes::past_end(const Part& part, std::size_t at,
                                             std::uint64_t need) const {
  const std::uint64_t left = file_bytes_after(at);
  if (need > left) {
    return with_hint(
        fail(ErrorKind::malformed,
             "the file ends inside its header: {} at byte {} takes {} bytes, {} are left",
             part.in_words(), at, need, left),
        kDownloadHint);
  }
  if (bytes_.size() >= static_cast<std::size_t>(kMaxHeaderBytes)) {
    return fail(ErrorKind::malformed, "{} at byte {} passes the {} that a header may take",
                part.in_words(), at, format_bytes(kMaxHeaderBytes));
  }
  return fail(ErrorKind::failed, "{} at byte {} goes on behind the {} bytes that were read",
              part.in_words(), at, bytes_.size());
}

}  // namespace picchio::gguf
