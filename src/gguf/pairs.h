// The key/value pairs of a header: passed over once, and looked up by key.
#pragma once

#include "base/result.h"
#include "gguf/header_bytes.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace picchio::gguf {

/// The least that a pair takes in a file: length and one byte of key, type, one byte of value.
inline constexpr std::uint64_t kLeastPairBytes = 8 + 1 + 4 + 1;

/// Views into the header's bytes, which must outlive it. A lookup gives nullopt for an absent key
/// and an error for one of another type.
class Pairs {
 public:
  static Result<Pairs> read(HeaderBytes& in, std::int64_t count);

  /// Of any width. The engine insists on one width a key, which says nothing more here.
  [[nodiscard]] Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::uint32_t>> exact_u32(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string_view>> text(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> boolean(std::string_view key) const;
  /// Where the value of a key stands in the file; 0 for an absent one.
  [[nodiscard]] std::size_t position_of(std::string_view key) const;

 private:
  struct Value {
    std::uint32_t type = 0;
    std::size_t position = 0;
  };

  explicit Pairs(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<> read_pair(HeaderBytes& in, std::uint64_t number);
  static std::unexpected<Error> wrong_type(std::string_view key, const Value& value,
                                           std::string_view wanted);

  std::span<const std::byte> bytes_;
  std::map<std::string_view, Value> values_;  // ordered: no choice of keys makes it slow
};

}  // namespace picchio::gguf
