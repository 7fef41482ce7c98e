#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <version>

namespace picchio {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view without_leading_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// `number` holds digits, at most one '.', and perhaps an exponent: nothing that a locale could bend
// except the point itself, which strtod reads by LC_NUMERIC; picchio never calls setlocale.
std::optional<double> to_double(std::string_view number) {
#ifdef __cpp_lib_to_chars
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
#else  // libc++ before 20 has no from_chars for double
  const std::string copy(number);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
#endif
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

// Length of the number at the front of `text`: sign, digits, one point or comma with digits after
// it, exponent. A comma counts as the point only when a digit follows.
std::size_t number_length(std::string_view text) {
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t first = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  bool digits = i > first;
  if (i + 1 < text.size() && (text[i] == '.' || text[i] == ',') && is_digit(text[i + 1])) {
    ++i;
    while (i < text.size() && is_digit(text[i])) ++i;
    digits = true;
  }
  if (!digits) return 0;
  if (i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t e = i + 1;
    if (text[e] == '-' || text[e] == '+') ++e;
    const std::size_t exponent = e;
    while (e < text.size() && is_digit(text[e])) ++e;
    if (e > exponent) i = e;
  }
  return i;
}

std::size_t escape_length(std::string_view text) {  // text[0] is ESC
  if (text.size() < 2) return 1;
  if (text[1] == '[') {
    std::size_t i = 2;
    while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    return std::min(i + 1, text.size());
  }
  if (text[1] == ']') {
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '\\') return i + 2;
    }
    return text.size();
  }
  return 2;
}

}  // namespace

std::string_view trim(std::string_view text) {
  text = without_leading_blanks(text);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string with_stop(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string_view> between(std::string_view text, std::string_view open,
                                        std::string_view close) {
  const std::size_t start = text.find(open);
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start + open.size());
  const std::size_t end = text.find(close);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

std::optional<double> take_double(std::string_view& text) {
  const std::string_view rest = without_leading_blanks(text);
  const std::size_t length = number_length(rest);
  if (length == 0) return std::nullopt;
  std::string number(rest.substr(0, length));
  std::ranges::replace(number, ',', '.');
  const std::string_view unsigned_number =
      number.starts_with('+') ? std::string_view(number).substr(1) : std::string_view(number);
  const auto value = to_double(unsigned_number);
  if (value) text = rest.substr(length);
  return value;
}

std::optional<std::int64_t> take_int(std::string_view& text) {
  const std::string_view rest = without_leading_blanks(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  text = trim(text);
  const auto value = take_double(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  text = trim(text);
  const auto value = take_int(text);
  return text.empty() ? value : std::nullopt;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::vector<std::string_view> split_blanks(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    text = without_leading_blanks(text);
    if (text.empty()) return out;
    std::size_t end = 0;
    while (end < text.size() && !is_blank(text[end])) ++end;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string without_ansi(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text.front() == '\x1b') {
      text.remove_prefix(escape_length(text));
    } else {
      const std::size_t next = text.find('\x1b');
      out += text.substr(0, next);
      text.remove_prefix(next == std::string_view::npos ? text.size() : next);
    }
  }
  return out;
}

std::string plain_line(std::string_view line) {
  std::string out;
  for (const char c : without_ansi(line)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // the '?' stands for the whole UTF-8 character
    if (is_blank(c)) {
      out += ' ';
    } else {
      out += byte >= 0x20 && byte < 0x7F ? c : '?';
    }
  }
  return out;
}

std::string plain(std::string_view text) {
  std::string out = plain_line(text);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  const auto doubled = std::ranges::unique(out, both_blank);
  out.erase(doubled.begin(), doubled.end());
  return std::string(trim(out));
}

std::string plain_markdown(std::string_view text) {
  constexpr std::string_view kActive = "\\|`*<>[]&";
  std::string out;
  for (const char c : plain(text)) {
    if (kActive.contains(c)) out += '\\';
    out += c;
  }
  return out;
}

std::string fit(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, width));
  return std::string(trim(text.substr(0, width - 2))) + "..";
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string format_parameters(double parameters) {
  if (!std::isfinite(parameters) || parameters <= 0) return "";
  if (parameters >= 1e15) return fmt::format("{:.2e}", parameters);
  if (parameters >= 1e12) return fmt::format("{:.2f} T", parameters / 1e12);
  if (parameters >= 1e9) return fmt::format("{:.2f} B", parameters / 1e9);
  if (parameters >= 1e6) return fmt::format("{:.2f} M", parameters / 1e6);
  return fmt::format("{:.2f} K", parameters / 1e3);
}

std::string format_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  const double magnitude = std::abs(value);
  constexpr double kKiB = 1024;
  constexpr double kMiB = kKiB * 1024;
  constexpr double kGiB = kMiB * 1024;
  if (magnitude >= kGiB) return fmt::format("{:.2f} GiB", value / kGiB);
  if (magnitude >= kMiB) return fmt::format("{:.1f} MiB", value / kMiB);
  if (magnitude >= kKiB) return fmt::format("{:.0f} KiB", value / kKiB);
  return fmt::format("{} B", bytes);
}

}  // namespace picchio
