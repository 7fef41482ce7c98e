#include "results/pasted_text.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace picchio::results {
namespace {

struct Spelling {
  std::string_view found;
  std::string_view meant;
};

// What editors, forums and mail programs make of ASCII. Soft hyphens and joiners vanish.
constexpr std::array kSpellings = {Spelling{"\xC2\xA0", " "},
                                   Spelling{"\xE2\x80\xAF", " "},
                                   Spelling{"\xE2\x80\x87", " "},
                                   Spelling{"\xE2\x80\x82", " "},
                                   Spelling{"\xE2\x80\x83", " "},
                                   Spelling{"\xE2\x80\x89", " "},
                                   Spelling{"\xE2\x80\x8B", ""},
                                   Spelling{"\xE2\x81\xA0", ""},
                                   Spelling{"\xEF\xBB\xBF", ""},
                                   Spelling{"\xC2\xAD", ""},
                                   Spelling{"\xE2\x80\x93", "-"},
                                   Spelling{"\xE2\x80\x92", "-"},
                                   Spelling{"\xE2\x80\x94", "--"},
                                   Spelling{"\xE2\x88\x92", "-"},
                                   Spelling{"\xE2\x80\x90", "-"},
                                   Spelling{"\xE2\x80\x91", "-"},
                                   Spelling{"\xE2\x80\xA6", ".."},
                                   Spelling{"\xE2\x88\xBC", "~"},
                                   Spelling{"\xE2\x80\x98", "'"},
                                   Spelling{"\xE2\x80\x99", "'"},
                                   Spelling{"\xE2\x80\x9C", "\""},
                                   Spelling{"\xE2\x80\x9D", "\""},
                                   Spelling{"\t", "  "}};

constexpr std::array kEntities = {
    Spelling{"&lt;", "<"},      Spelling{"&gt;", ">"},    Spelling{"&quot;", "\""},
    Spelling{"&#34;", "\""},    Spelling{"&apos;", "'"},  Spelling{"&#39;", "'"},
    Spelling{"&#x27;", "'"},    Spelling{"&nbsp;", " "},  Spelling{"&#160;", " "},
    Spelling{"&#xa0;", " "},    Spelling{"&#xA0;", " "},  Spelling{"&#32;", " "},
    Spelling{"&#126;", "~"},    Spelling{"&#x2f;", "/"},  Spelling{"&#47;", "/"},
    Spelling{"&#43;", "+"},     Spelling{"&#x2b;", "+"},  Spelling{"&#124;", "|"},
    Spelling{"&hellip;", ".."}, Spelling{"&ndash;", "-"}, Spelling{"&mdash;", "--"},
    Spelling{"&amp;", "&"}};

// Of HTML; any other "<...>" is what somebody wrote.
constexpr std::array<std::string_view, 24> kTags = {
    "br",   "p",    "div", "li", "ul", "ol",     "tr", "td",   "th", "table",      "tbody", "pre",
    "code", "span", "b",   "i",  "em", "strong", "tt", "samp", "a",  "blockquote", "body",  "html"};
constexpr std::array<std::string_view, 9> kBreakingTags = {"br",  "p",  "div",        "li",   "tr",
                                                           "pre", "ul", "blockquote", "table"};

const Spelling* spelling_at(std::string_view rest, const auto& table) {
  const auto found = std::ranges::find_if(
      table, [&](const Spelling& each) { return rest.starts_with(each.found); });
  return found == table.end() ? nullptr : &*found;
}

/// The length of the tag that `rest` starts with, 0: none.
std::size_t tag_length(std::string_view rest, bool& breaks) {
  constexpr std::size_t kLongestTag = 400;  // with its attributes
  const std::size_t end = rest.substr(0, kLongestTag).find('>');
  if (end == std::string_view::npos) return 0;
  std::string_view inside = rest.substr(1, end - 1);
  take_prefix(inside, "/");
  const std::string name = lower(inside.substr(0, inside.find_first_of(" /\n")));
  if (std::ranges::find(kTags, name) == kTags.end()) return 0;
  breaks = std::ranges::find(kBreakingTags, name) != kBreakingTags.end();
  return end + 1;
}

/// Entities undone. Twice: some pages show what was escaped already.
std::string without_entities(std::string_view text) {
  std::string out(text);
  for (int round = 0; round < 2 && out.contains('&'); ++round) {
    std::string next;
    next.reserve(out.size());
    for (std::size_t i = 0; i < out.size();) {
      const Spelling* entity =
          out[i] == '&' ? spelling_at(std::string_view(out).substr(i), kEntities) : nullptr;
      next += entity != nullptr ? entity->meant : std::string_view(out).substr(i, 1);
      i += entity != nullptr ? entity->found.size() : 1;
    }
    out = std::move(next);
  }
  return out;
}

std::string without_tags(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    bool breaks = false;
    const std::size_t length = text[i] == '<' ? tag_length(text.substr(i), breaks) : 0;
    if (length == 0) {
      out += text[i];
    } else if (breaks) {
      out += '\n';
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string in_ascii(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size();) {
    const bool other = line[i] == '\t' || static_cast<unsigned char>(line[i]) >= 0x80;
    const Spelling* spelling = other ? spelling_at(line.substr(i), kSpellings) : nullptr;
    out += spelling != nullptr ? spelling->meant : line.substr(i, 1);
    i += spelling != nullptr ? spelling->found.size() : 1;
  }
  return out;
}

/// `low`: where in each pair of bytes the lower one stands. ASCII and what kSpellings knows matter
/// here; each half of a surrogate pair becomes a '?'.
std::string from_utf16(std::string_view bytes, std::size_t low) {
  std::string out;
  out.reserve(bytes.size() / 2);
  for (std::size_t i = 2; i + 1 < bytes.size(); i += 2) {
    const auto first = static_cast<unsigned char>(bytes[i + low]);
    const auto second = static_cast<unsigned char>(bytes[i + 1 - low]);
    const unsigned unit = first | unsigned{second} << 8U;
    if (unit == 0 || (unit >= 0xD800 && unit < 0xE000)) {
      out += '?';
    } else if (unit < 0x80) {
      out += static_cast<char>(unit);
    } else if (unit < 0x800) {
      out += static_cast<char>(0xC0U | unit >> 6U);
      out += static_cast<char>(0x80U | (unit & 0x3FU));
    } else {
      out += static_cast<char>(0xE0U | unit >> 12U);
      out += static_cast<char>(0x80U | (unit >> 6U & 0x3FU));
      out += static_cast<char>(0x80U | (unit & 0x3FU));
    }
  }
  return out;
}

std::string_view without_quotes(std::string_view line) {
  while (!line.empty() && (line.front() == '>' || line.front() == '|' || line.front() == ' ' ||
                           line.front() == '`')) {
    line.remove_prefix(1);
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == '`' || line.back() == '|')) {
    line.remove_suffix(1);
  }
  return line;
}

}  // namespace

Result<std::string> text_of(std::string bytes) {
  if (bytes.starts_with("\xFF\xFE")) return from_utf16(bytes, 0);
  if (bytes.starts_with("\xFE\xFF")) return from_utf16(bytes, 1);
  if (bytes.starts_with("GGUF")) {
    return with_hint(fail(ErrorKind::unsupported, "it is a model file, and no text"),
                     "picchio id FILE says what is inside");
  }
  if (bytes.contains('\0')) return fail(ErrorKind::unsupported, "it is no text");
  return bytes;
}

std::vector<std::string> pasted_lines(std::string_view text) {
  std::string body = without_ansi(text);
  if (body.contains('<')) body = without_tags(body);
  body = without_entities(body);
  // Old Macs end a line in CR; split_lines() takes care of Windows.
  if (!body.contains('\n')) std::ranges::replace(body, '\r', '\n');
  std::vector<std::string> out;
  for (const std::string_view line : split_lines(body)) {
    out.push_back(plain_line(without_quotes(in_ascii(line))));
  }
  return out;
}

}  // namespace picchio::results
