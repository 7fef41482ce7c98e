// The one way bytes of a model file are read: little-endian, and never past the end.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace picchio::gguf {

/// Walks over `bytes`, which must outlive the reader and every text it returned. A read that would
/// pass the end gives nullopt (or false) and moves nothing.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, std::size_t position = 0)
      : bytes_(bytes), position_(position) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }

  template <std::integral T>
  std::optional<T> number() {
    using Bits = std::make_unsigned_t<T>;
    if (left() < sizeof(T)) return std::nullopt;
    Bits bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {  // by shifts: the same on a big-endian host
      bits = static_cast<Bits>((std::uint64_t{bits} << 8U) |
                               std::to_integer<std::uint64_t>(bytes_[position_ + i]));
    }
    position_ += sizeof(T);
    return static_cast<T>(bits);
  }

  std::optional<std::string_view> text(std::uint64_t length) {
    if (length > left()) return std::nullopt;
    const auto count = static_cast<std::size_t>(length);
    const std::string_view all{reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    position_ += count;
    return all.substr(position_ - count, count);
  }

  [[nodiscard]] bool skip(std::uint64_t count) {
    if (count > left()) return false;
    position_ += static_cast<std::size_t>(count);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace picchio::gguf
