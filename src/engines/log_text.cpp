#include "engines/log_text.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace picchio {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | (point >> 18U));
    put(0x80U | ((point >> 12U) & 0x3FU));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

// 'd' a digit, anything else itself.
bool matches_at_front(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != shape[i]) return false;
  }
  return true;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

void skip_digits(std::string_view& text) {
  while (!text.empty() && is_digit(text.front())) text.remove_prefix(1);
}

// "2026-05-31T16:40:59.782975459Z ", "2025-11-25T10:02:11+0100 "
bool take_rfc3339(StrippedLine& line) {
  std::string_view text = line.text;
  if (!matches_at_front(text, "dddd-dd-ddTdd:dd:dd")) return false;
  const std::size_t end = text.find(' ');
  if (end > 40) return false;  // npos too
  // With nanoseconds in UTC: docker's and Kubernetes' own clock.
  line.container = line.container || matches_at_front(text, "dddd-dd-ddTdd:dd:dd.dddddddddZ ");
  line.text = text.substr(end + 1);
  return true;
}

// "stderr F ": a line of Kubernetes, behind its clock
bool take_cri(StrippedLine& line) {
  if (!line.container) return false;
  return take_prefix(line.text, "stderr F ") || take_prefix(line.text, "stdout F ");
}

// "2025-11-15 14:23:35.060 " of a fork; "2023/11/27 16:54:54 llama.go:430: " of early ollama
bool take_clock_date(StrippedLine& line) {
  std::string_view text = line.text;
  if (!matches_at_front(text, "dddd-dd-dd dd:dd:dd") &&
      !matches_at_front(text, "dddd/dd/dd dd:dd:dd")) {
    return false;
  }
  text.remove_prefix(19);
  if (text.starts_with('.')) text.remove_prefix(1);
  skip_digits(text);
  if (!text.starts_with(' ')) return false;
  text = without_blanks(text);
  const std::size_t go = text.find(".go:");
  if (go < 40) {
    std::string_view rest = text.substr(go + 4);
    skip_digits(rest);
    if (take_prefix(rest, ": ")) text = rest;
  }
  line.text = text;
  return true;
}

// "[llama-cpp] ", "[33781] ", "[2025-07-21 10:37:49.269985] ", "[CORTEX]::Error: "
bool take_bracket(StrippedLine& line) {
  std::string_view text = line.text;
  if (!text.starts_with('[')) return false;
  const std::size_t end = text.find(']');
  if (end > 48 || end + 1 >= text.size()) return false;
  text.remove_prefix(end + 1);
  if (take_prefix(text, "::")) {
    const std::size_t colon = text.find(": ");
    if (colon > 16) return false;
    text.remove_prefix(colon + 2);
  } else if (text.front() != ' ' && text.front() != '[') {
    return false;
  }
  line.text = text;
  return true;
}

// "ollama-1  | " of docker compose
bool take_compose(StrippedLine& line) {
  const std::string_view text = line.text;
  std::size_t i = 0;
  while (i < text.size() && (is_letter(text[i]) || is_digit(text[i]) || text[i] == '-' ||
                             text[i] == '_' || text[i] == '.')) {
    ++i;
  }
  if (i == 0 || i > 40) return false;
  std::size_t bar = i;
  while (bar < text.size() && text[bar] == ' ') ++bar;
  if (bar == i || !text.substr(bar).starts_with("| ")) return false;
  line.text = text.substr(bar + 2);
  line.container = true;
  return true;
}

// "host ollama[1391]: ", behind a date that the system's language wrote: "Sep 05 09:20:35 ",
// "2\xE6\x9C\x88 02 19:28:37 ", or none (its ISO form is already gone)
bool take_journal(StrippedLine& line) {
  const std::string_view text = line.text;
  const std::size_t end = text.substr(0, 160).find("]: ");
  if (end == std::string_view::npos) return false;
  std::size_t open = end;
  while (open > 0 && is_digit(text[open - 1])) --open;
  if (open == 0 || open == end || text[open - 1] != '[') return false;
  const auto words = split_blanks(text.substr(0, open - 1));
  if (words.size() < 2 || words.size() > 6) return false;
  const bool bare = words.size() == 2;
  const bool dated = words.size() >= 3 && matches_at_front(words[words.size() - 3], "dd:dd:dd");
  if (!bare && !dated) return false;
  line.text = text.substr(end + 3);
  return true;
}

