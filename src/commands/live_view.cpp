#include "commands/live_view.h"

#include "commands/terminal.h"

#include <fmt/format.h>

namespace picchio {
namespace {

constexpr std::string_view kToLineEnd = "\x1b[K";
constexpr std::string_view kToScreenEnd = "\x1b[J";

std::string back_up(std::size_t lines) {
  return lines == 0 ? std::string("\r") : fmt::format("\r\x1b[{}A", lines);
}

}  // namespace

void LiveView::draw(const std::vector<std::string>& lines, int columns) {
  std::string out = back_up(drawn_);
  // A terminal that became narrower has wrapped the old lines: nobody knows where they begin.
  if (drawn_ > 0 && columns != columns_) out = "\x1b[2J\x1b[H";
  columns_ = columns;
  for (const std::string& line : lines) out += fmt::format("{}{}\n", line, kToLineEnd);
  out += kToScreenEnd;
  drawn_ = lines.size();
  print_stderr(out);  // at once: in parts it would flicker
}

void LiveView::clear() {
  if (drawn_ == 0) return;
  print_stderr(back_up(drawn_) + std::string(kToScreenEnd));
  drawn_ = 0;
}

}  // namespace picchio
