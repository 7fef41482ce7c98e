// The context sizes of a sweep, and the prompts that fill them. Pure.
#pragma once

#include "base/result.h"
#include "engines/llama_cpp/prompt.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// The prompt of the shortest has three pages.
inline constexpr std::int64_t kLeastTier = 512;

/// "4096,16k,32K" (k: 1024 tokens) in ascending order, none twice. Errors name the word.
[[nodiscard]] Result<std::vector<std::int64_t>> read_tiers(std::string_view text);

/// Without a wish: 4096, 16384 and 32768; where fewer than two of them go in, a quarter, a half and
/// all of what does. Errors: not even the least goes in. `most` absent: not known.
[[nodiscard]] Result<std::vector<std::int64_t>> usual_tiers(std::optional<std::int64_t> most);

/// How many tokens the engine makes of a prompt, by its own counts of two short ones.
class PromptLength {
 public:
  PromptLength() = default;         // nothing was counted: not even one page goes in
  static constexpr int kShort = 1;  // pages of the two
  static constexpr int kLong = 3;
  /// Their numbers have five digits. Some nine million tokens, 46 MB.
  static constexpr int kMostPages = 99'999;

  /// Absent: two counts that no text of these lengths has.
  [[nodiscard]] static std::optional<PromptLength> of(std::int64_t short_tokens,
                                                      std::int64_t long_tokens);

  struct Filling {
    int pages = 0;
    int words = 0;  // of one more page
  };

  /// As much as leaves room for what is generated. No page: not even one goes in.
  [[nodiscard]] Filling filling_of(std::int64_t context) const;
  /// About; the engine counts what it gets.
  [[nodiscard]] std::int64_t tokens_of(const Filling& filling) const;

  /// A longer prompt was counted: what it has to each page is nearer to what comes.
  void learn(const Filling& filling, std::int64_t tokens);

 private:
  PromptLength(double around, double page) : around_(around), page_(page) {}

  double around_ = 0;  // tokens besides the pages
  double page_ = 1e18;
};

/// Why a run tells nothing of this context: the engine took a smaller one (`n_ctx`), or did not
/// read the prompt that was to fill it (`filled`, tokens by its count). Empty: it does. Absent: not
/// told.
[[nodiscard]] std::string why_not_of_size(std::int64_t context,
                                          const PromptLength::Filling& filling,
                                          std::optional<std::int64_t> n_ctx,
                                          std::optional<std::int64_t> filled);

/// "ctx1-16384": of the sweep's first protocol at this context, so that runs are compared with
/// their like.
[[nodiscard]] std::string tier_protocol(std::int64_t context);

}  // namespace picchio
