#include "commands/shell_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

bool is_safe(char c) {
  const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return alnum || std::string_view("_-./:@%+,").contains(c);
}

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

// Octal digits: the third ends them, whatever follows. \x would go on in some shells.
std::string with_escapes(std::string_view text) {
  std::string out = "$'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (is_printable(c)) {
      out += c;
    } else {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return out + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!std::ranges::all_of(text, is_printable)) return with_escapes(text);
  if (!text.empty() && std::ranges::all_of(text, is_safe)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += R"('\'')";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace picchio
