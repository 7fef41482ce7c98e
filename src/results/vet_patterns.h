// The sentences in which posts state conditions, as a table of word patterns. Pure. Private to
// vet*.cpp.
#pragma once

#include "results/post_words.h"
#include "results/vet.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace picchio::results {

/// Elements parted by blanks, one word each: "ctx|context" either word, "of?" may be missing, "~"
/// up to three filling words ("is set to"), "<ctx>" a kind of word (kKinds in vet_kinds.cpp).
struct Pattern {
  Condition condition;
  std::string_view elements;
  /// One of these stands up to six words before or behind, in the sentence; empty: nothing needs
  /// to. "<figure>" is a kind as well.
  std::string_view near = {};
  /// None of these stands within four words behind, in the sentence: "8 threads on this forum".
  std::string_view not_next = {};
  bool takes = false;  // its words state nothing else
};

/// In the order of trying.
[[nodiscard]] std::span<const Pattern> patterns();

/// Words that `pattern` covers from `begin` on; 0: it does not stand there.
[[nodiscard]] std::size_t match_length(const Post& post, std::size_t begin, const Pattern& pattern);

}  // namespace picchio::results
