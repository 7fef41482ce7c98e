#include "commands/model_menu.h"

#include "base/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {
namespace {

using State = ModelMenu::State;

std::vector<MenuRow> three() {
  return {{"Llama-3.2-1B-Q8_0.gguf", "1.23 GiB", "this folder"},
          {"qwen3:8b", "4.87 GiB", "ollama"},
          {"Kimi-7B-Q4_K_M.gguf", "4.10 GiB, 2 parts", "LM Studio: moon/kimi"}};
}

std::vector<MenuRow> many(int count) {
  std::vector<MenuRow> rows;
  for (int i = 1; i <= count; ++i) rows.push_back({fmt::format("model-{}", i), "1 B", "here"});
  return rows;
}

void type(ModelMenu& menu, std::string_view bytes) {
  KeyReader keys;
  for (const Press& press : keys.read(bytes)) menu.press(press);
  for (const Press& press : keys.give_up()) menu.press(press);
}

/// The number of the row that Enter would pick; 0: none.
std::size_t cursor_of(ModelMenu menu) {
  menu.press({Key::enter, 0});
  return menu.state() == State::picked ? menu.picked() + 1 : 0;
}

struct KeysCase {
  std::string_view name;
  int rows;
  std::string_view bytes;
  std::size_t cursor;  // as cursor_of()
};

constexpr KeysCase kMoves[] = {
    {"begins at the first", 20, "", 1},
    {"down and up", 20, "\x1b[B\x1b[B\x1b[A", 2},
    {"j and k", 20, "jjjk", 3},
    {"stops at the ends", 3, "\x1b[Ajjjjjj", 3},
    {"not beyond the first", 3, "kkk", 1},
    {"last and first", 20, "\x1b[F\x1b[H", 1},
    {"last", 20, "\x1b[F", 20},
    {"a page down", 30, "\x1b[6~", 11},
    {"a number", 20, "7", 7},
    {"a number of two digits", 20, "12", 12},
    {"a number that is too large", 12, "35", 5},
    {"no row zero", 12, "0", 1},
    {"second thoughts", 60, "3542", 42},
    {"a number after a move", 20, "1j5", 5},
    {"a number and a move", 20, "12j", 13},
    {"a blank is nothing", 20, " 7", 7},
    {"a huge number", 20, "99999999999999999999999", 9},
};

TEST(ModelMenu, MovesByKeysAndNumbers) {
  for (const KeysCase& row : kMoves) {
    ModelMenu menu(many(row.rows));
    type(menu, row.bytes);
    EXPECT_EQ(menu.state(), State::open) << row.name;
    EXPECT_EQ(cursor_of(menu), row.cursor) << row.name;
  }
}

struct FilterCase {
  std::string_view name;
  std::string_view bytes;
  std::size_t cursor;
};

constexpr FilterCase kFilters[] = {
    {"letters", "lla", 1},
    {"upper case", "LLAMA", 1},
    {"begins with q", "qwen", 2},
    {"begins with a digit", "8b", 2},
    {"j and k count as letters inside", "/kimi", 3},
    {"by where it is", "studio", 3},
    {"two words", "/q gguf k_m", 3},
    {"nothing matches", "xyz", 0},
    {"taken back", "xyz\b\b\b", 1},
    {"cleared", "xyz\x15", 1},
    {"Esc ends the filter, and keys move again",
     "xyz\x1b"
     "j",
     2},
    {"backspace in an empty filter ends it", "x\b\bj", 2},
    {"arrows move in a filter", "gguf\x1b[B", 3},
    {"the cursor stays on its row", "jj/gguf", 3},
    {"q is a letter in a filter", "/q8", 1},
};

TEST(ModelMenu, FiltersByWhatIsTyped) {
  for (const FilterCase& row : kFilters) {
    ModelMenu menu(three());
    type(menu, row.bytes);
    EXPECT_EQ(menu.state(), State::open) << row.name;
    EXPECT_EQ(cursor_of(menu), row.cursor) << row.name;
  }
}

TEST(ModelMenu, IsLeft) {
  for (const std::string_view bytes :
       {"\x1b", "\x04", "qq", "q\r", "q\x1b[A", "/x\x1b\x1b", "/x\x04"}) {
    ModelMenu menu(three());
    type(menu, bytes);
    EXPECT_EQ(menu.state(), State::left) << bytes;
    menu.press({Key::enter, 0});
    EXPECT_EQ(menu.state(), State::left) << bytes;
  }
}

TEST(ModelMenu, ALoneQLeavesWhenNothingFollows) {
  ModelMenu menu(three());
  menu.paused();
  EXPECT_EQ(menu.state(), State::open);
  type(menu, "q");
  EXPECT_EQ(menu.state(), State::open);
  EXPECT_TRUE(menu.unsure());
  menu.paused();
  EXPECT_EQ(menu.state(), State::left);
}

TEST(ModelMenu, EnterPicksNothingWhereNothingMatches) {
  ModelMenu menu(three());
  type(menu, "xyz\r");
  EXPECT_EQ(menu.state(), State::open);
}

TEST(ModelMenu, DrawsItsRows) {
  ModelMenu menu(three());
  type(menu, "j");
  EXPECT_EQ(menu.lines({.columns = 80, .rows = 24, .colour = false}),
            (std::vector<std::string>{
                "Which one? 3 are here",
                "  1  Llama-3.2-1B-Q8_0.gguf           1.23 GiB  this folder",
                "> 2  qwen3:8b                         4.87 GiB  ollama",
                "  3  Kimi-7B-Q4_K_M.gguf     4.10 GiB, 2 parts  LM Studio: moon/kimi",
                "Enter measures it; type to filter; Esc or q leaves",
            }));
  type(menu, "/q8");
  EXPECT_EQ(menu.lines({.columns = 80, .rows = 24, .colour = false}),
            (std::vector<std::string>{
                "Which one? 3 are here",
                "> 1  Llama-3.2-1B-Q8_0.gguf           1.23 GiB  this folder",
                "filter: q8_  1 of 3, Esc ends it",
            }));
  type(menu, "z");
  EXPECT_EQ(menu.lines({.columns = 80, .rows = 24, .colour = false})[1], "  nothing matches");
}

TEST(ModelMenu, FitsEveryWindow) {
  std::vector<MenuRow> rows = many(30);
  rows.push_back({"Qwen3-Coder-480B-A35B-Instruct-UD-Q4_K_XL.gguf", "254.11 GiB, 6 parts",
                  "Hugging Face cache: unsloth/Qwen3-Coder-480B-A35B-Instruct-GGUF"});
  for (const std::string_view bytes : {"", "\x1b[F", "/qwen", "/nothing"}) {
    ModelMenu menu(rows);
    type(menu, bytes);
    for (int columns = 1; columns < 130; columns += columns < 40 ? 1 : 7) {
      for (int height = 1; height < 40; ++height) {
        const auto lines = menu.lines({.columns = columns, .rows = height, .colour = false});
        ASSERT_LE(lines.size(), static_cast<std::size_t>(std::max(height - 1, 1)));
        for (const std::string& line : lines) {
          ASSERT_LE(line.size(), static_cast<std::size_t>(std::max(columns - 1, 1))) << line;
        }
        const auto with_cursor = [](const std::string& line) { return line.starts_with('>'); };
        ASSERT_EQ(std::ranges::count_if(lines, with_cursor), bytes == "/nothing" ? 0 : 1)
            << columns << "x" << height;
      }
    }
  }
}

TEST(ModelMenu, KeepsBothEndsOfALongName) {
  ModelMenu menu({{"Qwen3-Coder-480B-A35B-Instruct-UD-Q4_K_XL.gguf", "254.11 GiB", "ollama"},
                  {"b", "1 B", "ollama"}});
  EXPECT_EQ(menu.lines({.columns = 60, .rows = 24, .colour = false})[1],
            "> 1  Qwen3-Coder-480B-A35..ruct-UD-Q4_K_XL.gguf  254.11 GiB");
  EXPECT_EQ(menu.lines({.columns = 30, .rows = 24, .colour = false})[1],
            "> 1  Qwen3-Coder..4_K_XL.gguf");
}

TEST(ModelMenu, ScrollsWithTheCursor) {
  ModelMenu menu(many(30));
  const MenuStyle style{.columns = 80, .rows = 8, .colour = false};
  auto lines = menu.lines(style);
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], "Which one? 30 are here, 1 to 5 shown");
  type(menu, "6");
  lines = menu.lines(style);
  EXPECT_EQ(lines[0], "Which one? 30 are here, 2 to 6 shown");
  EXPECT_TRUE(lines[5].starts_with(">  6  model-6 ")) << lines[5];
  type(menu, "k");
  EXPECT_EQ(menu.lines(style)[0], "Which one? 30 are here, 2 to 6 shown");
  type(menu, "\x1b[F");
  EXPECT_EQ(menu.lines(style)[0], "Which one? 30 are here, 26 to 30 shown");
  // A window that grows shows more above.
  EXPECT_EQ(menu.lines({.columns = 80, .rows = 13, .colour = false})[0],
            "Which one? 30 are here, 21 to 30 shown");
  type(menu, "\x1b[5~");
  EXPECT_EQ(cursor_of(menu), 20U);
}

