// Several files side by side: what the figures of each say of the tensors that all of them have.
// The mean over a whole file compares heads and encoders that only one of them carries.
#pragma once

#include "evidence/card.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace picchio {

/// Tensors in all files, with one shape and a price in each.
struct SharedTensors {
  std::int64_t count = 0;
  std::int64_t elements = 0;
  std::vector<std::int64_t> bytes;  // of each file

  [[nodiscard]] std::optional<double> bits_per_weight(std::size_t file) const;
};

/// Shared tensors of one role whose types differ, and the types in each file: "attn_v.weight".
struct RoleDifference {
  std::string role;  // the name with the block's number taken out
  std::int64_t tensors = 0;
  std::vector<std::map<std::string, std::int64_t>> types;  // of each file: type, how many
};

/// A tensor that some of the files lack.
struct PartialTensor {
  std::string name;
  std::vector<std::size_t> in;  // indices of the files that have it
  std::string type;             // in the first of them
  std::int64_t elements = 0;
  std::optional<std::int64_t> bytes;
};

struct CardDiff {
  SharedTensors shared;
  std::int64_t same_type = 0;  // of the shared ones
  std::vector<RoleDifference> differ;
  std::vector<PartialTensor> partial;
  /// In all files, but of different shape or without a price in one: not counted as shared.
  std::vector<std::string> incomparable;
};

/// Of two cards or more.
[[nodiscard]] CardDiff diff_cards(std::span<const Card> cards);

/// "blk.12.attn_v.weight" -> "attn_v.weight"; names without a block's number stay.
[[nodiscard]] std::string role_of(std::string_view tensor_name);

}  // namespace picchio
