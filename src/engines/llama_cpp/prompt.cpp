#include "engines/llama_cpp/prompt.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::llama_cpp {
namespace {

// Plain words, few numerals: vocabularies split digits very differently.
constexpr std::string_view kParagraph =
    "The mill by the river grinds grain in three steps. First the miller carries all the sacks up "
    "to "
    "the loft, which takes strength but little time. Then the stones turn without a pause, and "
    "every "
    "handful of flour must wait for the one before it. At last the cart goes to town, and the "
    "baker "
    "counts the hours of the whole day. Whoever asks how fast the mill works should first say "
    "which "
    "step is meant.";

constexpr std::string_view kQuestion = "Now tell the story of the mill again in your own words.";

constexpr std::int64_t kTokensPerParagraph = 110;
constexpr std::int64_t kTokensAround = 48;  // prefix, question, template markers

/// With a blank behind each.
std::string_view first_words(int words) {
  std::size_t end = 0;
  for (int k = 0; k < words && end != std::string_view::npos; ++k) {
    end = kParagraph.find(' ', end);
    if (end != std::string_view::npos) ++end;
  }
  return kParagraph.substr(0, end);
}

}  // namespace

std::string prompt_prefix(std::uint32_t run_id, int pass) {
  return fmt::format("Mill log {:08x}, day {}. ", run_id, pass);
}

std::string prompt_text(std::string_view prefix, const Prompting& prompting) {
  std::string out(prefix);
  const int digits = prompting.even_pages ? 5 : 1;
  for (int k = 1; k <= prompting.paragraphs; ++k) {
    out += fmt::format("Page {:0{}}. {} ", k, digits, kParagraph);
  }
  out += first_words(prompting.words);
  out += kQuestion;
  return out;
}

int paragraphs_that_fit(std::int64_t context) {
  const std::int64_t room = context - kGenerate - kTokensAround;
  if (room <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>(kParagraphs, room / kTokensPerParagraph));
}

}  // namespace picchio::llama_cpp
