// Text scanning and number reading that every reader shares. Pure; no locale is ever consulted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string lower(std::string_view text);  // ASCII only
[[nodiscard]] std::string upper(std::string_view text);  // ASCII only

/// What stands behind the last slash of a path of this machine.
[[nodiscard]] constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}
/// The same of a path of anybody's machine, Windows included.
[[nodiscard]] constexpr std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

/// With a full stop at its end.
[[nodiscard]] std::string with_stop(std::string text);

/// Removes `prefix` from the front of `text` and says whether it was there.
bool take_prefix(std::string_view& text, std::string_view prefix);

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }  // ASCII

/// What stands between the first `open` and the next `close` after it, or nullopt.
[[nodiscard]] std::optional<std::string_view> between(std::string_view text, std::string_view open,
                                                      std::string_view close);

/// Removes leading blanks, then reads a number that `text` must start with and takes it off the
/// front. Decimal point or decimal comma ("0,31"): an engine under a German locale prints commas.
/// "-nan", "nan" and "inf" are not numbers here: nullopt, and `text` keeps them.
[[nodiscard]] std::optional<double> take_double(std::string_view& text);
[[nodiscard]] std::optional<std::int64_t> take_int(std::string_view& text);

/// The whole of `text` (blanks around it allowed) as one number.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text);

/// Splits at LF; a CR before it and a missing last LF do not matter. Views into `text`.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split_blanks(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// `text` without ANSI escape sequences (CSI "ESC [ ... letter", OSC up to BEL or ST, two-byte
/// ones).
[[nodiscard]] std::string without_ansi(std::string_view text);

/// Printable ASCII made of a string from outside (a file name, a GGUF key, an engine's line), fit
/// for a terminal and for pasting: escape sequences go, control bytes and anything that is not
/// valid printable ASCII become '?', one per UTF-8 character, and runs of blanks become one.
[[nodiscard]] std::string plain(std::string_view text);

/// The same for a line whose columns matter: blanks stay as many as they are.
[[nodiscard]] std::string plain_line(std::string_view line);

/// plain(), and in Markdown shown as it is: nothing in it ends a table's cell, or begins code,
/// emphasis, a link, a tag or an entity. '_' stays: within a word, as in Q4_K_M, it begins nothing.
[[nodiscard]] std::string plain_markdown(std::string_view text);

/// At most `width` columns of plain ASCII `text`; a cut ends in "..".
[[nodiscard]] std::string fit(std::string_view text, std::size_t width);

/// Levenshtein distance, for "did you mean".
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// "8.95 B", "7.08 M", "1.00 K", "1.20 T" of a number of parameters; empty for what is none.
[[nodiscard]] std::string format_parameters(double parameters);

/// "5.28 GiB", "15.0 MiB", "812 KiB", "0 B": two digits after the point for GiB, one for MiB.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

}  // namespace picchio
