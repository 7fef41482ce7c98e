#include "results/post_words.h"

#include "base/text.h"
#include "results/pasted_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace picchio::results {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_digit(c) || is_letter(c); }

bool is_any(std::string_view word, const auto& list) {
  return std::ranges::find(list, word) != list.end();
}

struct Sign {
  std::string_view found;
  std::string_view meant;
};

// Those that posts about rates use. pasted_lines() knows the ones that editors put in.
constexpr std::array kSigns = {
    Sign{"\xC2\xB1", " +/- "}, Sign{"\xC3\x97", "x"},      Sign{"\xE2\x89\x88", "~"},
    Sign{"\xE2\x86\x92", " "}, Sign{"\xE2\x80\xA2", "- "}, Sign{"\xC2\xB7", " "},
    Sign{"\xE2\x81\x84", "/"}, Sign{"\xE2\x88\x95", "/"},  Sign{"&plusmn;", " +/- "},
    Sign{"&times;", "x"},      Sign{"&frasl;", "/"},       Sign{"&#8260;", "/"}};

/// What pasted_lines() puts in ASCII itself begins so.
bool is_known_elsewhere(std::string_view rest) {
  constexpr std::array<std::string_view, 6> kHeads = {"\xE2\x80", "\xE2\x88", "\xE2\x81",
                                                      "\xC2\xA0", "\xC2\xAD", "\xEF\xBB"};
  return std::ranges::any_of(kHeads, [&](std::string_view head) { return rest.starts_with(head); });
}

bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string without_foreign(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const bool entity =
        text[i] == '&' && i + 1 < text.size() && (is_letter(text[i + 1]) || text[i + 1] == '#');
    if (static_cast<unsigned char>(text[i]) < 0x80 && !entity) {
      // What begins no entity need not be looked up as one.
      out += text[i] == '&' ? ' ' : text[i];
      ++i;
      continue;
    }
    const std::string_view rest = text.substr(i);
    const auto sign = std::ranges::find_if(
        kSigns, [&](const Sign& each) { return rest.starts_with(each.found); });
    if (sign != kSigns.end()) {
      out += sign->meant;
      i += sign->found.size();
      continue;
    }
    if (static_cast<unsigned char>(text[i]) < 0x80 || is_known_elsewhere(rest)) {
      // All bytes of a character that is left as it is.
      do out += text[i++];
      while (i < text.size() && goes_on(text[i]));
      continue;
    }
    out += ' ';
    do ++i;
    while (i < text.size() && goes_on(text[i]));
  }
  return out;
}

// What may stand right behind a number: "45tok/s", "250W", "8threads".
constexpr std::array<std::string_view, 24> kUnits = {
    "tok",  "toks",  "token",   "tokens", "t",   "tk",  "tps", "w",
    "watt", "watts", "gb",      "gib",    "mb",  "mib", "ms",  "s",
    "bit",  "bits",  "threads", "layers", "ctx", "ish", "c",   "runs"};

/// Cuts lines into words.
class Cutter {
 public:
  explicit Cutter(Post& post) : post_(post) {}

  /// Words before a question mark.
  [[nodiscard]] const std::vector<std::size_t>& asked() const { return asked_; }

