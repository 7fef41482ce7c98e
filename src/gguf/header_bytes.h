// What the readers of a header's parts share: the position, texts, and the words for what went
// wrong.
#pragma once

#include "base/result.h"
#include "gguf/byte_reader.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace picchio::gguf {

inline constexpr const char* kDownloadHint =
    "an unfinished download looks like this; compare the file's size with its source";

/// A name out of a file: printable, and short enough for a line.
[[nodiscard]] std::string shown(std::string_view name);

/// A part of the file, put in words only when an error needs them: "the shape of tensor 'x'", or
/// while its name is still unread "key 17".
struct Part {
  std::string_view words;
  std::string_view name;
  std::uint64_t number = 0;

  [[nodiscard]] std::string in_words() const;
};

/// The bytes of a header with the size of the file that they begin. Both reads and positions are
/// those of ByteReader.
class HeaderBytes {
 public:
  /// `bytes` is cut to the file's size and to kMaxHeaderBytes.
  HeaderBytes(std::span<const std::byte> bytes, std::int64_t file_bytes);

  [[nodiscard]] std::size_t position() const { return in_.position(); }
  [[nodiscard]] std::span<const std::byte> all() const { return bytes_; }
  [[nodiscard]] std::int64_t file_bytes() const { return file_bytes_; }
  /// How many bytes the file has from `position` on, read or not.
  [[nodiscard]] std::uint64_t file_bytes_after(std::size_t position) const;

  template <std::integral T>
  Result<T> number(const Part& part) {
    const std::size_t at = position();
    const auto value = in_.number<T>();
    if (!value) return past_end(part, at, sizeof(T));
    return *value;
  }
  Result<> skip(const Part& part, std::uint64_t count);
  /// A string of the format: u64 length, then as many bytes. A view into the header.
  Result<std::string_view> text(const Part& part);

 private:
  /// `part`, which begins `at`, takes `need` bytes, and they are not there.
  [[nodiscard]] std::unexpected<Error> past_end(const Part& part, std::size_t at,
                                                std::uint64_t need) const;

  std::span<const std::byte> bytes_;
  std::int64_t file_bytes_ = 0;
  ByteReader in_;
};

}  // namespace picchio::gguf
