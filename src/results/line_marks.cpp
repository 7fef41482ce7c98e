#include "results/line_marks.h"

#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace picchio::results {
namespace {

constexpr std::string_view kModel = "model";
constexpr std::string_view kFooter = "-- picchio";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

enum class MarkKind { time, name, number, sign };

struct Mark {
  MarkKind kind = MarkKind::sign;
  std::string sign;         // a run of one character; behind a number at most one
  std::int64_t number = 0;  // the last that was taken off
};

/// "[10:22:13]", "2026-11-30T10:22:13Z": digits on both sides of a colon, and nothing that is a
/// word.
std::size_t time_length(std::string_view line) {
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos) return 0;
  const std::string_view word = line.substr(0, end);
  if (word.find_first_not_of("0123456789:.,-/+TZ[]()") != std::string_view::npos) return 0;
  for (std::size_t i = 1; i + 1 < word.size(); ++i) {
    if (word[i] == ':' && is_digit(word[i - 1]) && is_digit(word[i + 1])) return end;
  }
  return 0;
}

/// "<bob>"
std::size_t name_length(std::string_view line) {
  constexpr std::size_t kLongest = 40;
  if (!line.starts_with('<')) return 0;
  const std::size_t end = line.substr(0, kLongest).find('>');
  const bool alone = end != std::string_view::npos && line.substr(end + 1).starts_with(' ');
  return alone && end > 1 ? end + 1 : 0;
}

/// "12:", "12)", "12" and a blank.
std::size_t number_length(std::string_view line, Mark& out) {
  std::string_view rest = line;
  if (rest.empty() || !is_digit(rest.front())) return 0;
  constexpr std::int64_t kLargest = 1'000'000'000;
  const auto number = take_int(rest);
  if (!number || *number > kLargest) return 0;
  constexpr std::string_view kBehind = ":.)|-";
  out.sign.clear();
  if (!rest.empty() && kBehind.contains(rest.front())) {
    out.sign = rest.front();
    rest.remove_prefix(1);
    if (out.sign == "." && !rest.starts_with(' ')) return 0;  // "1.8 s"
  } else if (!rest.starts_with(' ')) {
    return 0;
  }
  out.number = *number;
  return line.size() - rest.size();
}

std::size_t sign_length(std::string_view line) {
  constexpr std::string_view kSigns = "+-*#!%;/>~=_?";
  if (line.empty() || !kSigns.contains(line.front())) return 0;
  const std::size_t end = line.find_first_not_of(line.front());
  return end == std::string_view::npos ? line.size() : end;
}

/// Takes a mark off the front.
std::optional<Mark> take_mark(std::string_view& line) {
  Mark out;
  std::size_t length = 0;
  if ((length = time_length(line)) > 0) {
    out.kind = MarkKind::time;
  } else if ((length = name_length(line)) > 0) {
    out.kind = MarkKind::name;
  } else if ((length = number_length(line, out)) > 0) {
    out.kind = MarkKind::number;
  } else if ((length = sign_length(line)) > 0) {
    out.sign = line.substr(0, length);
  } else {
    return std::nullopt;
  }
  line = trim(line.substr(length));
  return out;
}

/// The marks before "model"; absent: the word does not come next.
std::optional<std::vector<Mark>> marks_of(std::string_view line) {
  constexpr std::size_t kMostMarks = 6;
  std::vector<Mark> out;
  while (!line.starts_with(kModel)) {
    auto mark = out.size() < kMostMarks ? take_mark(line) : std::nullopt;
    if (!mark) return std::nullopt;
    out.push_back(*std::move(mark));
  }
  line.remove_prefix(kModel.size());
  const bool emphasis = !out.empty() && out.back().kind == MarkKind::sign;
  if (emphasis && line.starts_with(out.back().sign)) line.remove_prefix(out.back().sign.size());
  const bool word = line.starts_with(' ') || line.starts_with('|');
  return word && line.contains(", ") ? std::optional(out) : std::nullopt;
}

