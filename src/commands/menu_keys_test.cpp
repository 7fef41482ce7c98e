#include "commands/menu_keys.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace picchio {
namespace {

struct KeyCase {
  std::string_view name;
  std::string_view bytes;
  std::vector<Press> expected;
};

Press letter(char c) { return {Key::character, c}; }

const std::vector<KeyCase> kCases = {
    {"letters and blanks", "a Z~", {letter('a'), letter(' '), letter('Z'), letter('~')}},
    {"arrows", "\x1b[A\x1b[B", {{Key::up}, {Key::down}}},
    {"arrows of a keypad in application mode", "\x1bOA\x1bOB", {{Key::up}, {Key::down}}},
    {"arrow with Ctrl", "\x1b[1;5A", {{Key::up}}},
    {"pages", "\x1b[5~\x1b[6~", {{Key::page_up}, {Key::page_down}}},
    {"page with Shift", "\x1b[5;2~", {{Key::page_up}}},
    {"ends, four ways",
     "\x1b[H\x1b[F\x1bOH\x1bOF\x1b[1~\x1b[4~\x1b[7~\x1b[8~",
     {{Key::first},
      {Key::last},
      {Key::first},
      {Key::last},
      {Key::first},
      {Key::last},
      {Key::first},
      {Key::last}}},
    {"enter", "\r\n\x1bOM", {{Key::enter}, {Key::enter}, {Key::enter}}},
    {"control keys",
     "\x7f\b\x15\x17\x04\x0e\x10",
     {{Key::backspace},
      {Key::backspace},
      {Key::clear},
      {Key::clear},
      {Key::end_of_input},
      {Key::down},
      {Key::up}}},
    {"escape before another key", "\x1bx", {{Key::escape}, letter('x')}},
    {"escape twice and an arrow", "\x1b\x1b[A", {{Key::escape}, {Key::up}}},
    {"keys that are not ours", "\x1b[15~\x1b[3~\x1b[Z\x1b[200~\x1bOP\x1b[~\t\x01", {}},
    {"UTF-8 and stray bytes",
     "\xc3\xa4\xff"
     "a",
     {letter('a')}},
};

TEST(MenuKeys, AreReadFromTheirBytes) {
  for (const KeyCase& row : kCases) {
    KeyReader keys;
    EXPECT_EQ(keys.read(row.bytes), row.expected) << row.name;
    EXPECT_FALSE(keys.unsure()) << row.name;
    // However the reads fall.
    std::vector<Press> one_by_one;
    for (const char byte : row.bytes) {
      for (const Press& press : keys.read({&byte, 1})) one_by_one.push_back(press);
    }
    EXPECT_EQ(one_by_one, row.expected) << row.name;
  }
}

TEST(MenuKeys, ALoneEscapeIsAKeyOnceNothingFollows) {
  KeyReader keys;
  EXPECT_TRUE(keys.give_up().empty());
  EXPECT_TRUE(keys.read("\x1b").empty());
  EXPECT_TRUE(keys.unsure());
  EXPECT_EQ(keys.give_up(), (std::vector<Press>{{Key::escape}}));
  EXPECT_FALSE(keys.unsure());
  EXPECT_EQ(keys.read("[A"), (std::vector<Press>{letter('['), letter('A')}));
}

TEST(MenuKeys, ASequenceWithoutEndIsDropped) {
  KeyReader keys;
  EXPECT_TRUE(keys.read("\x1b[" + std::string(30, '1')).empty());
  EXPECT_FALSE(keys.unsure());
  EXPECT_EQ(keys.read("a"), (std::vector<Press>{letter('a')}));
}

}  // namespace
}  // namespace picchio
