// Sizes and counts as engines and people print them. Pure; the whole of `text` is one.
#pragma once

#include <optional>
#include <string_view>

namespace picchio::results {

inline constexpr double kGiB = 1024.0 * 1024 * 1024;

/// Bytes of a unit: "B", "KiB" to "TiB".
[[nodiscard]] std::optional<double> unit_bytes(std::string_view unit);

/// "5.28 GiB"; never negative.
[[nodiscard]] std::optional<double> bytes_in(std::string_view text);

/// "8.95 B", "270 M": above zero, with its unit.
[[nodiscard]] std::optional<double> parameters_in(std::string_view text);

}  // namespace picchio::results