TEST(ModelMenu, ColoursTheCursorOnly) {
  ModelMenu menu(three());
  const auto plain_lines = menu.lines({.columns = 80, .rows = 24, .colour = false});
  const auto coloured = menu.lines({.columns = 80, .rows = 24, .colour = true});
  ASSERT_EQ(coloured.size(), plain_lines.size());
  EXPECT_EQ(coloured[1], "\x1b[7m" + plain_lines[1] + "\x1b[0m");
  for (const std::size_t i : {0U, 2U, 3U, 4U}) EXPECT_EQ(coloured[i], plain_lines[i]);
}

TEST(ModelMenu, ShowsNoBytesOfANameRaw) {
  ModelMenu menu({{"a\x1b[2J\nb\xff\t.gguf", "1\n", "x\r\x1b]0;title\a"}, {"c", "", ""}});
  for (const std::string& line : menu.lines({.columns = 80, .rows = 24, .colour = false})) {
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; })) << line;
  }
}

TEST(ModelMenu, HoldsTenThousandRows) {
  ModelMenu menu(many(10'000));
  type(menu, "9876");
  EXPECT_EQ(cursor_of(menu), 9876U);
  type(menu, "/model-10000");
  EXPECT_EQ(cursor_of(menu), 10'000U);
  EXPECT_EQ(menu.lines({.columns = 80, .rows = 24, .colour = false}).size(), 3U);
}

}  // namespace
}  // namespace picchio
