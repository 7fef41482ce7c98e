#include "results/model_names.h"

#include "base/text.h"
#include "evidence/card.h"
#include "evidence/shard_name.h"

#include <array>

namespace picchio::results {
namespace {

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

/// Takes `word` off the end, with the marks before it, where it is a word of its own.
bool drop_last_word(std::string& name, std::string_view word) {
  while (!name.empty() && !is_digit(name.back()) && !is_letter(name.back())) name.pop_back();
  if (!name.ends_with(word) || name.size() <= word.size()) return false;
  const char before = name[name.size() - word.size() - 1];
  if (is_digit(before) || is_letter(before)) return false;
  name.resize(name.size() - word.size());
  return true;
}

// What stands around a quant: the container, the tag that ollama adds, how it was quantized.
constexpr std::array<std::string_view, 6> kNotOfTheModel = {"gguf", "latest", "ud",
                                                            "i1",   "imat",   "imatrix"};

void drop_last_words(std::string& name) {
  for (bool dropped = true; dropped;) {
    dropped = false;
    for (const std::string_view word : kNotOfTheModel) {
      if (drop_last_word(name, word)) dropped = true;
    }
  }
}

}  // namespace

std::string model_core(std::string_view name) {
  std::string base = lower(file_name(name));
  if (const auto shard = shard_name(base)) base = shard->prefix;
  drop_last_words(base);
  const LabelPlace quant = label_place(base);
  base.erase(quant.begin, quant.size);
  drop_last_words(base);
  std::string out;
  bool parted = false;
  for (const char c : base) {
    if (!is_digit(c) && !is_letter(c)) {
      parted = true;
      continue;
    }
    if (parted && is_digit(c) && !out.empty() && is_digit(out.back())) out += '.';
    parted = false;
    out += c;
  }
  const bool nameless = out == "model" || out == "ggmlmodel" || out.starts_with("sha256");
  return nameless ? "" : out;
}

bool names_are_related(std::string_view a, std::string_view b) {
  const std::string x = model_core(a);
  const std::string y = model_core(b);
  return !x.empty() && !y.empty() && (x.contains(y) || y.contains(x));
}

}  // namespace picchio::results
