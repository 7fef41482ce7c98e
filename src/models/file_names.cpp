#include "models/file_names.h"

#include "base/text.h"

#include <algorithm>
#include <string>
#include <vector>

namespace picchio::models {
namespace {

constexpr std::string_view kEnding = ".gguf";

// Before ".gguf": some tools change the stem and not the ending.
constexpr std::string_view kUnfinishedStems[] = {".part", ".partial",     ".incomplete",
                                                 ".tmp",  ".downloading", ".crdownload"};

// aria2, axel, lftp: they write to the final name from the first byte on.
constexpr std::string_view kControlEndings[] = {".aria2", ".st", ".lftp-pget-status"};

// Of the words that named_as() asks for.
constexpr std::string_view kTellingParts[] = {"vocab", "imatrix", "lora", "adapter", "vector"};

bool is_word_character(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

// "Qwen3-8B.i1-Q4_K_M" -> qwen3 8b i1 q4 k m
std::vector<std::string_view> words_of(std::string_view lower_stem) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < lower_stem.size();) {
    std::size_t end = at;
    while (end < lower_stem.size() && is_word_character(lower_stem[end])) ++end;
    if (end > at) out.push_back(lower_stem.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

enum class Label { none, wide, narrow };

// Adapters are kept in 16 bits or in Q8_0; narrower than that only whole models are made.
Label label_of(std::string_view word) {
  for (const std::string_view wide : {"f16", "bf16", "f32", "fp16", "fp32", "q8"}) {
    if (word == wide) return Label::wide;
  }
  if (word == "mxfp4" || word == "nvfp4") return Label::narrow;
  if (!take_prefix(word, "iq") && !take_prefix(word, "tq") && !take_prefix(word, "q")) {
    return Label::none;
  }
  return word.size() == 1 && is_digit(word.front()) ? Label::narrow : Label::none;
}

class Words {
 public:
  explicit Words(std::string_view lower_stem) : words_(words_of(lower_stem)) {
    for (const std::string_view word : words_) label_ = std::max(label_, label_of(word));
  }

  [[nodiscard]] bool have(std::string_view word) const {
    return std::ranges::find(words_, word) != words_.end();
  }
  [[nodiscard]] bool have(std::string_view first, std::string_view second) const {
    const auto at = std::ranges::find(words_, first);
    return at != words_.end() && at + 1 != words_.end() && *(at + 1) == second;
  }
  [[nodiscard]] Label label() const { return label_; }

 private:
  std::vector<std::string_view> words_;
  Label label_ = Label::none;
};

bool names_adapter(const Words& words) {
  const bool adapter = words.have("lora") || words.have("adapter") || words.have("cvector") ||
                       words.have("control", "vector");
  // "x-lora-merged": the adapter went into the model.
  return adapter && !words.have("merged") && words.label() != Label::narrow;
}

}  // namespace

NamedAs named_as(std::string_view name) {
  if (name.size() <= kEnding.size() || name.starts_with('.')) return NamedAs::no_gguf;
  const std::string_view stem = name.substr(0, name.size() - kEnding.size());
  if (lower(name.substr(stem.size())) != kEnding) return NamedAs::no_gguf;
  const std::string low = lower(stem);
  for (const std::string_view ending : kUnfinishedStems) {
    if (low.ends_with(ending)) return NamedAs::unfinished;
  }
  if (low.contains("mmproj")) return NamedAs::projector;
  // Thousands of names hold none of the words: those need not be taken apart.
  const auto holds = [&](std::string_view part) { return low.contains(part); };
  if (std::ranges::none_of(kTellingParts, holds)) return NamedAs::model;
  const Words words(low);
  const bool quantized = words.label() != Label::none;
  if (low.starts_with("ggml-vocab")) return NamedAs::vocabulary;
  if (words.have("vocab") && !quantized) return NamedAs::vocabulary;
  if (words.have("imatrix") && !quantized) return NamedAs::importance_matrix;
  return names_adapter(words) ? NamedAs::adapter : NamedAs::model;
}

std::optional<std::string_view> unfinished_by(std::string_view name) {
  for (const std::string_view ending : kControlEndings) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return std::nullopt;
}

}  // namespace picchio::models
