#include "commands/model_menu.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace picchio {
namespace {

constexpr std::string_view kInverse = "\x1b[7m";
constexpr std::string_view kNormal = "\x1b[0m";
constexpr std::size_t kGap = 2;
constexpr std::size_t kMostFilter = 60;
// Below these a column says less than the room it takes.
constexpr std::size_t kLeastWhere = 8;
constexpr std::size_t kLeastName = 16;
constexpr std::size_t kGoodName = 40;

/// A model's name begins with the model and ends with its quantization: the middle goes.
std::string fit_both_ends(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  if (width < 8) return fit(text, width);
  const std::size_t tail = (width - 2) / 2;
  const std::size_t head = width - 2 - tail;
  return fmt::format("{}..{}", text.substr(0, head), text.substr(text.size() - tail));
}

template <class Field>
std::size_t widest(const std::vector<MenuRow>& rows, Field field) {
  std::size_t out = 0;
  for (const MenuRow& row : rows) out = std::max(out, (row.*field).size());
  return out;
}

}  // namespace

ModelMenu::ModelMenu(std::vector<MenuRow> rows) : rows_(std::move(rows)) {
  for (MenuRow& row : rows_) {
    row = {plain(row.name), plain(row.size), plain(row.where)};
    searched_.push_back(lower(row.name + " " + row.where));
  }
  apply_filter();
}

void ModelMenu::press(const Press& press) {
  if (state_ != State::open) return;
  const bool after_q = std::exchange(lone_q_, false);
  if (after_q && press.key == Key::character && press.character != 'q') {
    return begin_filter(fmt::format("{}q{}", digits_, press.character));
  }
  if (after_q || press.key == Key::end_of_input) {
    state_ = State::left;
    return;
  }
  if (press.key == Key::enter) return pick();
  if (moved(press.key)) {
    digits_.clear();
    return;
  }
  if (filtering_) {
    press_in_filter(press);
  } else {
    press_in_list(press);
  }
}

void ModelMenu::paused() {
  if (std::exchange(lone_q_, false)) state_ = State::left;
}

bool ModelMenu::moved(Key key) {
  const auto page = static_cast<std::ptrdiff_t>(page_);
  const auto all = static_cast<std::ptrdiff_t>(shown_.size());
  const std::pair<Key, std::ptrdiff_t> moves[] = {{Key::up, -1},         {Key::down, 1},
                                                  {Key::page_up, -page}, {Key::page_down, page},
                                                  {Key::first, -all},    {Key::last, all}};
  const auto* const move = std::ranges::find(moves, key, &std::pair<Key, std::ptrdiff_t>::first);
  if (move == std::end(moves)) return false;
  move_by(move->second);
  return true;
}

void ModelMenu::move_by(std::ptrdiff_t distance) {
  if (shown_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(shown_.size()) - 1;
  const auto to = static_cast<std::ptrdiff_t>(cursor_) + distance;
  cursor_ = static_cast<std::size_t>(std::clamp(to, std::ptrdiff_t{0}, last));
}

void ModelMenu::press_in_list(const Press& press) {
  if (press.key == Key::escape) {
    state_ = State::left;
    return;
  }
  if (press.key != Key::character || press.character == ' ') return;
  const char c = press.character;
  if (c == 'q') {
    lone_q_ = true;
    return;
  }
  if (is_digit(c)) return go_to_number(c);
  const std::string digits = std::exchange(digits_, "");
  if (c == 'j' || c == 'k') {
    move_by(c == 'j' ? 1 : -1);
  } else {
    begin_filter(c == '/' ? "" : digits + c);  // "7b" begins with a digit
  }
}

void ModelMenu::go_to_number(char digit) {
  if (digits_.size() >= kMostFilter) digits_.clear();
  digits_ += digit;
  // Digits that lead to no row stay known, since "70b" may be coming, and a number that begins
  // behind them counts: "3", then on second thoughts "12".
  for (std::size_t at = 0; at < digits_.size(); ++at) {
    const auto number = parse_int(std::string_view(digits_).substr(at)).value_or(0);
    if (digits_[at] == '0' || number < 1) continue;
    if (number > static_cast<std::int64_t>(rows_.size())) continue;
    cursor_ = static_cast<std::size_t>(number) - 1;  // without a filter every row is shown
    return;
  }
}

void ModelMenu::press_in_filter(const Press& press) {
  switch (press.key) {
    case Key::character:
      if (filter_.size() < kMostFilter) filter_ += press.character;
      break;
    case Key::backspace:
      if (filter_.empty()) filtering_ = false;
      if (!filter_.empty()) filter_.pop_back();
      break;
    case Key::clear:
      filter_.clear();
      break;
    case Key::escape:
      filter_.clear();
      filtering_ = false;
      break;
    default:
      return;
  }
  apply_filter();
}

void ModelMenu::begin_filter(std::string text) {
  digits_.clear();
  filtering_ = true;
  filter_ = std::move(text);
  apply_filter();
}

bool ModelMenu::matches(std::size_t row) const {
  const std::string wanted = lower(filter_);
  return std::ranges::all_of(split_blanks(wanted),
                             [&](std::string_view word) { return searched_[row].contains(word); });
}

void ModelMenu::apply_filter() {
  // The cursor stays on its row while that is there.
  const std::size_t row = cursor_ < shown_.size() ? shown_[cursor_] : 0;
  shown_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (matches(i)) shown_.push_back(i);
  }
  const auto at = std::ranges::find(shown_, row);
  cursor_ = at == shown_.end() ? 0 : static_cast<std::size_t>(at - shown_.begin());
}

