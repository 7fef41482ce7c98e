// For tests: writes GGUF files into memory, good ones and, where a test says so, bad ones.
#pragma once

#include "gguf/types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// How a file writes its numbers: little-endian with 64-bit lengths unless a test wants another.
struct Wire {
  bool big_endian = false;
  bool wide = true;  // false: version 1

  /// `value` in `sizeof(T)` bytes.
  template <class T>
  [[nodiscard]] std::string raw(T value) const {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFFU);
    }
    if (big_endian) std::ranges::reverse(bytes);
    return bytes;
  }
  [[nodiscard]] std::string length(std::uint64_t value) const {
    return wide ? raw(value) : raw(static_cast<std::uint32_t>(value));
  }
  [[nodiscard]] std::string text(std::string_view value) const {
    return length(value.size()) + std::string(value);
  }
  /// Any pair: the key, the value's type, the value's bytes as they shall stand in the file.
  [[nodiscard]] std::string pair(std::string_view key, std::uint32_t type,
                                 std::string_view value) const {
    return text(key) + raw(type) + std::string(value);
  }
  [[nodiscard]] std::string pair_u32(std::string_view key, std::uint32_t value) const {
    return pair(key, 4, raw(value));
  }
  [[nodiscard]] std::string pair_text(std::string_view key, std::string_view value) const {
    return pair(key, 8, text(value));
  }
  /// The value of an array; `elements` as they shall stand in the file.
  [[nodiscard]] std::string array(std::uint32_t type, std::uint64_t count,
                                  std::string_view elements = "") const {
    return raw(type) + length(count) + std::string(elements);
  }
  [[nodiscard]] std::string pair_texts(std::string_view key, std::size_t count,
                                       std::string_view element) const {
    std::string elements;
    for (std::size_t i = 0; i < count; ++i) elements += text(element);
    return pair(key, 9, array(8, count, elements));
  }
};

template <class T>
std::string raw(T value) {
  return Wire{}.raw(value);
}
inline std::string raw_text(std::string_view text) { return Wire{}.text(text); }
inline std::string raw_pair(std::string_view key, std::uint32_t type, std::string_view value) {
  return Wire{}.pair(key, type, value);
}
inline std::string pair_u32(std::string_view key, std::uint32_t value) {
  return Wire{}.pair_u32(key, value);
}
inline std::string pair_text(std::string_view key, std::string_view value) {
  return Wire{}.pair_text(key, value);
}
inline std::string pair_texts(std::string_view key, std::size_t count, std::string_view element) {
  return Wire{}.pair_texts(key, count, element);
}
inline std::string array_value(std::uint32_t type, std::uint64_t count,
                               std::string_view elements = "") {
  return Wire{}.array(type, count, elements);
}

// The empty braces below are for g++: without them it warns of members that a test leaves out.
struct TensorRow {
  std::string name;
  std::uint32_t type = 0;
  std::vector<std::uint64_t> ne{};
  std::optional<std::uint64_t> offset = std::nullopt;  // absent: packed as the engine wants it
};

struct GgufFile {
  std::uint32_t version = 3;
  std::vector<std::string> pairs{};
  std::vector<TensorRow> tensors{};
  std::uint64_t alignment = 32;  // for layout only; the key is a pair like any other
  std::optional<std::uint64_t> tensor_count = std::nullopt;  // absent: as many as there are
  std::optional<std::uint64_t> pair_count = std::nullopt;
  bool big_endian = false;

  [[nodiscard]] std::uint64_t padded(std::uint64_t size) const {
    return (size + alignment - 1) / alignment * alignment;
  }

  /// How its numbers stand in it: what its pairs are to be written with.
  [[nodiscard]] Wire wire() const { return {big_endian, version != 1}; }

  /// Up to and with the padding before the data section.
  [[nodiscard]] std::string header() const {
    const Wire out = wire();
    std::string bytes = "GGUF" + out.raw(version) +
                        out.length(tensor_count.value_or(tensors.size())) +
                        out.length(pair_count.value_or(pairs.size()));
    for (const std::string& pair : pairs) bytes += pair;
    std::uint64_t offset = 0;
    for (const TensorRow& row : tensors) {
      bytes += out.text(row.name) + out.raw(static_cast<std::uint32_t>(row.ne.size()));
      for (const std::uint64_t ne : row.ne) bytes += out.length(ne);
      bytes += out.raw(row.type) + out.raw(row.offset.value_or(offset));
      offset += padded(bytes_of(row));
    }
    bytes.resize(padded(bytes.size()), '\0');
    return bytes;
  }

  /// Of the data, without padding behind the last tensor; as packed, whatever offsets rows claim.
  [[nodiscard]] std::uint64_t data_bytes() const {
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    for (const TensorRow& row : tensors) {
      end = offset + bytes_of(row);
      offset += padded(bytes_of(row));
    }
    return end;
  }

  [[nodiscard]] std::string file() const {
    std::string out = header();
    out.resize(out.size() + data_bytes(), '\x55');
    return out;
  }

  static std::uint64_t bytes_of(const TensorRow& row) {
    const TensorType* type = tensor_type(row.type);
    if (type == nullptr || type->block == 0) return 0;
    std::uint64_t elements = 1;
    for (const std::uint64_t ne : row.ne) elements *= ne;
    return elements / static_cast<std::uint64_t>(type->block) *
           static_cast<std::uint64_t>(type->block_bytes);
  }
};

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace picchio::gguf
