#include "results/quantities.h"

#include "base/text.h"

#include <algorithm>
#include <array>

namespace picchio::results {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
constexpr std::array kBytes = {Unit{"B", 1}, Unit{"KiB", kKi}, Unit{"MiB", kKi* kKi},
                               Unit{"GiB", kKi* kKi* kKi}, Unit{"TiB", kKi* kKi* kKi* kKi}};
constexpr std::array kCounts = {Unit{"K", 1e3}, Unit{"M", 1e6}, Unit{"B", 1e9}, Unit{"T", 1e12}};

std::optional<double> factor_of(std::string_view name, const auto& units) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? std::nullopt : std::optional(found->factor);
}

std::optional<double> quantity(std::string_view text, const auto& units) {
  std::string_view rest = text;
  const auto value = take_double(rest);
  const auto factor = factor_of(trim(rest), units);
  return value && factor ? std::optional(*value * *factor) : std::nullopt;
}

}  // namespace

std::optional<double> unit_bytes(std::string_view unit) { return factor_of(unit, kBytes); }

std::optional<double> bytes_in(std::string_view text) {
  const auto bytes = quantity(text, kBytes);
  return bytes && *bytes >= 0 ? bytes : std::nullopt;
}

std::optional<double> parameters_in(std::string_view text) {
  const auto count = quantity(text, kCounts);
  return count && *count > 0 ? count : std::nullopt;
}

}  // namespace picchio::results
