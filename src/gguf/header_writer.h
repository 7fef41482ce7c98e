// A header in GGUF's form (version 3), of values that came in another: what a server lists of a
// model that it has. read_header() reads what is made here.
#pragma once

#include "base/result.h"
#include "gguf/card.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace picchio::gguf {

class HeaderWriter {
 public:
  void add(std::string_view key, bool value);
  /// In the narrowest of UINT32, INT32 and INT64, as files have counts.
  void add(std::string_view key, std::int64_t value);
  void add(std::string_view key, double value);
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, std::span<const std::int64_t> values);
  /// For an array of which only the length is known: so many empty texts.
  void add_texts(std::string_view key, std::int64_t count);

  /// Data follow each other in the order of the calls. Errors: a type that nobody knows the size
  /// of, a shape that no tensor has.
  [[nodiscard]] Result<> add_tensor(const TableRow& row);

  /// The header up to the data section.
  [[nodiscard]] std::string bytes() const;
  /// Of the file that it would be the header of.
  [[nodiscard]] std::int64_t file_bytes() const;

 private:
  void begin(std::string_view key, std::uint32_t type);

  std::string pairs_;
  std::string table_;
  std::uint64_t keys_ = 0;
  std::uint64_t tensors_ = 0;
  std::int64_t data_bytes_ = 0;
};

}  // namespace picchio::gguf
