// The sentences in which posts state conditions, as a table of word patterns. Pure. Private to
// vet*.cpp.
#pragma once

#include "results/post_words.h"
#include "results/vet.h"

#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace picchio::results {

/// Elements parted by blanks, one word each: "ctx|context" either word, "of?" may be missing, "~"
/// up to three filling words ("is set to"), "<ctx>" a kind of word (kKinds in vet_kinds.cpp),
/// "<begin>" behind a comma or bracket, "<end>" before one or at the sentence's end.
struct Pattern {
  Condition condition;
  std::string_view elements;
  /// One of these stands up to six words before or behind, in the sentence; empty: nothing needs
  /// to. "<figure>" is a kind as well.
  std::string_view near = {};
  /// None of these stands within four words behind, in the sentence: "8 threads on this forum".
  std::string_view not_next = {};
  bool takes = false;  // its words state nothing else
  /// None of these stands within six words before, in the sentence: "nvidia-smi shows 100 % GPU".
  std::string_view not_before = {};
};

/// In the order of trying.
[[nodiscard]] std::span<const Pattern> patterns();

/// What looks like a statement of its condition and is a property of something else ("8 cores and
/// 16 threads", "Llama 3 runs fine"): its words do not state that condition. Tried first.
[[nodiscard]] std::span<const Pattern> decoys();

// More than all tables name: bitset::set() throws when it is not.
inline constexpr std::size_t kMostKnownWords = 2048;
inline constexpr std::size_t kMostKinds = 64;

struct WordChoice {
  std::bitset<kMostKnownWords> words;
  std::uint64_t kinds = 0;
};

struct Element {
  enum class Role { word, filling, clause_end, begin, end };
  Role role = Role::word;
  bool optional = false;
  WordChoice choice;
};

struct CompiledPattern {
  const Pattern* row = nullptr;
  std::vector<Element> elements;
  WordChoice near;
  WordChoice not_next;
  WordChoice not_before;
};

[[nodiscard]] std::vector<Element> elements_of(std::string_view text);
[[nodiscard]] CompiledPattern compiled(const Pattern& pattern);

/// Which rows of a table can begin at a word, so that not every row is held against every word.
class FirstWords {
 public:
  void add(std::span<const Element> elements, std::size_t row);

  void each(const PostWord& word, auto&& visit) const {
    if (word.known != 0 && !word.figure) {
      for (const std::size_t row : by_word_[word.known]) visit(row);
    }
    for (std::uint64_t left = word.kinds; left != 0; left &= left - 1) {
      for (const std::size_t row : by_kind_[static_cast<std::size_t>(std::countr_zero(left))]) {
        visit(row);
      }
    }
  }

 private:
  std::array<std::vector<std::size_t>, kMostKnownWords> by_word_;
  std::array<std::vector<std::size_t>, kMostKinds> by_kind_;
};

/// Fills `known` and `kinds` of each word, once every table is compiled and the figures are marked.
void know_words(Post& post);

[[nodiscard]] constexpr std::uint32_t condition_bit(Condition condition) {
  return std::uint32_t{1} << static_cast<unsigned>(condition);
}

/// Words that the elements or the pattern cover from `begin` on; 0: it does not stand there.
[[nodiscard]] std::size_t match_elements(const Post& post, std::size_t begin,
                                         std::span<const Element> elements);
[[nodiscard]] std::size_t match_length(const Post& post, std::size_t begin,
                                       const CompiledPattern& pattern);

}  // namespace picchio::results
