// What chats, diffs, lists, listings and Markdown put around each line of a block. Pure; the lines
// are those of pasted_lines().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::results {

/// "model    NAME, ..., ENGINE", whatever mark stands before it. Prose may begin so as well.
[[nodiscard]] bool begins_block(std::string_view line);

/// The lines from `begin`, which begins a block, up to the next one that does, at most `most`: with
/// the marks off that stand before the first ("12: ", "[10:22:13] ", "<bob> ", "+ "), Markdown's
/// escapes undone and the cells of a table set apart by blanks.
[[nodiscard]] std::vector<std::string> bare_lines(const std::vector<std::string>& lines,
                                                  std::size_t begin, std::size_t most);

/// `text` without the marks of emphasis, anywhere in it.
[[nodiscard]] std::string without_emphasis(std::string_view text);

/// `line` without emphasis and without what is neither letter nor digit, nor an emoji's name, at
/// its front.
[[nodiscard]] std::string without_odd_front(std::string_view line);

}  // namespace picchio::results
