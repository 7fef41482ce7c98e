// Which lane of a measured run a quoted number resembles. Pure.
#pragma once

#include "base/result.h"
#include "evidence/figures.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::results {

/// What a number can be of: told by its unit, or tried where it has none.
enum class NumberUnit {
  tokens_per_second,  // also steps or iterations a second: without a draft a decode step is a token
  tokens_per_minute,
  ms_per_token,
  seconds_per_token,
};
[[nodiscard]] std::string_view name_of(NumberUnit unit);  // "tok/s", "ms per token"

struct QuotedNumber {
  double value = 0;
  double half_digit = 0;  // half a unit of the last digit that was written
  std::optional<NumberUnit> unit;
};

/// "45.2", "~45.2 tok/s", "45,2 t/s", "22 ms/token", "1,234.5", "1,234 tok/s" (thousands: three
/// digits behind a comma, no zero before it), "2700 tokens per minute". Above zero and finite.
[[nodiscard]] Result<QuotedNumber> read_number(std::string_view text);

/// A run to hold it against, the newest first.
struct NumberedRun {
  RunFigures figures;
  std::string when;  // "2026-07-22 (@12)"; empty: not told
};

enum class LaneRow { warm, cold };

struct NumberMatch {
  std::size_t run = 0;  // index into the runs
  Lane lane = Lane::decode;
  LaneRow row = LaneRow::warm;
  NumberUnit unit = NumberUnit::tokens_per_second;
  double rate = 0;             // what was measured, tokens per second
  std::optional<double> low;   // of the warm span
  std::optional<double> high;  // ditto
  bool within = false;         // inside the span, or the same figure as far as it is written
  double off = 0;              // relative to `rate`: +0.1 is a tenth above; 0 when within
};

/// Best first, one for each run, lane and row. Empty: it resembles nothing.
[[nodiscard]] std::vector<NumberMatch> explain_number(const QuotedNumber& number,
                                                      std::span<const NumberedRun> runs);

/// One sentence, ends in LF.
[[nodiscard]] std::string number_text(const QuotedNumber& number, std::span<const NumberedRun> runs,
                                      const std::vector<NumberMatch>& matches);

/// Schema "picchio.explain.v1".
[[nodiscard]] std::string number_json(const QuotedNumber& number, std::span<const NumberedRun> runs,
                                      const std::vector<NumberMatch>& matches);

// Lanes of one run lie at least 1.4 apart on every machine met so far, so within 30 % there is one
// that is meant. Two builds of one engine differ by about a tenth.
inline constexpr double kResembles = 0.30;
// A number without a unit is turned into a rate (1000/x, x/60) only where that hits decode.
inline constexpr double kHits = 0.03;

}  // namespace picchio::results
