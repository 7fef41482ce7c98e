// The card of `picchio id` for people: what is inside a model file, whatever its label says.
#pragma once

#include "evidence/card.h"
#include "evidence/card_diff.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// How a card's tensors can be listed below it.
enum class CardListing {
  none,
  tensors,       // every tensor, in the file's order
  by_part,       // one row for each part of the model
  by_layer,      // one row for each block
  by_attention,  // one row for each role in the part: attn_q, attn_k ...
  by_ffn,
  by_experts,
};

struct CardListingName {
  std::string_view word;  // as given to --by
  CardListing listing;
};
/// All values of --by.
[[nodiscard]] std::span<const CardListingName> card_listings();

/// Plain ASCII, at most 66 columns but for the first line and the listings, each line ending in LF.
/// Labels stand in the columns of the established tool of this kind.
[[nodiscard]] std::string card_text(const Card& card, CardListing listing = CardListing::none);

/// One row a file, then the figures over the tensors that all of them share.
[[nodiscard]] std::string card_diff_text(std::span<const Card> cards, const CardDiff& diff);

/// A Markdown table with one row for each card, for a post.
[[nodiscard]] std::string cards_markdown(std::span<const Card> cards);

/// Schema "picchio.id.v1": `cards`, and `comparison` where there are two or more, else null.
/// `all_tensors` adds each card's tensor table. Text rules as of run_json().
[[nodiscard]] std::string cards_json(std::span<const Card> cards,
                                     const std::optional<CardDiff>& diff, bool all_tensors,
                                     int exit_code);

/// What the model is called: Card::label, else the base name of its path or URL; of shards the
/// first's.
[[nodiscard]] std::string card_label(const Card& card);
/// The same as it came, for JSON.
[[nodiscard]] std::string raw_card_label(const Card& card);

}  // namespace picchio
