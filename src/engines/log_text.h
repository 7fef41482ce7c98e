// Text forms a log line can arrive in: encodings, wrapper prefixes, JSON and Go's slog.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// UTF-8 of a text that looks like UTF-16 (byte order mark, or every second byte zero); nullopt
/// when it does not.
[[nodiscard]] std::optional<std::string> utf8_of_utf16(std::string_view bytes);

/// `&lt; &gt; &amp; &quot; &#39; &apos; &nbsp;` replaced.
[[nodiscard]] std::string without_entities(std::string_view text);

struct StrippedLine {
  std::string_view text;
  char level = 0;          // 'E', 'W', 'I' or 'D' of the engine's own prefix; 0: it had none
  bool container = false;  // docker, compose or Kubernetes put something in front of it
};

/// `line` without what journald, docker, Kubernetes, a router, a front end or the engine's own
/// clock put in front of it. The text is a suffix of `line`, without blanks around it.
[[nodiscard]] StrippedLine strip_wrappers(std::string_view line);

/// Value of a string field of a one-line JSON object, unescaped: `"msg":"..."`.
[[nodiscard]] std::optional<std::string> json_string(std::string_view line, std::string_view key);
/// Raw text of a number field: `"build":1021` -> "1021".
[[nodiscard]] std::optional<std::string_view> json_number(std::string_view line,
                                                          std::string_view key);

/// Value of `key=value` or `key="quoted value"` of a slog line, unescaped. Keys with blanks are
/// quoted there; `key` is given without quotes.
[[nodiscard]] std::optional<std::string> slog_value(std::string_view line, std::string_view key);

/// A slog line as a person reads it: the message, then the other pairs; any other text unchanged.
[[nodiscard]] std::string readable(std::string_view line);

/// Removes the last blank-separated word of `text` and returns it.
[[nodiscard]] std::string_view take_last_word(std::string_view& text);
[[nodiscard]] bool contains_any(std::string_view text,
                                std::initializer_list<std::string_view> words);

}  // namespace picchio