// "5:52PM DBG GRPC(model-addr): stderr " of LocalAI
bool take_grpc(StrippedLine& line) {
  const std::string_view text = line.text;
  const std::size_t at = text.substr(0, 80).find("GRPC(");
  if (at == std::string_view::npos) return false;
  for (const std::string_view stream : {"): stderr ", "): stdout "}) {
    const std::size_t end = text.find(stream, at);
    if (end == std::string_view::npos) continue;
    line.text = text.substr(end + stream.size());
    return true;
  }
  return false;
}

// "0.00.061.339 I ": minutes, seconds, milliseconds, microseconds and the level
bool take_engine_clock(StrippedLine& line) {
  std::string_view text = line.text;
  skip_digits(text);
  if (text.size() == line.text.size() || !matches_at_front(text, ".dd.ddd.ddd ")) return false;
  line.text = text.substr(12);
  return true;
}

bool take_level(StrippedLine& line) {
  const std::string_view text = line.text;
  if (text.size() < 2 || text[1] != ' ' || !std::string_view("IWED").contains(text[0]))
    return false;
  line.level = text[0];
  line.text = text.substr(2);
  return true;
}

// A quoted line of an issue
bool take_quote(StrippedLine& line) { return take_prefix(line.text, "> "); }

// Progress dots that had no line end of their own
bool take_dots(StrippedLine& line) {
  const std::size_t end = line.text.find_first_not_of('.');
  if (end == std::string_view::npos || end < 3) return false;
  line.text.remove_prefix(end);
  return true;
}

constexpr bool (*kWrappers[])(StrippedLine&) = {
    take_rfc3339, take_cri,          take_clock_date, take_bracket, take_compose, take_journal,
    take_grpc,    take_engine_clock, take_level,      take_quote,   take_dots,
};

struct SlogPair {
  std::string_view key;    // without quotes
  std::string_view value;  // as written, quotes included
};

// End of the quoted string that starts at text[0] == '"', behind its closing quote.
std::size_t quoted_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

std::optional<SlogPair> take_pair(std::string_view& text) {
  while (true) {
    text = without_blanks(text);
    if (text.empty()) return std::nullopt;
    SlogPair pair;
    std::size_t at = 0;
    if (text.front() == '"') {
      at = quoted_length(text);
      pair.key = text.substr(1, at >= 2 ? at - 2 : 0);
    } else {
      at = std::min(text.find_first_of(" ="), text.size());
      pair.key = text.substr(0, at);
    }
    text.remove_prefix(at);
    if (!text.starts_with('=')) {
      if (at == 0) text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    const std::size_t end =
        text.starts_with('"') ? quoted_length(text) : std::min(text.find(' '), text.size());
    pair.value = text.substr(0, end);
    text.remove_prefix(end);
    return pair;
  }
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    switch (text[i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'u':
        if (const auto code = text.substr(i + 1, 4); code.size() == 4) {
          std::uint32_t point = 0;
          for (const char c : code) {
            const std::size_t digit = std::string_view("0123456789abcdef").find(lower({&c, 1})[0]);
            point = point * 16 +
                    static_cast<std::uint32_t>(digit == std::string_view::npos ? 0 : digit);
          }
          append_utf8(out, point);
          i += 4;
        }
        break;
      default:
        out += text[i];
        break;
    }
  }
  return out;
}

std::string slog_text(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  value.remove_prefix(1);
  if (value.ends_with('"')) value.remove_suffix(1);
  return unescaped(value);
}

std::size_t behind_json_key(std::string_view line, std::string_view key) {
  std::string needle;
  needle.reserve(key.size() + 2);
  needle.append("\"").append(key).append("\"");
  std::size_t at = line.find(needle);
  if (at == std::string_view::npos) return at;
  at = line.find_first_not_of(' ', at + needle.size());
  if (at == std::string_view::npos || line[at] != ':') return std::string_view::npos;
  return line.find_first_not_of(' ', at + 1);
}

}  // namespace

