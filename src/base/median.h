#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace picchio {

[[nodiscard]] inline std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace picchio
