// Text as it comes out of forums, mails and web pages, made readable line by line. Pure.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace picchio::results {

/// The text of a file's bytes: UTF-16 with its mark, as Windows shells redirect it, becomes UTF-8.
/// What holds NUL bytes is no text, and a model file is told from it by name.
[[nodiscard]] Result<std::string> text_of(std::string bytes);

/// The lines of `text` as whoever pasted them had them, but for blanks at their ends: HTML entities
/// and the tags that break lines are undone, quote marks ("> > ", "| ") and backticks taken off,
/// the blanks, dashes and dots that editors put in place of ASCII put back, Windows and old Mac
/// line ends read. Runs of blanks within a line are kept. Printable ASCII, as plain() leaves it.
[[nodiscard]] std::vector<std::string> pasted_lines(std::string_view text);

}  // namespace picchio::results
