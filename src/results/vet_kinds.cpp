#include "results/vet_kinds.h"

#include "base/text.h"
#include "evidence/card.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

namespace picchio::results {
namespace {

bool all_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

using WordSet = std::unordered_set<std::string_view>;

WordSet set_of(std::string_view list) {
  WordSet out;
  for (const std::string_view each : split(list, '|')) out.insert(each);
  return out;
}

/// No word without one is of a kind but for those that stand in a list.
bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

constexpr std::string_view kDigits = "0123456789";

/// Digits with an optional point: "4", "3.1".
bool is_number_text(std::string_view text) {
  return all_of(text, "0123456789.") && text.front() != '.' && text.back() != '.';
}

bool is_family(const PostWord& word) {
  constexpr std::array<std::string_view, 34> kFamilies = {
      "qwen",     "llama",   "mistral",   "mixtral",  "ministral", "gemma",     "phi",
      "deepseek", "glm",     "granite",   "smollm",   "olmo",      "nemotron",  "falcon",
      "ernie",    "hunyuan", "exaone",    "devstral", "qwq",       "starcoder", "vicuna",
      "hermes",   "dolphin", "codellama", "yi",       "stablelm",  "internlm",  "jamba",
      "rwkv",     "lfm",     "bitnet",    "aya",      "medgemma",  "codestral"};
  static const WordSet names(kFamilies.begin(), kFamilies.end());
  const std::string_view text = word.text;
  const std::size_t digit = std::min(text.find_first_of(kDigits), text.size());
  const std::string_view behind = text.substr(digit);
  return names.contains(text.substr(0, digit)) && (behind.empty() || is_number_text(behind));
}

/// "8b", "0.6b", "270m", "8x7b".
bool is_size(const PostWord& word) {
  std::string_view text = word.text;
  if (text.size() < 2 || (text.back() != 'b' && text.back() != 'm')) return false;
  text.remove_suffix(1);
  const std::size_t times = text.find('x');
  if (times != std::string_view::npos) {
    return all_of(text.substr(0, times), kDigits) && is_number_text(text.substr(times + 1));
  }
  return is_number_text(text);
}

bool is_model_word(const PostWord& word) {
  static const WordSet kWords = set_of(
      "coder|instruct|chat|vl|next|r1|v3|v3.1|small|large|medium|nemo|it|distill|flash|air|"
      "ud|oss|"
      "qwen|llama|math|base|mini|moe|code|pro|thinking|nano|super|tulu|e|a|ai|2507|2501|"
      "lite|"
      "experimental|hermes|abliterated");
  return kWords.contains(word.text) || is_number_text(word.text) ||
         (word.text.starts_with('v') && is_number_text(word.text.substr(1)));
}

bool is_quant(const PostWord& word) {
  if (word.number || !has_digit(word.text)) return false;
  std::string text = word.text;
  if (text.ends_with(".gguf")) text.resize(text.size() - 5);
  if (!label_in_name(text).empty()) return true;
  // "q4", "q5km"
  const bool bare = text.size() >= 2 && text[0] == 'q' && text[1] >= '2' && text[1] <= '8';
  return bare && (text.size() == 2 || is_in("km|ks|kl|k|xl|kxl", std::string_view(text).substr(2)));
}

bool is_kv_type(const PostWord& word) {
  return is_quant(word) ||
         is_in("f16|fp16|bf16|f32|fp8|fp4|int8|int4|q8|q4|8bit|4bit|turbo3|turbo4", word.text);
}

bool is_engine(const PostWord& word) {
  static const WordSet kWords = set_of(
      "llama.cpp|llamacpp|llamafile|ollama|lmstudio|vllm|sglang|koboldcpp|kobold.cpp|tabbyapi|"
      "exllama|exllamav2|exllamav3|ik_llama|ik_llama.cpp|ktransformers|mistral.rs|oobabooga|"
      "gpt4all|lmdeploy|mlx|openvino|ramalama|croco.cpp|stable.cpp|mlx_lm|aphrodite|jan.ai");
  return kWords.contains(word.text);
}

bool is_hash(const PostWord& word) {
  constexpr std::size_t kShortest = 7;
  constexpr std::size_t kLongest = 40;
  const std::string& text = word.text;
  return text.size() >= kShortest && text.size() <= kLongest && all_of(text, "0123456789abcdef") &&
         text.find_first_of("abcdef") != std::string::npos &&
         text.find_first_of(kDigits) != std::string::npos;
}

/// "b9430": four digits, since B200 and B580 are GPUs.
bool is_build(const PostWord& word) {
  constexpr std::size_t kFewest = 5;
  return word.text.size() >= kFewest && word.text[0] == 'b' &&
         all_of(std::string_view(word.text).substr(1), kDigits);
}

/// "0.7", "v0.3.12": with a point, and no figure.
bool is_dotted(const PostWord& word) {
  std::string_view text = word.text;
  take_prefix(text, "v");
  return !word.figure && is_number_text(text) && text.contains('.');
}

bool is_gpu(const PostWord& word) {
  std::string_view text = word.text;
  static const WordSet kWords = set_of(
      "a100|h100|h200|h20|b200|b300|gb200|gb10|gh200|l40|l40s|a40|a6000|a5000|a4000|a4500|"
      "a2000|"
      "p40|p100|v100|"
      "k80|m40|mi25|mi50|mi60|mi100|mi210|mi250|mi250x|mi300|mi300a|mi300x|mi325x|mi350x|"
      "mi355x|"
      "a770|a750|a380|b580|b570|b60|8060s|8050s|780m|680m|890m|880m|7900xtx|7900xt|6900xt|"
      "6800xt|"
      "9070xt|9060xt|4090ti|3090ti|3080ti|3070ti|3060ti|1080ti|2080ti|4070ti|4060ti|5060ti|"
      "5070ti|radeonvii|w7900|w7800|w6800|threadripper|epyc|xeon");
  if (kWords.contains(text)) return true;
  // "rtx4090", "rx7900xtx"
  for (const std::string_view brand : {"rtx", "gtx", "rx"}) {
    std::string_view rest = text;
    if (take_prefix(rest, brand) && rest.size() >= 4 && all_of(rest.substr(0, 4), kDigits))
      return true;
  }
  return false;
}

bool is_card(const PostWord& word) {
  std::string_view text = word.text;
  if (text.ends_with('s')) text.remove_suffix(1);  // "two 3090s"
  static const WordSet kWords = set_of(
      "1060|1070|1080|1650|1660|2060|2070|2080|3050|3060|3070|3080|3090|4050|4060|4070|4080|"
      "4090|5050|5060|5070|5080|5090|6600|6700|6800|6900|6950|7600|7700|7800|7900|9060|9070");
  return !word.figure && kWords.contains(text);
}

/// What a brand goes before: "RTX 4090", "GTX 1060ti", "Arc A770".
bool is_gpu_number(const PostWord& word) {
  constexpr std::size_t kDigitsOfName = 3;
  const std::string& text = word.text;
  const std::size_t from = text.starts_with('a') || text.starts_with('b') ? 1 : 0;
  return !word.figure && text.size() >= from + kDigitsOfName &&
         all_of(std::string_view(text).substr(from, kDigitsOfName), kDigits);
}

bool is_chip(const PostWord& word) {
  return word.text.size() == 2 && word.text[0] == 'm' && word.text[1] >= '1' && word.text[1] <= '9';
}

/// "13900k", "7840hs", "12400f", "9950x3d" after a brand.
bool is_cpu_model(const PostWord& word) {
  constexpr std::size_t kFewest = 3;
  return word.text.size() >= kFewest &&
         all_of(std::string_view(word.text).substr(0, kFewest), kDigits);
}

/// The digits behind `head`: "pp512", "tg128", "d4096".
bool is_test(const PostWord& word, std::string_view head) {
  std::string_view rest = word.text;
  return take_prefix(rest, head) && all_of(rest, kDigits);
}

bool is_context(const PostWord& word) {
  constexpr double kLeast = 128;
  return word.number && !word.figure && *word.number >= kLeast && !is_card(word);
}

bool is_windows(const PostWord& word) {
  return is_in("win10|win11|windows10|windows11|windows 10", word.text);
}

bool is_driver(const PostWord& word) {
  for (const std::string_view head : {"cuda", "rocm"}) {
    std::string_view rest = word.text;
    if (take_prefix(rest, head) && !rest.empty() && is_number_text(rest)) return true;
  }
  return false;
}

bool is_plain_number(const PostWord& word) { return word.number && !word.figure; }
bool is_at_most(const PostWord& word, double most) {
  return is_plain_number(word) && word.number.value_or(most) <= most && !word.text.ends_with('k');
}

// Of which words a kind can be: most texts are long for one of them.
constexpr unsigned kOfNumbers = 1;
constexpr unsigned kOfLetters = 2;  // words without a digit
constexpr unsigned kOfBoth = 4;     // "q8", "qwen3", "4090ti"
constexpr unsigned kOfFigures = 8;

struct Kind {
  std::string_view name;
  unsigned of;
  bool (*is)(const PostWord& word);
};

constexpr std::array kKinds = std::to_array<Kind>({
    {"<n>", kOfNumbers, is_plain_number},
    {"<large>", kOfNumbers,
     [](const PostWord& word) { return is_plain_number(word) && word.number.value_or(0) >= 100; }},
    {"<small>", kOfNumbers,
     [](const PostWord& word) { return is_at_most(word, 512) && *word.number >= 1; }},
    {"<temp>", kOfNumbers, [](const PostWord& word) { return is_at_most(word, 2); }},
    {"<bits>", kOfNumbers,
     [](const PostWord& word) { return is_at_most(word, 16) && *word.number > 1; }},
    {"<ctx>", kOfNumbers, is_context},
    {"<figure>", kOfFigures, [](const PostWord& word) { return word.figure; }},
    {"<gguf>", kOfLetters | kOfBoth,
     [](const PostWord& word) { return word.text.ends_with(".gguf"); }},
    {"<family>", kOfLetters | kOfBoth, is_family},
    {"<modelword>", kOfNumbers | kOfLetters | kOfBoth, is_model_word},
    {"<version>", kOfNumbers | kOfBoth,
     [](const PostWord& word) {
       return is_number_text(word.text) && word.text.contains('.') && !word.figure;
     }},
    {"<size>", kOfBoth, is_size},
    {"<quant>", kOfBoth, is_quant},
    {"<kvtype>", kOfBoth, is_kv_type},
    {"<engine>", kOfLetters | kOfBoth, is_engine},
    {"<build>", kOfBoth, is_build},
    {"<hash>", kOfNumbers | kOfBoth, is_hash},
    {"<dotted>", kOfNumbers | kOfBoth, is_dotted},
    {"<gpu>", kOfLetters | kOfBoth, is_gpu},
    {"<gpuname>", kOfNumbers | kOfLetters | kOfBoth,
     [](const PostWord& word) { return is_gpu(word) || is_gpu_number(word); }},
    {"<gpunumber>", kOfNumbers | kOfBoth, is_gpu_number},
    {"<card>", kOfNumbers | kOfBoth, is_card},
    {"<chip>", kOfBoth, is_chip},
    {"<cpumodel>", kOfNumbers | kOfBoth, is_cpu_model},
    {"<pp>", kOfBoth, [](const PostWord& word) { return is_test(word, "pp"); }},
    {"<tg>", kOfBoth, [](const PostWord& word) { return is_test(word, "tg"); }},
    {"<depth>", kOfBoth,
     [](const PostWord& word) { return is_test(word, "d") && word.text.size() >= 4; }},
    {"<osversion>", kOfNumbers | kOfLetters | kOfBoth,
     [](const PostWord& word) { return is_in("7|8|8.1|10|11|server", word.text); }},
    {"<winword>", kOfBoth, is_windows},
    {"<driverword>", kOfBoth, is_driver},
});

}  // namespace

std::uint64_t kinds_of(const PostWord& word) {
  std::uint64_t out = 0;
  const unsigned of = word.figure            ? kOfFigures
                      : word.number          ? kOfNumbers
                      : has_digit(word.text) ? kOfBoth
                                             : kOfLetters;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if ((kKinds[i].of & of) != 0 && kKinds[i].is(word)) out |= std::uint64_t{1} << i;
  }
  return out;
}

std::uint64_t kind_bit(std::string_view name) {
  const auto found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? 0 : std::uint64_t{1} << (found - kKinds.begin());
}

bool is_in(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t bar = list.find('|');
    if (list.substr(0, bar) == word) return true;
    if (bar == std::string_view::npos) return false;
    list.remove_prefix(bar + 1);
  }
  return false;
}

bool ends_clause(const PostWord& word) {
  return is_in(
             "with|and|at|only|using|instead|for|in|but|it|i|because|not|alone|itself|after|while|"
             "when|via|through|to|is|was|gives|gets|get|so|since|though|or|vs|versus|without|as|"
             "then|here|if|the|a|my|until|than|by|backend|inference|this|that|from|which|where",
             word.text) ||
         word.figure || word.number.has_value();
}

}  // namespace picchio::results
