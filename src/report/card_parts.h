// What every writer of cards shares; private to report/.
#pragma once

#include "evidence/card.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::report {

/// "5,627,044,256".
[[nodiscard]] std::string grouped(std::int64_t number);

/// "5.02"; "n/a" when absent.
[[nodiscard]] std::string bits_label(std::optional<double> bits);

/// Sums over some tensors of a card.
struct Tally {
  std::int64_t tensors = 0;
  std::int64_t elements = 0;  // of those with a price
  std::int64_t bytes = 0;
  std::int64_t unpriced = 0;
  std::map<std::string, std::int64_t> types;  // how many tensors of each

  void add(const CardTensor& tensor);
  [[nodiscard]] std::optional<double> bits() const;
  /// "q4_K 48, q6_K 16", the most frequent first.
  [[nodiscard]] std::string mix() const;
};

/// Bytes of all files; absent when one of them does not tell.
[[nodiscard]] std::optional<std::int64_t> file_bytes(const Card& card);

/// "by its blob's name", "the server's word"; empty for a digest made from the bytes.
[[nodiscard]] std::string_view digest_caveat(DigestSource source);
[[nodiscard]] std::string_view name_of(DigestSource source);  // "computed", for JSON

/// "3.35 of 30.53 B": both in the unit of the larger.
[[nodiscard]] std::string active_label(std::int64_t active, std::int64_t all);

}  // namespace picchio::report
