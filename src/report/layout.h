// Laying out plain ASCII text in columns: what every renderer of this folder shares.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::report {

/// Breaks `text` at blanks into lines of at most `width` columns; all lines but the first start
/// with `indent` blanks. A word longer than a line is broken at the edge, so no line is ever wider.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width,
                                            std::size_t indent);

/// The first `rows` lines of wrap(); a cut ends in "..".
[[nodiscard]] std::vector<std::string> wrap_to(std::string_view text, std::size_t width,
                                               std::size_t indent, std::size_t rows);

/// Splits prose after ". ", "! " and "? ". A point inside "5.28 GiB" or "b1.2" is not an end.
[[nodiscard]] std::vector<std::string> sentences(std::string_view text);

/// A remark as a sentence: first letter upper case, a full stop at its end. Empty stays empty.
[[nodiscard]] std::string as_sentence(std::string_view text);

}  // namespace picchio::report
