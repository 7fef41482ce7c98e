// What one decoded token uses of a model, by the names of its tensors. The rules behind both
// ModelFile and Card.
#pragma once

#include "gguf/header.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// N of "blk.N.", -1 for other names.
[[nodiscard]] int block_of(std::string_view name);

/// Kept in host memory whatever is offloaded: token_embd and kin.
[[nodiscard]] bool always_on_host(std::string_view name);

/// Whether the input embedding serves as the head too: no output.weight in any shard. Encoders have
/// no head.
[[nodiscard]] bool has_tied_output(const std::vector<Header>& shards);

class TokenUse {
 public:
  /// `first` is the shard with the values. Counts that contradict each other (check_values() says
  /// which) are taken as if they were absent.
  TokenUse(const Header& first, bool tied_output);

  /// False where the counts of experts contradict each other: then nobody knows what a token uses.
  [[nodiscard]] bool adds_up() const { return adds_up_; }

  /// A block of next-token prediction, which engines do not load unless asked.
  [[nodiscard]] bool skips(int block) const;
  /// Parameters that a token uses: none of skipped blocks, of experts the share in use, all of the
  /// others.
  [[nodiscard]] std::int64_t parameters(const HeaderTensor& tensor) const;
  /// Bytes that a token reads: the same, but one row of a table that is looked up by token or
  /// position. A tied head reads the whole of token_embd. 0 for a tensor without a price.
  [[nodiscard]] std::int64_t bytes(const HeaderTensor& tensor) const;

 private:
  [[nodiscard]] std::int64_t share(const HeaderTensor& tensor, std::int64_t whole) const;

  std::int64_t experts_ = 0;  // 0: no model of experts
  std::int64_t used_ = 0;
  std::int64_t first_skipped_ = 0;  // block
  bool tied_output_ = false;
  bool adds_up_ = true;
};

}  // namespace picchio::gguf