  void line(std::size_t index) {
    const std::string& text = post_.lines[index];
    line_ = index + 1;
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string::npos) {
      before_ = Break::sentence;
      return;
    }
    before_ = std::max(before_, Break::line);
    // Behind a line that was not broken for its width comes another thing.
    constexpr std::size_t kShortLine = 45;
    if (index > 0 && post_.lines[index - 1].size() < kShortLine) clause_ = Clause::hard;
    // A list, a heading, a row of a table.
    const std::string_view rest = std::string_view(text).substr(first);
    for (const std::string_view mark : {"- ", "* ", "#", "+ "}) {
      if (rest.starts_with(mark)) before_ = Break::sentence;
    }
    for (std::size_t at = first; at < text.size();) at = next(text, at);
  }

  void gap() { before_ = Break::sentence; }

 private:
  void add(std::string_view text, std::size_t begin, std::size_t end,
           std::optional<double> number = std::nullopt) {
    PostWord word;
    word.text = lower(text);
    word.number = number;
    word.before = std::exchange(before_, Break::none);
    word.clause = std::exchange(clause_, Clause::none);
    word.line = line_;
    word.begin = begin;
    word.end = end;
    post_.words.push_back(std::move(word));
  }

  std::size_t next(const std::string& text, std::size_t at) {
    const char c = text[at];
    const bool starts = at == 0 || !is_word(text[at - 1]);
    if (is_digit(c)) return number(text, at);
    if (is_letter(c)) return word(text, at, at);
    if (c == '-' && starts && (at == 0 || text[at - 1] != '-')) {
      const std::size_t name = text.find_first_not_of('-', at);
      if (name != std::string::npos && name - at <= 2 && is_letter(text[name])) {
        return flag(text, at, name);
      }
    }
    if (std::string_view(text).substr(at).starts_with("+/-")) {
      add("+/-", at, at + 3);
      return at + 3;
    }
    note_clause(text, at);
    if (c == '/' || c == '%') add(std::string_view(text).substr(at, 1), at, at + 1);
    if (c == '.' || c == '!' || c == '?' || c == ';') end_of_sentence(text, at);
    return at + 1;
  }

  void note_clause(const std::string& text, std::size_t at) {
    const char c = text[at];
    const bool alone = at + 1 >= text.size() || text[at + 1] == ' ' || text[at + 1] == '-';
    if (c == ',') clause_ = std::max(clause_, Clause::comma);
    const bool hard = c == '(' || c == ')' || c == '[' || c == ']' || c == '|' || c == '"' ||
                      ((c == ':' || c == '-') && alone);
    if (hard) clause_ = Clause::hard;
  }

  void end_of_sentence(const std::string& text, std::size_t at) {
    const bool last = at + 1 >= text.size() || text[at + 1] == ' ' || text[at + 1] == '"' ||
                      text[at + 1] == ')' || text[at + 1] == '?' || text[at + 1] == '!';
    if (!last) return;
    before_ = Break::sentence;
    if (text[at] == '?' && !post_.words.empty()) asked_.push_back(post_.words.size() - 1);
  }

  /// "--ctx-size", whole.
  std::size_t flag(const std::string& text, std::size_t at, std::size_t name) {
    std::size_t end = name;
    while (end < text.size() && (is_word(text[end]) || text[end] == '-')) ++end;
    add(std::string_view(text).substr(at, end - at), at, end);
    return end;
  }

  std::size_t word(const std::string& text, std::size_t begin, std::size_t at) {
    const auto inside = [&](std::size_t i) {
      const bool joins = text[i] == '.' || text[i] == '\'';
      return is_word(text[i]) || (joins && i + 1 < text.size() && is_word(text[i + 1]));
    };
    while (at < text.size() && inside(at)) ++at;
    add(std::string_view(text).substr(begin, at - begin), begin, at);
    return at;
  }

  /// The digits at `at`: "8,192" and "8192" are one number, "45,2" is 45.2.
  static std::size_t digits(const std::string& text, std::size_t at, std::string& out) {
    constexpr std::size_t kGroup = 3;
    const auto run = [&](std::size_t from) {
      std::size_t end = from;
      while (end < text.size() && is_digit(text[end])) ++end;
      return end;
    };
    std::size_t end = run(at);
    out = text.substr(at, end - at);
    while (end + 1 < text.size() && text[end] == ',' && run(end + 1) - end - 1 == kGroup &&
           out != "0") {
      out += text.substr(end + 1, kGroup);
      end += kGroup + 1;
    }
    if (end + 1 >= text.size() || !is_digit(text[end + 1])) return end;
    const std::size_t tail = run(end + 1);
    const bool decimal_comma =
        text[end] == ',' && tail - end - 1 < kGroup && (tail >= text.size() || text[tail] != ',');
    if (text[end] != '.' && !decimal_comma) return end;
    out += '.' + text.substr(end + 1, tail - end - 1);
    return tail;
  }

  std::size_t number(const std::string& text, std::size_t at) {
    std::string figure;
    const std::size_t end = digits(text, at, figure);
    std::size_t tail = end;
    while (tail < text.size() && is_word(text[tail])) ++tail;
    // No unit and no name is longer; "1x1x1x..." would be read again from each of its numbers.
    constexpr std::size_t kLongestTail = 24;
    if (tail - end > kLongestTail) return word(text, at, tail);
    const std::string behind = lower(std::string_view(text).substr(end, tail - end));
    const auto value = parse_double(figure);
    // "0.7.1", "7b", "4090ti" are words.
    const bool version = end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]);
    const bool times = behind.size() > 1 && behind[0] == 'x' && is_digit(behind[1]);
    if (version || !value) return word(text, at, tail);
    if (behind.empty() || is_any(behind, kUnits)) {
      add(figure, at, end, value);
      return end;
    }
    if (behind == "k") {
      constexpr double kThousand = 1000;
      add(figure + "k", at, tail, *value * kThousand);
      return tail;
    }
    if (times && behind.back() != 'b') {  // "2x3090", not "8x7b"
      add(figure, at, end, value);
      add("x", end, end + 1);
      return end + 1;
    }
    return word(text, at, tail);
  }

  Post& post_;
  std::size_t line_ = 0;
  Break before_ = Break::sentence;
  Clause clause_ = Clause::none;
  std::vector<std::size_t> asked_;
};

