#include "commands/shell_words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace picchio {
namespace {

struct WordCase {
  std::string_view text;
  std::string_view expected;
};

constexpr WordCase kCases[] = {
    {"model.gguf", "model.gguf"},
    {"hf.co/org/repo:Q4_K_M", "hf.co/org/repo:Q4_K_M"},
    {"http://127.0.0.1:8080", "http://127.0.0.1:8080"},
    {"", "''"},
    {"two words.gguf", "'two words.gguf'"},
    {"it's.gguf", R"('it'\''s.gguf')"},
    {"$(rm x);`y`&|<>*?[]{}!#~", "'$(rm x);`y`&|<>*?[]{}!#~'"},
    {"~/x", "'~/x'"},
    {"=x", "'=x'"},
    {"back\\slash", "'back\\slash'"},
    {"line\nend", R"($'line\012end')"},
    {"\x1b[31m'\\7", R"($'\033[31m\'\\7')"},
    {"\xc3\xa4\xff"
     "1",
     R"($'\303\244\3771')"},
};

TEST(ShellWords, AreQuotedWhereTheyMustBe) {
  for (const WordCase& row : kCases) EXPECT_EQ(shell_word(row.text), row.expected);
}

std::string said_by(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  std::array<char, 256> block{};
  const std::size_t got = std::fread(block.data(), 1, block.size(), pipe);
  ::pclose(pipe);
  return {block.data(), got};
}

TEST(ShellWords, AreReadBackByBash) {
  if (said_by("bash -c 'printf %s here' 2>/dev/null") != "here") GTEST_SKIP() << "no bash here";
  for (const WordCase& row : kCases) {
    // The outer shell of popen() knows no $'...', so bash reads all of the line.
    const std::string line = "printf %s " + shell_word(row.text);
    EXPECT_EQ(said_by("bash -c " + shell_word(line)), row.text);
  }
}

}  // namespace
}  // namespace picchio
