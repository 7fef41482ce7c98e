#include "results/number.h"

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace picchio::results {
namespace {

struct UnitWord {
  std::string_view word;  // blanks, dots and "per" left out: see unit_of()
  NumberUnit unit;
};

constexpr std::array kUnits = {
    UnitWord{"tok/s", NumberUnit::tokens_per_second},
    UnitWord{"toks/s", NumberUnit::tokens_per_second},
    UnitWord{"tk/s", NumberUnit::tokens_per_second},
    UnitWord{"t/s", NumberUnit::tokens_per_second},
    UnitWord{"token/s", NumberUnit::tokens_per_second},
    UnitWord{"tokens/s", NumberUnit::tokens_per_second},
    UnitWord{"tps", NumberUnit::tokens_per_second},
    UnitWord{"it/s", NumberUnit::tokens_per_second},
    UnitWord{"step/s", NumberUnit::tokens_per_second},
    UnitWord{"steps/s", NumberUnit::tokens_per_second},
    UnitWord{"tok/min", NumberUnit::tokens_per_minute},
    UnitWord{"token/min", NumberUnit::tokens_per_minute},
    UnitWord{"tokens/min", NumberUnit::tokens_per_minute},
    UnitWord{"t/min", NumberUnit::tokens_per_minute},
    UnitWord{"tpm", NumberUnit::tokens_per_minute},
    UnitWord{"ms", NumberUnit::ms_per_token},
    UnitWord{"ms/t", NumberUnit::ms_per_token},
    UnitWord{"ms/tok", NumberUnit::ms_per_token},
    UnitWord{"ms/token", NumberUnit::ms_per_token},
    UnitWord{"s/t", NumberUnit::seconds_per_token},
    UnitWord{"s/tok", NumberUnit::seconds_per_token},
    UnitWord{"s/token", NumberUnit::seconds_per_token},
};

struct Shorter {
  std::string_view found;
  std::string_view meant;
};

// In this order: the longer word first.
constexpr std::array kShorter = {
    Shorter{" per ", "/"},  Shorter{" a ", "/"},      Shorter{"milliseconds", "ms"},
    Shorter{"msec", "ms"},  Shorter{"minute", "min"}, Shorter{"seconds", "s"},
    Shorter{"second", "s"}, Shorter{"sec", "s"},      Shorter{" ", ""}};

std::optional<NumberUnit> unit_of(std::string_view text) {
  std::string word = lower(trim(text));
  for (const Shorter& row : kShorter) {
    for (std::size_t at = word.find(row.found); at != std::string::npos;
         at = word.find(row.found, at + row.meant.size())) {
      word.replace(at, row.found.size(), row.meant);
    }
  }
  const auto found = std::ranges::find(kUnits, word, &UnitWord::word);
  return found == kUnits.end() ? std::nullopt : std::optional(found->unit);
}

/// The digits of `text` up to its unit, thousands' commas gone; how many stood behind the point.
std::string take_figure(std::string_view& text, int& decimals) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789.,"), text.size());
  std::string_view all = text.substr(0, end);
  text.remove_prefix(end);
  constexpr std::size_t kGroup = 3;
  const std::size_t comma = all.find(',');
  const std::size_t point = all.find('.');
  std::string out(all);
  // "1,234" and "1,234.5", but "0,123" is a decimal comma.
  const std::size_t whole_end = std::min(point, all.size());
  const bool thousands = comma != std::string_view::npos && comma > 0 && all[0] != '0' &&
                         comma < whole_end && (whole_end - comma) % (kGroup + 1) == 0;
  if (thousands) std::erase(out, ',');
  const std::size_t mark = out.find_first_of(".,");
  decimals = mark == std::string::npos ? 0 : static_cast<int>(out.size() - mark - 1);
  return out;
}

double to_rate(double value, NumberUnit unit) {
  constexpr double kMilli = 1000;
  constexpr double kMinute = 60;
  switch (unit) {
    case NumberUnit::tokens_per_second:
      return value;
    case NumberUnit::tokens_per_minute:
      return value / kMinute;
    case NumberUnit::ms_per_token:
      return kMilli / value;
    case NumberUnit::seconds_per_token:
      return 1 / value;
  }
  return value;
}

/// One cell of a run against what the number reads as in one unit.
std::optional<NumberMatch> match(const QuotedNumber& number, NumberUnit unit,
                                 const LaneFigures& figures, LaneRow row) {
  const Rate& cell = row == LaneRow::warm ? figures.warm : figures.cold;
  if (!cell.value || cell.abstains || *cell.value <= 0) return std::nullopt;
  NumberMatch out;
  out.row = row;
  out.unit = unit;
  out.rate = *cell.value;
  if (row == LaneRow::warm && figures.low && figures.high) {
    out.low = figures.low;
    out.high = figures.high;
  }
  // A block prints one digit behind the point, and the number its own.
  constexpr double kBlockRounding = 0.05;
  const double a = to_rate(number.value + number.half_digit, unit);
  const double b = to_rate(std::max(number.value - number.half_digit, number.value / 2), unit);
  const double least = std::min(a, b) - kBlockRounding;
  const double most = std::max(a, b) + kBlockRounding;
  out.within = most >= out.low.value_or(out.rate) && least <= out.high.value_or(out.rate);
  if (!out.within) out.off = to_rate(number.value, unit) / out.rate - 1;
  const double limit = number.unit || unit == NumberUnit::tokens_per_second ? kResembles : kHits;
  if (std::abs(out.off) > limit) return std::nullopt;
  return out;
}

std::string span_text(const NumberMatch& match) {
  std::string out = match.low && match.high
                        ? fmt::format("{:.1f} to {:.1f}", *match.low, *match.high)
                        : fmt::format("{:.1f}", match.rate);
  if (match.unit != NumberUnit::tokens_per_second) out += " tok/s";
  return out;
}

/// "decode, warm (44.9 to 45.6)", "prefill, cold (500.0), 12% below it".
std::string match_text(const NumberMatch& match, bool unit_was_told) {
  constexpr double kPercent = 100;
  std::string out;
  if (!unit_was_told && match.unit != NumberUnit::tokens_per_second) {
    out = fmt::format("{} of ", name_of(match.unit));
  }
  out += fmt::format("{}, {} ({})", name_of(match.lane),
                     match.row == LaneRow::warm ? "warm" : "cold", span_text(match));
  if (!match.within) {
    const double off = kPercent * std::abs(match.off);
    out += fmt::format(", {} {} it", off < 1 ? "less than 1%" : fmt::format("{:.0f}%", off),
                       match.off < 0 ? "below" : "above");
  }
  return out;
}

std::string run_text(const NumberedRun& run) {
  std::string out = run.figures.model.empty() ? "a model without a name" : plain(run.figures.model);
  if (!run.when.empty()) out += " on " + plain(run.when);
  return out;
}

/// "prefill 588.0, decode 21.1, wallclock 15.5".
std::string lanes_text(const RunFigures& run) {
  std::string out;
  for (const Lane lane : kLanes) {
    const LaneFigures& figures = run.lane(lane);
    const Rate& rate = run.only_one_pass ? figures.cold : figures.warm;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(lane),
                       rate.abstains ? "abstain"
                       : rate.value  ? fmt::format("{:.1f}", *rate.value)
                                     : "n/a");
  }
  return out;
}

