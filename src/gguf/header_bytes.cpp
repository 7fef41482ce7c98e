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

HeaderBytes::HeaderBytes(std::span<const std::byte> bytes, std::optional<std::int64_t> file_bytes)
    : bytes_(header_part(bytes, file_bytes.value_or(kMaxHeaderBytes))),
      file_bytes_(file_bytes),
      in_(bytes_) {
  if (file_bytes_) file_bytes_ = std::max<std::int64_t>(*file_bytes_, 0);
}

std::uint64_t HeaderBytes::file_bytes_after(std::size_t position) const {
  const auto all = static_cast<std::uint64_t>(file_bytes_.value_or(kMaxHeaderBytes));
  return all > position ? all - position : 0;
}

void HeaderBytes::set_layout(Layout layout) {
  layout_ = layout;
  in_.set_order(layout.order);
}

Result<std::int64_t> HeaderBytes::length(const Part& part) {
  if (layout_.wide) return number<std::int64_t>(part);
  return number<std::uint32_t>(part);
}

Result<> HeaderBytes::skip(const Part& part, std::uint64_t count) {
  const std::size_t at = position();
  if (!in_.skip(count)) return past_end(part, at, count);
  return {};
}

Result<std::string_view> HeaderBytes::text(const Part& part) {
  const std::size_t at = position();
  std::optional<std::uint64_t> length;
  if (layout_.wide) {
    length = in_.number<std::uint64_t>();
  } else {
    length = in_.number<std::uint32_t>();
  }
  if (!length) return past_end(part, at, layout_.length_bytes());
  if (*length > kMaxTextBytes) {
    return fail(ErrorKind::malformed, "{} at byte {} claims a text of {} bytes", part.in_words(),
                at, *length);
  }
  const auto value = in_.text(*length);
  if (!value) return past_end(part, at, layout_.length_bytes() + *length);
  return *value;
}

Result<> HeaderBytes::skip_texts(const Part& part, std::uint64_t count) {
  const std::uint64_t passed =
      layout_.wide ? in_.hop_texts<std::uint64_t>(count) : in_.hop_texts<std::uint32_t>(count);
  if (passed == count) return {};
  expect_behind((count - passed - 1) * layout_.length_bytes());
  const auto broken = text(part);  // says what is wrong with it
  return broken ? Result<>{} : std::unexpected(broken.error());
}

std::unexpected<Error> HeaderBytes::past_end(const Part& part, std::size_t at, std::uint64_t need) {
  const std::uint64_t left = file_bytes_after(at);
  if (file_bytes_ && need > left) {
    return with_hint(
        fail(ErrorKind::malformed,
             "the file ends inside its header: {} at byte {} takes {} bytes, {} are left",
             part.in_words(), at, need, left),
        kDownloadHint);
  }
  // None of the three can be large enough to wrap around: each was held against the file's size.
  constexpr auto kMost = static_cast<std::uint64_t>(kMaxHeaderBytes);
  if (need > kMost || at + need + behind_ > kMost) {
    return fail(ErrorKind::malformed, "{} at byte {} passes the {} that a header may take",
                part.in_words(), at, format_bytes(kMaxHeaderBytes));
  }
  needed_ = static_cast<std::int64_t>(at + need + behind_);
  return fail(ErrorKind::failed, "{} at byte {} goes on behind the {} bytes that were read",
              part.in_words(), at, bytes_.size());
}

}  // namespace picchio::gguf
