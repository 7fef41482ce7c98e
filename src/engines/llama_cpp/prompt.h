// What the passes of a protocol ask: mp1's fixed prompt, and the sweep's that fills a context.
// Changing a word of either changes its protocol's tag.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace picchio::llama_cpp {

/// What mp1 asks of a pass.
inline constexpr std::string_view kProtocol = "mp1";
inline constexpr int kParagraphs = 8;  // 750 tokens with Gemma 3's vocabulary
inline constexpr std::int64_t kGenerate = 128;
inline constexpr std::int64_t kContext = 4096;
inline constexpr std::int64_t kSeed = 7;
inline constexpr int kPasses = 3;

/// A short opening that differs on every pass of every run, so that no prompt cache can answer:
/// "Mill log 7f3a91c2, day 1. "
[[nodiscard]] std::string prompt_prefix(std::uint32_t run_id, int pass);

/// What every pass of a run reads and writes.
struct Prompting {
  std::string protocol = std::string(kProtocol);
  std::int64_t context = kContext;  // tokens, asked for where that may be chosen
  std::int64_t generate = kGenerate;
  int paragraphs = kParagraphs;
  int words = 0;  // of one more paragraph, which ends there
  /// Page numbers of five digits, so that every page has as many tokens as the others.
  bool even_pages = false;
  std::string note = {};  // the prompt was shortened and why; empty: whole
};

/// A paragraph has so many words, its number not counted.
inline constexpr int kWordsOfParagraph = 77;

/// `prefix`, then the numbered copies of the paragraph, then the question.
[[nodiscard]] std::string prompt_text(std::string_view prefix, const Prompting& prompting);

/// How many paragraphs surely fit into `context` tokens beside kGenerate generated ones; 0: not
/// even one does. Counts a paragraph at 110 tokens: Gemma 3's vocabulary makes 91 of it, and
/// smaller vocabularies make more, so the rest is head room.
[[nodiscard]] int paragraphs_that_fit(std::int64_t context);

}  // namespace picchio::llama_cpp