std::string number_word(const QuotedNumber& number) {
  return number.unit ? fmt::format("{:.10g} {}", number.value, name_of(*number.unit))
                     : fmt::format("{:.10g}", number.value);
}

}  // namespace

std::string_view name_of(NumberUnit unit) {
  switch (unit) {
    case NumberUnit::tokens_per_second:
      return "tok/s";
    case NumberUnit::tokens_per_minute:
      return "tokens per minute";
    case NumberUnit::ms_per_token:
      return "ms per token";
    case NumberUnit::seconds_per_token:
      return "seconds per token";
  }
  return "tok/s";
}

Result<QuotedNumber> read_number(std::string_view text) {
  std::string_view rest = trim(text);
  while (!rest.empty() && (rest.front() == '~' || rest.front() == '+')) rest.remove_prefix(1);
  rest = trim(rest);
  int decimals = 0;
  const bool begins = !rest.empty() && (is_digit(rest.front()) || rest.front() == '.');
  const auto value = begins ? parse_double(take_figure(rest, decimals)) : std::optional<double>();
  QuotedNumber out;
  if (value) out.unit = unit_of(rest);
  if (!value || !std::isfinite(*value) || *value <= 0 || (!out.unit && !trim(rest).empty())) {
    return with_hint(fail(ErrorKind::unsupported, "'{}' is no rate", plain(text)),
                     "a number above zero, with or without its unit: 45.2, '22 ms/token'");
  }
  constexpr double kTen = 10;
  out.value = *value;
  out.half_digit = std::pow(kTen, -decimals) / 2;
  return out;
}

