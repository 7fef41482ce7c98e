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
                                   Spelling{"\xE2\x80\x95", "--"},
                                   Spelling{"\xE2\x80\xA2", "*"},
                                   Spelling{"\xE2\x81\x84", "/"},
                                   Spelling{"\xE2\x88\x95", "/"},
                                   Spelling{"\xE2\x94\x82", "|"},
                                   Spelling{"\xE2\x94\x83", "|"},
                                   Spelling{"\xE2\x95\x91", "|"},
                                   Spelling{"\xE2\x96\x8C", "|"},
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
    Spelling{"&frasl;", "/"},   Spelling{"&#8260;", "/"}, Spelling{"&bull;", "*"},
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

/// The length of the tag that `rest` starts with, 0: none; `meant`: what stands in its place.
std::size_t tag_length(std::string_view rest, std::string_view& meant) {
  constexpr std::size_t kLongestTag = 400;  // with its attributes
  const std::size_t end = rest.substr(0, kLongestTag).find('>');
  if (end == std::string_view::npos) return 0;
  std::string_view inside = rest.substr(1, end - 1);
  take_prefix(inside, "/");
  const std::string name = lower(inside.substr(0, inside.find_first_of(" /\n")));
  if (std::ranges::find(kTags, name) == kTags.end()) return 0;
  const bool breaks = std::ranges::find(kBreakingTags, name) != kBreakingTags.end();
  const bool cell = name == "td" || name == "th";
  meant = breaks ? "\n" : cell ? " " : "";
  return end + 1;
}

/// `text` with what `length_at` finds at each of `heads` replaced. Text between is taken in runs: a
/// post may be one line of some megabytes.
template <class LengthAt>
std::string replaced(std::string_view text, std::string_view heads, const LengthAt& length_at) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const std::size_t head = text.find_first_of(heads);
    out += text.substr(0, head);
    if (head == std::string_view::npos) return out;
    text.remove_prefix(head);
    std::string_view meant = text.substr(0, 1);
    const std::size_t length = std::max<std::size_t>(length_at(text, meant), 1);
    out += meant;
    text.remove_prefix(length);
  }
}

/// Entities undone. Twice: some pages show what was escaped already.
std::string without_entities(std::string text) {
  for (int round = 0; round < 2 && text.contains('&'); ++round) {
    text = replaced(text, "&", [](std::string_view rest, std::string_view& meant) {
      const Spelling* entity = spelling_at(rest, kEntities);
      if (entity != nullptr) meant = entity->meant;
      return entity != nullptr ? entity->found.size() : std::size_t{0};
    });
  }
  return text;
}

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

std::string in_ascii(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  while (true) {
    const auto odd = std::ranges::find_if_not(line, is_printable);
    const auto run = static_cast<std::size_t>(odd - line.begin());
    out += line.substr(0, run);
    if (run == line.size()) return out;
    line.remove_prefix(run);
    const Spelling* spelling = spelling_at(line, kSpellings);
    out += spelling != nullptr ? spelling->meant : line.substr(0, 1);
    line.remove_prefix(spelling != nullptr ? spelling->found.size() : 1);
  }
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
  constexpr std::string_view kQuotes = "> |`";
  while (!line.empty() && kQuotes.contains(line.front())) {
    const bool spoiler = line.starts_with(">!");
    line.remove_prefix(spoiler ? 2 : 1);
  }
  constexpr std::string_view kEnds = " `|";
  while (!line.empty() && (kEnds.contains(line.back()) || line.ends_with("!<"))) {
    line.remove_suffix(line.ends_with("!<") ? 2 : 1);
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
  if (body.contains('<')) body = replaced(body, "<", tag_length);
  body = without_entities(std::move(body));
  // Old Macs end a line in CR; split_lines() takes care of Windows.
  if (!body.contains('\n')) std::ranges::replace(body, '\r', '\n');
  std::vector<std::string> out;
  for (const std::string_view whole : split_lines(body)) {
    const std::string ascii = in_ascii(whole);
    const std::string_view line = without_quotes(ascii);
    out.push_back(std::ranges::all_of(line, is_printable) ? std::string(line) : plain_line(line));
  }
  return out;
}

}  // namespace picchio::results
