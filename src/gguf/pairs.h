// The key/value pairs of a header: passed over once, and looked up by key.
#pragma once

#include "base/result.h"
#include "gguf/header_bytes.h"
#include "gguf/hyper_parameters.h"
#include "gguf/objections.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// Views into the header's bytes, which must outlive it. A lookup gives nullopt for an absent key
/// and an error for one of another type; its `if_` sister gives nullopt for both.
class Pairs {
 public:
  static Result<Pairs> read(HeaderBytes& in, std::int64_t count, Objections& objections);

  /// Of any width. The engine insists on one width a key, which says nothing more here.
  [[nodiscard]] Result<std::optional<std::int64_t>> integer(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> if_integer(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::uint32_t>> exact_u32(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::string_view>> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::string_view> if_text(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> boolean(std::string_view key) const;
  /// How many elements an array has.
  [[nodiscard]] std::optional<std::int64_t> if_array_size(std::string_view key) const;
  /// An integer or a bool, or an array of them with its first `most` elements kept. Not `given` for
  /// an absent key; nullopt for a value that is neither, and for numbers that are negative, or 2^63
  /// or more.
  [[nodiscard]] std::optional<PerLayer> if_per_layer(std::string_view key, std::size_t most) const;
  /// The texts of an array of texts with ", " between them; what follows the first `most` bytes may
  /// be missing.
  [[nodiscard]] std::optional<std::string> if_texts(std::string_view key, std::size_t most) const;
  /// Where the value of a key stands in the file; 0 for an absent one.
  [[nodiscard]] std::size_t position_of(std::string_view key) const;
  /// In the order of their bytes.
  [[nodiscard]] std::vector<std::string_view> keys_that_begin(std::string_view with) const;

 private:
  struct Value {
    std::uint32_t type = 0;
    std::size_t position = 0;
  };

  Pairs(std::span<const std::byte> bytes, Layout layout) : bytes_(bytes), layout_(layout) {}

  Result<> read_pair(HeaderBytes& in, std::uint64_t number, Objections& objections);
  [[nodiscard]] ByteReader reader_at(const Value& value) const {
    return ByteReader(bytes_, value.position, layout_.order);
  }
  [[nodiscard]] std::uint64_t length(ByteReader& in) const;
  /// nullopt for a type that is no integer.
  [[nodiscard]] static std::optional<std::int64_t> read_integer(ByteReader& in, std::uint32_t type);
  static std::unexpected<Error> wrong_type(std::string_view key, const Value& value,
                                           std::string_view wanted);

  std::span<const std::byte> bytes_;
  Layout layout_;
  std::map<std::string_view, Value> values_;  // ordered: no choice of keys makes it slow
};

}  // namespace picchio::gguf
