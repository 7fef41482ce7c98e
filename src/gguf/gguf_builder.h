// For tests: writes GGUF files into memory, good ones and, where a test says so, bad ones.
#pragma once

#include "gguf/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// `value` in `sizeof(T)` little-endian bytes.
template <class T>
std::string raw(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFFU);
  }
  return bytes;
}

inline std::string raw_text(std::string_view text) {
  return raw<std::uint64_t>(text.size()) + std::string(text);
}

/// Any pair: the key, the value's type, the value's bytes as they shall stand in the file.
inline std::string raw_pair(std::string_view key, std::uint32_t type, std::string_view value) {
  return raw_text(key) + raw(type) + std::string(value);
}
inline std::string pair_u32(std::string_view key, std::uint32_t value) {
  return raw_pair(key, 4, raw(value));
}
inline std::string pair_text(std::string_view key, std::string_view value) {
  return raw_pair(key, 8, raw_text(value));
}
inline std::string pair_texts(std::string_view key, std::size_t count, std::string_view element) {
  std::string value = raw<std::uint32_t>(8) + raw<std::uint64_t>(count);
  for (std::size_t i = 0; i < count; ++i) value += raw_text(element);
  return raw_pair(key, 9, value);
}

// The empty braces below are for g++: without them it warns of members that a test leaves out.
// NOLINTBEGIN(readability-redundant-member-init)
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

  // NOLINTEND(readability-redundant-member-init)

  [[nodiscard]] std::uint64_t padded(std::uint64_t size) const {
    return (size + alignment - 1) / alignment * alignment;
  }

  /// Up to and with the padding before the data section.
  [[nodiscard]] std::string header() const {
    std::string out = "GGUF" + raw(version) + raw(tensor_count.value_or(tensors.size())) +
                      raw(pair_count.value_or(pairs.size()));
    for (const std::string& pair : pairs) out += pair;
    std::uint64_t offset = 0;
    for (const TensorRow& row : tensors) {
      out += raw_text(row.name) + raw(static_cast<std::uint32_t>(row.ne.size()));
      for (const std::uint64_t ne : row.ne) out += raw(ne);
      out += raw(row.type) + raw(row.offset.value_or(offset));
      offset += padded(bytes_of(row));
    }
    out.resize(padded(out.size()), '\0');
    return out;
  }

  /// Of the data, without padding behind the last tensor.
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
