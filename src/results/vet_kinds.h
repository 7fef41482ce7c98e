// Kinds of words that patterns name: "<ctx>", "<quant>", "<gpu>". Pure. Private to vet*.cpp.
#pragma once

#include "results/post_words.h"

#include <string_view>

namespace picchio::results {

/// Whether `word` is of the kind, "<n>" among them; a kind that does not exist has no words.
[[nodiscard]] bool is_kind(std::string_view name, const PostWord& word);
/// For a test of the table.
[[nodiscard]] bool is_known_kind(std::string_view name);

/// Whether `word` is one of "a|b|c".
[[nodiscard]] bool is_in(std::string_view list, std::string_view word);

/// Behind which "on the CPU" is the whole of it: "on the CPU fan" is not.
[[nodiscard]] bool ends_clause(const PostWord& word);

}  // namespace picchio::results
