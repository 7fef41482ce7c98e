// What the readers of a header's parts share: the position, texts, and the words for what went
// wrong.
#pragma once

#include "base/result.h"
#include "gguf/byte_reader.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// How a file writes its numbers.
struct Layout {
  std::endian order = std::endian::little;
  bool wide = true;  // counts, lengths and dimensions in 64 bits; in version 1 they have 32

  [[nodiscard]] std::uint64_t length_bytes() const { return wide ? 8 : 4; }
  /// The least that a pair takes: a key of one byte, type, a value of one byte.
  [[nodiscard]] std::uint64_t least_pair_bytes() const { return length_bytes() + 1 + 4 + 1; }
  /// The least that a row of the tensor table takes: name length, dimension count, type, offset.
  [[nodiscard]] std::uint64_t least_tensor_bytes() const { return length_bytes() + 4 + 4 + 8; }
};

/// The bytes of a header with the size of the file that they begin. Both reads and positions are
/// those of ByteReader.
class HeaderBytes {
 public:
  /// `bytes` is cut to the file's size, where that is known, and to kMaxHeaderBytes.
  HeaderBytes(std::span<const std::byte> bytes, std::optional<std::int64_t> file_bytes);

  [[nodiscard]] std::size_t position() const { return in_.position(); }
  [[nodiscard]] std::span<const std::byte> all() const { return bytes_; }
  [[nodiscard]] std::optional<std::int64_t> file_bytes() const { return file_bytes_; }
  /// How many bytes the file can have from `position` on, read or not: without a size, how many
  /// its header can.
  [[nodiscard]] std::uint64_t file_bytes_after(std::size_t position) const;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  void set_layout(Layout layout);

  /// What the header must still have behind the part that is being read. Only for `needed`.
  void expect_behind(std::uint64_t bytes) { behind_ += bytes; }
  void expect_less_behind(std::uint64_t bytes) { behind_ -= bytes; }
  /// After an error of kind `failed`: what the whole header takes at least. Otherwise 0.
  [[nodiscard]] std::int64_t needed() const { return needed_; }

  template <std::integral T>
  Result<T> number(const Part& part) {
    const std::size_t at = position();
    const auto value = in_.number<T>();
    if (!value) return past_end(part, at, sizeof(T));
    return *value;
  }
  /// A count, a length or a dimension. One of 2^63 or more is negative.
  Result<std::int64_t> length(const Part& part);
  Result<> skip(const Part& part, std::uint64_t count);
  /// A string of the format: its length, then as many bytes. A view into the header.
  Result<std::string_view> text(const Part& part);
  /// Passes over `count` strings.
  Result<> skip_texts(const Part& part, std::uint64_t count);

 private:
  /// `part`, which begins `at`, takes `need` bytes, and they are not there.
  [[nodiscard]] std::unexpected<Error> past_end(const Part& part, std::size_t at,
                                                std::uint64_t need);

  std::span<const std::byte> bytes_;
  std::optional<std::int64_t> file_bytes_;
  ByteReader in_;
  Layout layout_;
  std::uint64_t behind_ = 0;
  std::int64_t needed_ = 0;
};

}  // namespace picchio::gguf
