// Kinds of words that patterns name: "<ctx>", "<quant>", "<gpu>". Pure. Private to vet*.cpp.
#pragma once

#include "results/post_words.h"

#include <cstdint>
#include <string_view>

namespace picchio::results {

/// A bit for each kind that `word` is of, "<n>" among them.
[[nodiscard]] std::uint64_t kinds_of(const PostWord& word);
/// The bit of the kind `name`; 0: it does not exist.
[[nodiscard]] std::uint64_t kind_bit(std::string_view name);

/// Whether `word` is one of "a|b|c".
[[nodiscard]] bool is_in(std::string_view list, std::string_view word);

/// Behind which "on the CPU" is the whole of it: "on the CPU fan" is not.
[[nodiscard]] bool ends_clause(const PostWord& word);

}  // namespace picchio::results