// A question that begins so is about other people's runs or about what to do.
constexpr std::array<std::string_view, 27> kAsking = {
    "what",    "which", "did",   "do",    "does", "are",    "is",    "was", "were",
    "how",     "can",   "could", "have",  "has",  "should", "would", "any", "anyone",
    "anybody", "who",   "why",   "where", "when", "what's", "will",  "or",  "and"};

void cut_sentences(Post& post, const std::vector<std::size_t>& asked) {
  for (std::size_t i = 0; i < post.words.size(); ++i) {
    if (i == 0 || post.words[i].before == Break::sentence)
      post.sentences.push_back({i, i, false, false});
    post.sentences.back().end = i + 1;
    post.words[i].sentence = post.sentences.size() - 1;
  }
  for (const std::size_t word : asked) {
    PostSentence& sentence = post.sentences[post.words[word].sentence];
    sentence.asks = is_any(post.words[sentence.begin].text, kAsking);
  }
}

constexpr std::array<std::string_view, 8> kTokenWords = {"tok", "toks", "token", "tokens",
                                                         "t",   "tk",   "tks",   "tokens'"};
constexpr std::array<std::string_view, 9> kTimes = {"s",   "sec",  "secs",   "second", "seconds",
                                                    "min", "mins", "minute", "minutes"};
constexpr std::array<std::string_view, 8> kPerToken = {"ms",  "msec", "milliseconds", "millisecond",
                                                       "sec", "s",    "seconds",      "second"};

/// How many words from `at` on are a unit of tokens per second or minute, or of time per token; 0:
/// none.
std::size_t unit_length(const Post& post, std::size_t at) {
  const auto word = [&](std::size_t i) -> std::string_view {
    return i < post.words.size() ? std::string_view(post.words[i].text) : std::string_view();
  };
  if (word(at) == "tps" || word(at) == "toks/s" || word(at) == "tpm") return 1;
  const bool joins = word(at + 1) == "/" || word(at + 1) == "per" || word(at + 1) == "a";
  if (!joins) return 0;
  if (is_any(word(at), kTokenWords) && is_any(word(at + 2), kTimes)) return 3;
  if (is_any(word(at), kPerToken) && is_any(word(at + 2), kTokenWords)) return 3;
  return 0;
}

/// "--- | ---: | :---", with or without its outer bars.
bool is_table_rule(std::string_view line) {
  return line.contains("--") && line.contains('|') &&
         line.find_first_not_of("-:| ") == std::string_view::npos;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> out;
  for (const std::string_view cell : split(line, '|')) out.emplace_back(trim(cell));
  return out;
}

bool is_between(std::string_view word) { return word == "to" || word == "+/-" || word == "and"; }

