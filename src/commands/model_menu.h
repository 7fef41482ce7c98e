// A list of which one row is picked with the keyboard. Keys in, lines out: no terminal is touched.
//
// Arrows, j and k move; a number goes to its row; letters and "/" begin a filter, in which every
// letter and digit counts; Enter picks; Esc, q and Ctrl-D leave, Esc in a filter only the filter.
#pragma once

#include "commands/menu_keys.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Shown by plain(): untrusted bytes may stand in it.
struct MenuRow {
  std::string name;
  std::string size;   // "4.68 GiB"; empty: nothing is known
  std::string where;  // "ollama"
};

struct MenuStyle {
  int columns = 80;
  int rows = 24;
  bool colour = false;
};

class ModelMenu {
 public:
  enum class State { open, picked, left };

  explicit ModelMenu(std::vector<MenuRow> rows);

  void press(const Press& press);

  /// A lone q leaves, but "qwen" is the beginning of a filter. While this says so, the next key has
  /// to come soon, or paused() must be called.
  [[nodiscard]] bool unsure() const { return lone_q_; }
  void paused();

  [[nodiscard]] State state() const { return state_; }
  /// Of the rows given, when `picked`.
  [[nodiscard]] std::size_t picked() const { return picked_; }

  /// Printable ASCII but for the colours, fewer lines than `rows` and narrower than `columns`. What
  /// does not fit is scrolled.
  [[nodiscard]] std::vector<std::string> lines(const MenuStyle& style);

 private:
  struct Widths {
    std::size_t number = 0;
    std::size_t name = 0;
    std::size_t size = 0;   // 0: not shown
    std::size_t where = 0;  // 0: not shown
  };

  void press_in_list(const Press& press);
  void press_in_filter(const Press& press);
  bool moved(Key key);
  void move_by(std::ptrdiff_t distance);
  void go_to_number(char digit);
  void begin_filter(std::string text);
  void apply_filter();
  void pick();
  [[nodiscard]] bool matches(std::size_t row) const;
  [[nodiscard]] Widths widths(std::size_t columns) const;
  [[nodiscard]] std::string line_of(std::size_t place, const Widths& widths, bool colour) const;
  [[nodiscard]] std::string help() const;
  void scroll_to_cursor(std::size_t height);

  std::vector<MenuRow> rows_;
  std::vector<std::string> searched_;  // name and where in lower case
  std::vector<std::size_t> shown_;     // indices of rows_, those that match
  std::size_t cursor_ = 0;             // in shown_
  std::size_t top_ = 0;                // in shown_: the first one on the screen
  std::size_t page_ = 10;              // rows on the screen when it was drawn last
  std::size_t picked_ = 0;
  std::string filter_;
  std::string digits_;
  bool filtering_ = false;
  bool lone_q_ = false;
  State state_ = State::open;
};

}  // namespace picchio
