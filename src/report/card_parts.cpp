#include "report/card_parts.h"

#include "base/text.h"
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace picchio::report {

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string bits_label(std::optional<double> bits) {
  return bits ? fmt::format("{:.2f}", *bits) : "n/a";
}

void Tally::add(const CardTensor& tensor) {
  ++tensors;
  ++types[tensor.type];
  if (!tensor.bytes) {
    ++unpriced;
    return;
  }
  elements += tensor.elements;
  bytes += *tensor.bytes;
}

std::optional<double> Tally::bits() const {
  if (elements <= 0) return std::nullopt;
  return 8 * static_cast<double>(bytes) / static_cast<double>(elements);
}

std::string Tally::mix() const {
  std::vector<std::pair<std::string, std::int64_t>> rows(types.begin(), types.end());
  std::ranges::stable_sort(rows, std::greater(), &std::pair<std::string, std::int64_t>::second);
  std::string out;
  for (const auto& [type, count] : rows) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", plain(type), count);
  }
  return out;
}

std::optional<std::int64_t> file_bytes(const Card& card) {
  std::int64_t sum = 0;
  for (const CardFile& file : card.files) {
    // A server may claim any size.
    if (!file.bytes || *file.bytes < 0 || __builtin_add_overflow(sum, *file.bytes, &sum)) {
      return std::nullopt;
    }
  }
  return sum;
}

std::string_view digest_caveat(DigestSource source) {
  switch (source) {
    case DigestSource::computed:
    case DigestSource::remembered:
      return "";
    case DigestSource::blob_name:
      return "its blob's name, not recomputed";
    case DigestSource::server:
      return "the server's word";
  }
  return "";
}

std::string_view name_of(DigestSource source) {
  switch (source) {
    case DigestSource::computed:
      return "computed";
    case DigestSource::remembered:
      return "remembered";
    case DigestSource::blob_name:
      return "blob_name";
    case DigestSource::server:
      return "server";
  }
  return "computed";
}

std::string active_label(std::int64_t active, std::int64_t all) {
  const std::string whole = format_parameters(static_cast<double>(all));
  const std::string used = format_parameters(static_cast<double>(active));
  // "3.35 B of 30.53 B" when the units differ, one unit when they agree.
  const std::string unit = whole.substr(whole.find(' ') + 1);
  if (used.ends_with(" " + unit)) {
    return fmt::format("{} of {}", used.substr(0, used.find(' ')), whole);
  }
  return fmt::format("{} of {}", used, whole);
}

}  // namespace picchio::report
