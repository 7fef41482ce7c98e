// From headers to the card of what is inside a model.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "gguf/header.h"
#include "gguf/shards.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio::gguf {

/// The card of one model from the headers of all its shards, in order; `paths[i]` is where
/// `shards[i]` was read. All but CardFile::digest is filled. Headers may be those of
/// Accept::readable: what they were objected to for is on the card. Refused, naming the shard:
/// shards missing, out of order, of different sets, a tensor in two of them.
///
/// Where Card leaves room:
/// - keys, version, byte order and alignment are the first shard's.
/// - active_parameters counts tensors without a price as well, and the whole input embedding: the
///   usual meaning of the word. bytes_per_token is ModelFile's; absent where a tensor that a token
///   reads has no price. Both are absent where expert counts contradict each other.
/// - audit sums over the shards.
[[nodiscard]] Result<Card> card_of(std::vector<Header> shards, std::vector<std::string> paths);

/// A tensor as a server lists it.
struct TableRow {
  std::string name;
  std::string type;                 // in any case: "Q4_K", "q4_K"
  std::vector<std::int64_t> shape;  // shape[0] is the row, as in a file
};

/// The card of a table that is no file (ollama's /api/show). `values` is a header of which the
/// fields that the server tells are set, and `path` names the model. No audit is made, for the
/// reason in Card::audit.none_because; file sizes and key count are not known.
[[nodiscard]] Result<Card> card_of_table(Header values, const std::vector<TableRow>& rows,
                                         std::string path);

}  // namespace picchio::gguf
