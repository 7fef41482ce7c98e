#include "evidence/sweep.h"

namespace picchio {

std::string_view name_of(TierEnd end) {
  switch (end) {
    case TierEnd::measured:
      return "measured";
    case TierEnd::earlier:
      return "from the history";
    case TierEnd::skipped:
      return "skipped";
    case TierEnd::failed:
      return "failed";
    case TierEnd::not_tried:
      break;
  }
  return "not tried";
}

std::optional<std::int64_t> whole_bytes(const std::optional<double>& bytes) {
  constexpr double kMost = 1e18;
  // So written, a NaN is none either.
  const bool is_size = bytes && *bytes >= 0 && *bytes < kMost;
  return is_size ? std::optional(static_cast<std::int64_t>(*bytes)) : std::nullopt;
}

}  // namespace picchio