std::optional<std::string> utf8_of_utf16(std::string_view bytes) {
  const bool little_mark = bytes.starts_with("\xFF\xFE");
  const bool big_mark = bytes.starts_with("\xFE\xFF");
  if (!little_mark && !big_mark) {
    // Without a mark: plain ASCII text has no zero byte at all, its UTF-16 has one in two.
    const std::string_view head = bytes.substr(0, 64);
    const auto zeros = static_cast<std::size_t>(std::ranges::count(head, '\0'));
    if (head.size() < 8 || zeros * 5 < head.size() * 2) return std::nullopt;
  }
  const bool big = big_mark || (!little_mark && bytes.front() == '\0');
  const auto unit = [bytes, big](std::size_t i) {
    const auto a = static_cast<unsigned char>(bytes[i]);
    const auto b = static_cast<unsigned char>(bytes[i + 1]);
    return static_cast<std::uint32_t>(big ? (a << 8U) | b : (b << 8U) | a);
  };
  std::string out;
  out.reserve(bytes.size() / 2);
  for (std::size_t i = little_mark || big_mark ? 2 : 0; i + 1 < bytes.size(); i += 2) {
    std::uint32_t point = unit(i);
    if (point >= 0xD800 && point < 0xDC00 && i + 3 < bytes.size()) {
      const std::uint32_t low = unit(i + 2);
      if (low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10U) + (low - 0xDC00);
        i += 2;
      }
    }
    append_utf8(out, point);
  }
  return out;
}

std::string without_entities(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kEntities = {{
      {"&lt;", "<"},
      {"&gt;", ">"},
      {"&amp;", "&"},
      {"&quot;", "\""},
      {"&#39;", "'"},
      {"&#34;", "\""},
      {"&apos;", "'"},
      {"&nbsp;", " "},
  }};
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto* const entity = std::ranges::find_if(
        kEntities, [text](const auto& e) { return text.starts_with(e.first); });
    if (entity != kEntities.end()) {
      out += entity->second;
      text.remove_prefix(entity->first.size());
      continue;
    }
    const std::size_t next = std::min(text.find('&', 1), text.size());
    out += text.substr(0, next);
    text.remove_prefix(next);
  }
  return out;
}

StrippedLine strip_wrappers(std::string_view line) {
  StrippedLine out{trim(line), 0};
  // Each wrapper at most once: three or four stacked ones have been seen, in differing order.
  std::array<bool, std::size(kWrappers)> taken{};
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < std::size(kWrappers) && !again; ++i) {
      const bool repeats = kWrappers[i] == take_bracket;
      if (taken[i] && !repeats) continue;
      again = kWrappers[i](out);
      taken[i] = taken[i] || again;
    }
    out.text = trim(out.text);
  }
  return out;
}

std::optional<std::string> json_string(std::string_view line, std::string_view key) {
  const std::size_t at = behind_json_key(line, key);
  if (at == std::string_view::npos || line[at] != '"') return std::nullopt;
  line.remove_prefix(at);
  std::string_view value = line.substr(1, quoted_length(line) - 1);
  if (value.ends_with('"')) value.remove_suffix(1);
  return unescaped(value);
}

std::optional<std::string_view> json_number(std::string_view line, std::string_view key) {
  const std::size_t at = behind_json_key(line, key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at);
  const std::string_view value = line.substr(0, line.find_first_not_of("-+.0123456789eE"));
  if (value.empty()) return std::nullopt;
  return value;
}

std::optional<std::string> slog_value(std::string_view line, std::string_view key) {
  while (const auto pair = take_pair(line)) {
    if (pair->key == key) return slog_text(pair->value);
  }
  return std::nullopt;
}

std::string readable(std::string_view line) {
  if (!line.starts_with("time=") || !line.contains(" msg=")) return std::string(line);
  std::string message;
  std::string rest;
  while (const auto pair = take_pair(line)) {
    if (pair->key == "msg") {
      message = slog_text(pair->value);
    } else if (pair->key != "time" && pair->key != "level" && pair->key != "source") {
      rest.append(" ").append(pair->key).append("=").append(pair->value);
    }
  }
  return message + rest;
}

std::string_view take_last_word(std::string_view& text) {
  text = trim(text);
  const std::size_t blank = text.find_last_of(" \t");
  const std::string_view word = blank == std::string_view::npos ? text : text.substr(blank + 1);
  text.remove_suffix(word.size());
  return word;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [text](std::string_view word) { return text.contains(word); });
}

}  // namespace picchio
