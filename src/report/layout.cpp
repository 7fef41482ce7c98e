#include "report/layout.h"

#include "base/text.h"

#include <algorithm>

namespace picchio::report {
namespace {

bool ends_sentence(char c) { return c == '.' || c == '!' || c == '?'; }

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  std::string line;
  bool empty = true;  // the line holds nothing but its indent
  const auto flush = [&] {
    lines.push_back(line);
    line.assign(indent, ' ');
    empty = true;
  };
  for (std::string_view word : split_blanks(text)) {
    // A word that no line can hold starts where it stands: on a line of its own it would leave the
    // label before it ("WHY:") alone.
    const bool oversized = indent + word.size() > width;
    if (!empty && line.size() + 1 + (oversized ? 1 : word.size()) > width) flush();
    if (!empty) line += ' ';
    while (line.size() + word.size() > width) {
      const std::size_t room = std::max<std::size_t>(width - line.size(), 1);
      line += word.substr(0, room);
      word.remove_prefix(room);
      flush();
    }
    line += word;
    empty = empty && word.empty();
  }
  if (!empty) lines.push_back(line);
  return lines;
}

std::vector<std::string> wrap_to(std::string_view text, std::size_t width, std::size_t indent,
                                 std::size_t rows) {
  std::vector<std::string> lines = wrap(text, width, indent);
  if (lines.size() <= rows) return lines;
  lines.resize(rows);
  if (rows == 0) return lines;
  std::string& last = lines.back();
  if (last.size() + 2 > width) last.resize(width - 2);
  while (last.ends_with(' ') || last.ends_with(',') || last.ends_with('.')) last.pop_back();
  last += "..";
  return lines;
}

std::vector<std::string> sentences(std::string_view text) {
  std::vector<std::string> out;
  text = trim(text);
  std::size_t start = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (!ends_sentence(text[i]) || text[i + 1] != ' ') continue;
    out.emplace_back(text.substr(start, i + 1 - start));
    start = i + 2;
  }
  if (start < text.size()) out.emplace_back(text.substr(start));
  return out;
}

std::string as_sentence(std::string_view text) {
  std::string out(trim(text));
  if (out.empty()) return out;
  // A word that is not prose ("n_ctx was cut", "-ngl 0 ...") keeps its spelling.
  const std::string_view first_word = split_blanks(out).front();
  const bool prose = std::ranges::all_of(first_word, [](char c) { return c >= 'a' && c <= 'z'; });
  if (prose) out.front() = static_cast<char>(out.front() - 'a' + 'A');
  if (!ends_sentence(out.back())) out += '.';
  return out;
}

}  // namespace picchio::report