/// Numbers that share one unit, backwards from `at`: "45 to 50", "45 +/- 1".
std::size_t first_of_range(const Post& post, std::size_t at) {
  const auto& words = post.words;
  if (at >= 2 && is_between(words[at - 1].text) && words[at - 2].number) {
    return at - 2;
  }
  // "45-50", "585~591": the sign between is no word.
  const bool next = at >= 1 && words[at - 1].number && words[at - 1].line == words[at].line &&
                    words[at].begin == words[at - 1].end + 1;
  const char sign = next ? post.lines[words[at].line - 1][words[at - 1].end] : ' ';
  return sign == '-' || sign == '~' ? at - 1 : at;
}

}  // namespace

std::string Post::quote(std::size_t begin, std::size_t end) const {
  const PostWord& first = words[begin];
  std::size_t last = begin;
  while (last + 1 < end && words[last + 1].line == first.line) ++last;
  constexpr std::size_t kWidest = 60;
  const std::string& line = lines[first.line - 1];
  const auto joins = [](char c) {
    return is_word(c) || c == '-' || c == '.' || c == '/' || c == ':';
  };
  std::size_t from = first.begin;
  std::size_t to = words[last].end;
  while (from > 0 && words[begin].begin - from < kWidest && joins(line[from - 1])) --from;
  while (to < line.size() && to - words[last].end < kWidest && joins(line[to])) ++to;
  while (to > words[last].end && !is_word(line[to - 1])) --to;
  return fit(plain(std::string_view(line).substr(from, to - from)), kWidest);
}

std::vector<std::string> post_lines(std::string_view text) {
  return pasted_lines(without_foreign(text));
}

void spell_out_tables(std::vector<std::string>& lines) {
  constexpr std::size_t kLongestHead = 40;
  // Of all tables; a head is repeated in each row, and what is longer is no post.
  std::size_t left = std::size_t{1} << 17U;
  for (std::size_t rule = 1; rule < lines.size(); ++rule) {
    if (!is_table_rule(lines[rule])) continue;
    const std::vector<std::string> head = cells_of(lines[rule - 1]);
    std::size_t row = rule + 1;
    for (; row < lines.size(); ++row) {
      const std::vector<std::string> cells = cells_of(lines[row]);
      if (cells.size() != head.size() || cells.size() < 2) break;
      std::string spelled;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!spelled.empty()) spelled += "; ";
        spelled += head[i].substr(0, kLongestHead) + ' ' + cells[i];
      }
      if (spelled.size() > left) return;
      left -= spelled.size();
      lines[row] = std::move(spelled);
    }
    rule = row - 1;  // a rule among them is a row
  }
}

Post read_post(std::vector<std::string> lines, const std::vector<bool>& skip) {
  Post out;
  out.lines = std::move(lines);
  Cutter cutter(out);
  for (std::size_t i = 0; i < out.lines.size(); ++i) {
    if (i < skip.size() && skip[i]) {
      cutter.gap();
    } else {
      cutter.line(i);
    }
  }
  cut_sentences(out, cutter.asked());
  return out;
}

std::vector<FigureWords> mark_figures(Post& post) {
  std::vector<FigureWords> out;
  for (std::size_t i = 0; i < post.words.size(); ++i) {
    const std::size_t length = unit_length(post, i);
    if (length == 0) continue;
    FigureWords found{i, i + length, false};
    const auto number_at = [&](std::size_t at) {
      return at < post.words.size() && post.words[at].number.has_value();
    };
    // "45ish tok/s"
    const std::size_t back = i > 0 && post.words[i - 1].text == "ish" ? 2 : 1;
    if (i >= back && number_at(i - back) && post.words[i].before == Break::none) {
      found.begin = first_of_range(post, i - back);
      found.is_range = found.begin != i - back;
    } else if (post.words[i].text != "tpm" && number_at(found.end) &&
               post.words[found.end].before == Break::none) {
      ++found.end;  // "tok/s: 45", but "TPM 2.0" is a chip
    } else {
      continue;
    }
    for (std::size_t word = found.begin; word < found.end; ++word) post.words[word].figure = true;
    post.sentences[post.words[found.begin].sentence].has_figure = true;
    out.push_back(found);
    i = found.end - 1;
  }
  return out;
}

}  // namespace picchio::results
