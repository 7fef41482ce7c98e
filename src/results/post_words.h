// A post as words and numbers, for patterns to be held against. Pure. Private to vet*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::results {

enum class Break { none, line, sentence };  // what stands before a word

/// What parts it from the word before, within a sentence. `hard`: a bracket, a colon, a dash, a new
/// line behind a short one.
enum class Clause { none, comma, hard };

struct PostWord {
  std::string text;              // lower case; of a number its digits: "8192" of "8,192"
  std::optional<double> number;  // "32k" is 32000
  Break before = Break::none;
  Clause clause = Clause::none;
  std::size_t line = 0;   // from 1
  std::size_t begin = 0;  // in its line
  std::size_t end = 0;
  std::size_t sentence = 0;
  bool figure = false;        // part of a tok/s figure
  std::uint32_t not_for = 0;  // conditions that it cannot state, a bit each
  std::uint16_t known = 0;    // its number among the words of the tables; 0: in none
  std::uint64_t kinds = 0;    // a bit for each kind that it is of
  std::uint16_t unsays = 0;   // cues that begin or end here: see vet_cues.h
};

struct PostSentence {
  std::size_t begin = 0;  // index of a word
  std::size_t end = 0;
  bool has_figure = false;
  bool asks = false;  // "Did you try flash attention?": states nothing
};

struct Post {
  std::vector<std::string> lines;
  std::vector<PostWord> words;
  std::vector<PostSentence> sentences;

  /// The words from `begin` up to `end` as they stand in the post, with what they are joined to
  /// ("v0.2.Q4_0.gguf" is the end of a file's name); of the first line only.
  [[nodiscard]] std::string quote(std::size_t begin, std::size_t end) const;
};

/// Text as pasted_lines() reads it, with the signs that posts use for "plus or minus" and "times"
/// in ASCII and other foreign characters gone: a '?' in it was a question mark.
[[nodiscard]] std::vector<std::string> post_lines(std::string_view text);

/// Each cell of a Markdown table's rows gets the head of its column before it: "ngl 99; t/s 45.2".
void spell_out_tables(std::vector<std::string>& lines);

/// `skip[i]`: line i belongs to a block and holds no words.
[[nodiscard]] Post read_post(std::vector<std::string> lines, const std::vector<bool>& skip);

/// Marks every "45.2 tok/s", "45 t/s", "45-50 tokens per second", "tps: 45", "2700 tokens per
/// minute", "22 ms/token"; the index of the first and behind the last word of each.
struct FigureWords {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_range = false;  // "45-50", "45 +/- 1"
};
std::vector<FigureWords> mark_figures(Post& post);

}  // namespace picchio::results