std::vector<NumberMatch> explain_number(const QuotedNumber& number,
                                        std::span<const NumberedRun> runs) {
  std::vector<NumberUnit> units = {NumberUnit::tokens_per_second, NumberUnit::ms_per_token,
                                   NumberUnit::tokens_per_minute};
  if (number.unit) units = {*number.unit};
  std::vector<NumberMatch> out;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const Lane lane : kLanes) {
      for (const LaneRow row : {LaneRow::warm, LaneRow::cold}) {
        // The first unit that fits, so that a rate is not called a time as well.
        for (const NumberUnit unit : units) {
          // Nobody quotes another lane so, and many numbers would fit by chance.
          const bool guessed = !number.unit && unit != NumberUnit::tokens_per_second;
          if (guessed && lane != Lane::decode) continue;
          auto found = match(number, unit, runs[run].figures.lane(lane), row);
          if (!found) continue;
          found->run = run;
          found->lane = lane;
          out.push_back(*found);
          break;
        }
      }
    }
  }
  std::ranges::stable_sort(out, {}, [](const NumberMatch& match) {
    return std::tuple(!match.within, std::abs(match.off), match.run);
  });
  return out;
}

std::string number_text(const QuotedNumber& number, std::span<const NumberedRun> runs,
                        const std::vector<NumberMatch>& matches) {
  if (runs.empty()) return fmt::format("{}: nothing was measured here\n", number_word(number));
  if (matches.empty()) {
    const std::string of = run_text(runs.front());
    return runs.size() == 1
               ? fmt::format("{} matches no lane of {}: {}\n", number_word(number), of,
                             lanes_text(runs.front().figures))
               : fmt::format("{} matches none of the {} newest runs here; the last: {}, of {}\n",
                             number_word(number), runs.size(), lanes_text(runs.front().figures),
                             of);
  }
  const NumberMatch& best = matches.front();
  std::string readings = match_text(best, number.unit.has_value());
  for (std::size_t i = 1; i < matches.size(); ++i) {
    // What is as good: of the same run, and a figure that is only near never beside one that hits.
    if (matches[i].run == best.run && matches[i].within == best.within) {
      readings += " or " + match_text(matches[i], number.unit.has_value());
    }
  }
  return fmt::format("{} {} {}, of {}\n", number_word(number),
                     best.within ? "reads like" : "resembles", readings, run_text(runs[best.run]));
}

std::string number_json(const QuotedNumber& number, std::span<const NumberedRun> runs,
                        const std::vector<NumberMatch>& matches) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  Json out;
  out["schema"] = "picchio.explain.v1";
  out["version"] = PICCHIO_VERSION;
  out["number"] = number.value;
  out["unit"] = number.unit ? Json(name_of(*number.unit)) : Json(nullptr);
  out["sentence"] = std::string(trim(number_text(number, runs, matches)));
  out["matches"] = Json::array();
  for (const NumberMatch& match : matches) {
    const NumberedRun& run = runs[match.run];
    out["matches"].push_back({{"model", text_or_null(run.figures.model)},
                              {"when", text_or_null(run.when)},
                              {"lane", name_of(match.lane)},
                              {"row", match.row == LaneRow::warm ? "warm" : "cold"},
                              {"read_as", name_of(match.unit)},
                              {"rate", match.rate},
                              {"low", or_null(match.low)},
                              {"high", or_null(match.high)},
                              {"within", match.within},
                              {"off_fraction", match.off}});
  }
  constexpr int kIndent = 2;
  return out.dump(kIndent, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace picchio::results
