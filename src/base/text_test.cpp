#include "base/text.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

TEST(Text, NumbersWithPointOrCommaAndNothingElse) {
  struct Case {
    const char* text;
    std::optional<double> value;
  };
  for (const Case& c : {Case{"21.5", 21.5}, Case{" 0,31 ", 0.31}, Case{"-3", -3.0}, Case{"+7", 7.0},
                        Case{"1e3", 1000.0}, Case{".5", 0.5}, Case{"-nan", {}}, Case{"nan", {}},
                        Case{"inf", {}}, Case{"-inf", {}}, Case{"", {}}, Case{"12 tokens", {}},
                        Case{"1e999", {}}, Case{"--1", {}}, Case{"5.", {}}}) {
    EXPECT_EQ(parse_double(c.text), c.value) << c.text;
  }
}

TEST(Text, TakeLeavesTheRest) {
  std::string_view text = "  97,14 ms /     6 tokens";
  EXPECT_EQ(take_double(text), 97.14);
  EXPECT_EQ(text, " ms /     6 tokens");
  text = "33/33 layers";
  EXPECT_EQ(take_int(text), 33);
  EXPECT_EQ(text, "/33 layers");
  text = "99999999999999999999";
  EXPECT_EQ(take_int(text), std::nullopt);
  text = "-nan ms";
  EXPECT_EQ(take_double(text), std::nullopt);
  EXPECT_EQ(text, "-nan ms");
}

TEST(Text, LinesOfEveryEnding) {
  EXPECT_EQ(split_lines("a\r\nb\n\nc"), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split_lines("a\n"), (std::vector<std::string_view>{"a"}));
  EXPECT_TRUE(split_lines("").empty());
}

TEST(Text, EscapesNeverReachATerminal) {
  EXPECT_EQ(without_ansi("\x1b[31mred\x1b[0m \x1b]0;title\aend"), "red end");
  EXPECT_EQ(without_ansi("cut \x1b["), "cut ");
  EXPECT_EQ(without_ansi("cut \x1b]0;never closed"), "cut ");
  EXPECT_EQ(plain("a\tb\x01"
                  "c \x1b[2Jd"),
            "a b?c d");
  EXPECT_EQ(plain("na\xC3\xAFve \xE2\x80\xAE rtl"), "na?ve ? rtl");
  EXPECT_EQ(plain("\x9b\x32J"), "2J");  // a bare C1 CSI byte is dropped, not passed on
}

TEST(Text, FitCutsWithTwoDots) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdefg", 6), "abcd..");
  EXPECT_EQ(fit("abc", 2), "ab");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("explain-log", "explian-log"), 2U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
}

TEST(Text, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(15728640), "15.0 MiB");
  EXPECT_EQ(format_bytes(5669356667), "5.28 GiB");
}

TEST(Text, BetweenAndSplit) {
  EXPECT_EQ(between("K (q5_1): 3", "K (", ")"), "q5_1");
  EXPECT_EQ(between("K (q5_1", "K (", ")"), std::nullopt);
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_blanks("  a \t b "), (std::vector<std::string_view>{"a", "b"}));
}

}  // namespace
}  // namespace picchio
