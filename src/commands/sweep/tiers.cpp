#include "commands/sweep/tiers.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio {
namespace {

constexpr std::array<std::int64_t, 3> kUsual = {4096, 16384, 32768};
constexpr std::int64_t kKibi = 1024;
constexpr std::int64_t kMostTier = std::int64_t{1} << 30;
constexpr std::size_t kMostTiers = 32;
// Engines pad contexts to so many cells.
constexpr std::int64_t kStep = 256;
// Between the prompt's end and what is generated: some engines keep four tokens back, and the
// opening that differs on every pass has not always as many tokens.
constexpr std::int64_t kSlack = 16;

std::optional<std::int64_t> tier_of(std::string_view word) {
  std::int64_t unit = 1;
  if (word.ends_with('k') || word.ends_with('K')) {
    unit = kKibi;
    word.remove_suffix(1);
  }
  const auto number = parse_int(word);
  if (!number || *number < 1 || *number > kMostTier / unit) return std::nullopt;
  return *number * unit;
}

}  // namespace

Result<std::vector<std::int64_t>> read_tiers(std::string_view text) {
  std::vector<std::int64_t> out;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view word = trim(part);
    const auto tier = tier_of(word);
    if (!tier) {
      return with_hint(
          fail(ErrorKind::unsupported, "'{}' is no context size", fit(plain(word), 40)),
          "give sizes in tokens: --ctx-sweep 4096,16k,32k");
    }
    if (*tier < kLeastTier) {
      return fail(ErrorKind::unsupported,
                  "a context of {} tokens is too small to be swept: {} are the least", *tier,
                  kLeastTier);
    }
    out.push_back(*tier);
  }
  std::ranges::sort(out);
  const auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  if (out.size() > kMostTiers) {
    return fail(ErrorKind::unsupported, "{} context sizes are too many: {} are the most",
                out.size(), kMostTiers);
  }
  return out;
}

Result<std::vector<std::int64_t>> usual_tiers(std::optional<std::int64_t> most) {
  std::vector<std::int64_t> out(kUsual.begin(), kUsual.end());
  if (!most) return out;
  if (*most < kLeastTier) {
    return fail(ErrorKind::unsupported,
                "a context of {} tokens is too small to be swept: {} are the least", *most,
                kLeastTier);
  }
  std::erase_if(out, [&](std::int64_t tier) { return tier > *most; });
  if (out.size() >= 2) return out;
  out.clear();
  for (const std::int64_t part : {4, 2, 1}) {
    const std::int64_t tier = *most / part;
    const std::int64_t even = part == 1 ? tier : tier / kStep * kStep;
    out.push_back(std::max(even, kLeastTier));
  }
  const auto [first, last] = std::ranges::unique(out);
  out.erase(first, last);
  return out;
}

std::optional<PromptLength> PromptLength::of(std::int64_t short_tokens, std::int64_t long_tokens) {
  const auto is_count = [](std::int64_t tokens) { return tokens > 0 && tokens < kMostTier; };
  if (!is_count(short_tokens) || !is_count(long_tokens)) return std::nullopt;
  const double page = static_cast<double>(long_tokens - short_tokens) / (kLong - kShort);
  const double around = static_cast<double>(short_tokens) - kShort * page;
  // A page has 79 words, which no vocabulary puts into fewer tokens than words.
  constexpr double kLeastOfPage = 40;
  if (page < kLeastOfPage || around < 0) return std::nullopt;
  return PromptLength(around, page);
}

PromptLength::Filling PromptLength::filling_of(std::int64_t context) const {
  const double room =
      (static_cast<double>(context - llama_cpp::kGenerate - kSlack) - around_) / page_;
  if (room < 1) return {};
  Filling out;
  if (room >= kMostPages) return {kMostPages, 0};
  out.pages = static_cast<int>(std::floor(room));
  // The words of a page are not alike: some of the room is left to those that take more.
  constexpr double kSurely = 0.85;
  out.words = static_cast<int>(
      std::floor(kSurely * llama_cpp::kWordsOfParagraph * (room - static_cast<double>(out.pages))));
  return out;
}

std::int64_t PromptLength::tokens_of(const Filling& filling) const {
  const double pages =
      filling.pages + static_cast<double>(filling.words) / llama_cpp::kWordsOfParagraph;
  return std::llround(around_ + page_ * pages);
}

void PromptLength::learn(const Filling& filling, std::int64_t tokens) {
  if (filling.pages <= kLong) return;
  const double pages =
      filling.pages + static_cast<double>(filling.words) / llama_cpp::kWordsOfParagraph;
  const double page = (static_cast<double>(tokens) - around_) / pages;
  if (page > 0) page_ = page;
}

std::string why_not_of_size(std::int64_t context, const PromptLength::Filling& filling,
                            std::optional<std::int64_t> n_ctx, std::optional<std::int64_t> filled) {
  if (n_ctx && *n_ctx < context) {
    return fmt::format("the engine took a context of {} tokens only", *n_ctx);
  }
  constexpr double kFull = 0.75;
  const auto room = static_cast<double>(context - llama_cpp::kGenerate);
  // Of the shortest prompts the opening and the question are a large part.
  const bool long_enough = filling.pages > PromptLength::kLong;
  if (long_enough && filled && static_cast<double>(*filled) < kFull * room) {
    return fmt::format("only {} tokens of the prompt were read, so the context was not filled",
                       *filled);
  }
  return "";
}

std::string tier_protocol(std::int64_t context) { return fmt::format("ctx1-{}", context); }

}  // namespace picchio
