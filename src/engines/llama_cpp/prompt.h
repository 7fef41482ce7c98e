// The fixed prompt of protocol mp1. Changing a word of it changes the protocol's tag.
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

/// `prefix`, then `paragraphs` (1 to kParagraphs) numbered copies of the paragraph, then the
/// question.
[[nodiscard]] std::string prompt_text(std::string_view prefix, int paragraphs);

/// How many paragraphs surely fit into `context` tokens beside kGenerate generated ones; 0: not
/// even one does. Counts a paragraph at 110 tokens: Gemma 3's vocabulary makes 91 of it, and
/// smaller vocabularies make more, so the rest is head room.
[[nodiscard]] int paragraphs_that_fit(std::int64_t context);

}  // namespace picchio::llama_cpp