void ModelMenu::pick() {
  if (cursor_ >= shown_.size()) return;
  picked_ = shown_[cursor_];
  state_ = State::picked;
}

ModelMenu::Widths ModelMenu::widths(std::size_t columns) const {
  Widths out;
  out.number = fmt::formatted_size("{}", rows_.size());
  const std::size_t fixed = 2 + out.number + kGap;
  const std::size_t room = columns > fixed ? columns - fixed : 0;
  out.name = widest(rows_, &MenuRow::name);
  out.size = widest(rows_, &MenuRow::size);
  out.where = widest(rows_, &MenuRow::where);
  const std::size_t size = out.size + (out.size > 0 ? kGap : 0);
  const std::size_t name = std::min(out.name, kGoodName);
  const std::size_t left = room > name + size + kGap ? room - name - size - kGap : 0;
  out.where = left < std::min(kLeastWhere, out.where) ? 0 : std::min(out.where, left);
  if (room < std::min(out.name, kLeastName) + size) out.size = 0;
  std::size_t others = out.size + (out.size > 0 ? kGap : 0);
  if (out.where > 0) others += out.where + kGap;
  out.name = std::min(out.name, room > others ? room - others : 0);
  return out;
}

std::string ModelMenu::line_of(std::size_t place, const Widths& widths, bool colour) const {
  const bool here = place == cursor_;
  const MenuRow& row = rows_[shown_[place]];
  std::string out = fmt::format("{} {:>{}}  {:<{}}", here ? '>' : ' ', shown_[place] + 1,
                                widths.number, fit_both_ends(row.name, widths.name), widths.name);
  if (widths.size > 0) out += fmt::format("  {:>{}}", row.size, widths.size);
  if (widths.where > 0) out += fmt::format("  {}", fit_both_ends(row.where, widths.where));
  while (out.ends_with(' ')) out.pop_back();
  return here && colour ? fmt::format("{}{}{}", kInverse, out, kNormal) : out;
}

void ModelMenu::scroll_to_cursor(std::size_t height) {
  page_ = height;
  if (cursor_ < top_) top_ = cursor_;
  if (cursor_ >= top_ + height) top_ = cursor_ - height + 1;
  // No empty lines at the end while there are rows above.
  if (top_ + height > shown_.size()) top_ = shown_.size() > height ? shown_.size() - height : 0;
}

std::string ModelMenu::help() const {
  if (!filtering_) return "Enter measures it; type to filter; Esc or q leaves";
  return fmt::format("filter: {}_  {} of {}, Esc ends it", filter_, shown_.size(), rows_.size());
}

std::vector<std::string> ModelMenu::lines(const MenuStyle& style) {
  // One column and one row stay free: a terminal that is written full wraps or scrolls.
  const auto columns = static_cast<std::size_t>(std::max(style.columns - 1, 1));
  const auto most = static_cast<std::size_t>(std::max(style.rows - 1, 1));
  const std::size_t around = most >= 4 ? 2 : most - 1;  // title, help: the rows go before them
  const std::size_t height = std::min(most - around, rows_.size());
  scroll_to_cursor(std::max<std::size_t>(height, 1));
  std::vector<std::string> out;
  if (around == 2) {
    std::string title = fmt::format("Which one? {} are here", rows_.size());
    if (shown_.size() > height) title += fmt::format(", {} to {} shown", top_ + 1, top_ + height);
    out.push_back(fit(title, columns));
  }
  const Widths wide = widths(columns);
  const std::size_t end = std::min(top_ + height, shown_.size());
  for (std::size_t i = top_; i < end; ++i) {
    const std::string line = line_of(i, wide, false);
    out.push_back(line.size() > columns ? fit(line, columns) : line_of(i, wide, style.colour));
  }
  if (shown_.empty()) out.push_back(fit("  nothing matches", columns));
  if (around >= 1) out.push_back(fit(help(), columns));
  return out;
}

}  // namespace picchio