/// Takes `mark` off the front of another line, where it is there. A number that does not go on from
/// the last one is the line's own.
void take_off(std::string_view& line, Mark& mark) {
  constexpr std::int64_t kMostLeftOut = 4;
  std::string_view rest = line;
  const auto found = take_mark(rest);
  if (!found || found->kind != mark.kind || found->sign != mark.sign) return;
  if (mark.kind == MarkKind::sign && line.starts_with(kFooter)) return;
  if (mark.kind == MarkKind::number) {
    if (found->number <= mark.number || found->number > mark.number + kMostLeftOut) return;
    mark.number = found->number;
  }
  line = rest;
}

/// "+", of a diff, stands right before the line's own first character: that may be one as well.
void take_diff_sign(std::string_view& line, const Mark& mark) {
  if (mark.kind == MarkKind::sign && mark.sign.size() == 1 && line.starts_with(mark.sign) &&
      !line.starts_with(kFooter)) {
    line = trim(line.substr(1));
  }
}

/// Backslashes before what Markdown would take for a mark.
std::string without_escapes(std::string_view line) {
  constexpr std::string_view kEscaped = "\\`*_{}[]()<>#+-.!|~";
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && (i + 1 == line.size() || kEscaped.contains(line[i + 1]));
    if (escape && ++i == line.size()) break;
    out += line[i];
  }
  return out;
}

/// A regular expression among the arguments has backslashes too; none before these.
bool has_escapes(std::string_view line) { return line.contains("\\~") || line.contains("\\_"); }

std::string without_cells(std::string_view line) {
  std::string out(line);
  for (std::size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at + 1)) {
    const bool left = at == 0 || out[at - 1] == ' ';
    if (left || at + 1 == out.size() || out[at + 1] == ' ') out[at] = ' ';
  }
  return out;
}

}  // namespace

bool begins_block(std::string_view line) {
  constexpr std::size_t kFarthest = 100;
  if (!line.substr(0, kFarthest).contains(kModel)) return false;
  return marks_of(line).has_value();
}

std::vector<std::string> bare_lines(const std::vector<std::string>& lines, std::size_t begin,
                                    std::size_t most) {
  std::vector<std::string> out;
  std::vector<Mark> marks = marks_of(lines[begin]).value_or(std::vector<Mark>());
  for (Mark& mark : marks) --mark.number;  // the first line goes on from the one before
  bool escapes = false;
  for (std::size_t i = begin; i < lines.size() && out.size() < most; ++i) {
    if (i > begin && begins_block(lines[i])) break;
    std::string_view line = lines[i];
    for (Mark& mark : marks) {
      const std::size_t before = line.size();
      take_off(line, mark);
      if (line.size() == before) take_diff_sign(line, mark);
      const bool emphasis = mark.sign.starts_with('*') || mark.sign.starts_with('_');
      if (emphasis && line.ends_with(mark.sign)) line.remove_suffix(mark.sign.size());
    }
    if (line.ends_with('\\')) line.remove_suffix(1);  // ends a line of Markdown
    escapes = escapes || has_escapes(line);
    out.emplace_back(trim(line));
  }
  if (escapes) std::ranges::transform(out, out.begin(), without_escapes);
  std::string_view behind = out.front();
  take_prefix(behind, kModel);
  if (trim(behind).starts_with('|')) std::ranges::transform(out, out.begin(), without_cells);
  for (std::string& line : out) line = trim(line);
  return out;
}

std::string without_emphasis(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("__") || rest.starts_with("~~")) {
      ++i;
    } else if (text[i] != '*' && text[i] != '`') {
      out += text[i];
    }
  }
  while (out.ends_with('_') || out.ends_with(' ')) out.pop_back();
  return out;
}

std::string without_odd_front(std::string_view line) {
  const std::string plain = without_emphasis(line);
  std::string_view rest = plain;
  while (!rest.empty() && !is_letter(rest.front()) && !is_digit(rest.front())) {
    // ":white_check_mark:"
    constexpr std::size_t kLongest = 40;
    const std::size_t end =
        rest.front() == ':' ? rest.substr(0, kLongest).find_first_of(": ", 1) : 0;
    const bool emoji = end != std::string_view::npos && end > 1 && rest[end] == ':';
    rest.remove_prefix(emoji ? end + 1 : 1);
  }
  return std::string(rest);
}

}  // namespace picchio::results
