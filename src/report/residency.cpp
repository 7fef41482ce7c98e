#include "report/residency.h"

#include "base/text.h"
#include "report/block.h"
#include "report/json_values.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <string_view>

namespace picchio {
namespace {

constexpr std::size_t kValueColumn = 9;

}  // namespace

std::string residency_text(const ResidencyReport& report) {
  const std::string text = fmt::format("{}. {}", name_of(report.shape), plain(report.sentence));
  std::string out;
  std::string_view label = "resident";
  for (const std::string& line : report::wrap(text, kBlockColumns - kValueColumn, 0)) {
    out += fmt::format("{:<{}}{}\n", label, kValueColumn, line);
    label = "";
  }
  return out;
}

nlohmann::ordered_json residency_json(const ResidencyReport& report) {
  using report::Json;
  using report::value_or_null;
  const bool told = !(report.shape == ResidencyShape::too_few && report.high == 0);
  const auto bytes = [&](std::int64_t value) { return told ? Json(value) : Json(nullptr); };
  return {{"shape", name_of(report.shape)},
          {"sentence", plain(report.sentence)},
          {"weight_bytes", value_or_null(report.weight_bytes)},
          {"first_bytes", bytes(report.first)},
          {"low_bytes", bytes(report.low)},
          {"high_bytes", bytes(report.high)},
          {"last_bytes", bytes(report.last)},
          {"decode_at_high", value_or_null(report.decode_at_high)},
          {"decode_at_low", value_or_null(report.decode_at_low)}};
}

}  // namespace picchio
