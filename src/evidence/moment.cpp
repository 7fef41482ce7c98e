#include "evidence/moment.h"

#include <fmt/format.h>

#include <cstdint>

namespace picchio {
namespace {

using std::chrono::days;
using std::chrono::hh_mm_ss;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr int kFirstYear = 2000;
constexpr int kLastYear = 2199;

/// Takes exactly `digits` of them off the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// A point and up to nine digits; what is finer than microseconds is cut off.
std::optional<std::chrono::microseconds> take_fraction(std::string_view& text) {
  constexpr std::size_t kMostDigits = 9;
  if (!take(text, '.')) return std::chrono::microseconds(0);
  std::int64_t nanoseconds = 0;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits) {
    if (digits == kMostDigits) return std::nullopt;
    nanoseconds = nanoseconds * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (digits == 0) return std::nullopt;
  for (; digits < kMostDigits; ++digits) nanoseconds *= 10;
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::nanoseconds(nanoseconds));
}

}  // namespace

std::string to_rfc3339(Moment at) {
  const auto day = std::chrono::floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

std::optional<Moment> moment_from_rfc3339(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, 'T')) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction || text != "Z") return std::nullopt;
  const year_month_day date(std::chrono::year(*year),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day)));
  const bool in_range = *year >= kFirstYear && *year <= kLastYear && date.ok() && *hour < 24 &&
                        *minute < 60 && *second < 60;
  if (!in_range) return std::nullopt;
  return Moment(sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + *fraction;
}

}  // namespace picchio
