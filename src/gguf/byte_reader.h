// The one way bytes of a model file are read: in the file's byte order, and never past the end.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace picchio::gguf {

/// The number of type T whose bytes stand at `at`, all sizeof(T) of them readable.
template <std::integral T>
[[nodiscard]] T load(const std::byte* at, std::endian order) {
  std::make_unsigned_t<T> bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return static_cast<T>(order == std::endian::native ? bits : std::byteswap(bits));
}

/// Walks over `bytes`, which must outlive the reader and every text it returned. A read that would
/// pass the end gives nullopt (or false) and moves nothing.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, std::size_t position = 0,
                      std::endian order = std::endian::little)
      : bytes_(bytes), position_(position), order_(order) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }
  void set_order(std::endian order) { order_ = order; }

  template <std::integral T>
  std::optional<T> number() {
    if (left() < sizeof(T)) return std::nullopt;
    const T value = load<T>(bytes_.data() + position_, order_);
    position_ += sizeof(T);
    return value;
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

  /// Passes over up to `count` texts, each a `Length` and as many bytes, and stops before the first
  /// that would pass the end. Gives how many it passed. A vocabulary has a quarter of a million of
  /// them: this loop is what reading a header costs.
  template <std::unsigned_integral Length>
  std::uint64_t hop_texts(std::uint64_t count) {
    const std::byte* const data = bytes_.data();
    const std::size_t end = bytes_.size();
    std::size_t at = position_;
    std::uint64_t passed = 0;
    for (; passed < count && end - at >= sizeof(Length); ++passed) {
      const std::uint64_t length = load<Length>(data + at, order_);
      if (length > end - at - sizeof(Length)) break;
      at += sizeof(Length) + static_cast<std::size_t>(length);
    }
    position_ = at;
    return passed;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::endian order_ = std::endian::little;
};

}  // namespace picchio::gguf
