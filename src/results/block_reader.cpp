#include "results/block_reader.h"

#include "base/text.h"
#include "results/block_lines.h"
#include "results/line_marks.h"
#include "results/pasted_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace picchio::results {
namespace {

/// The lines of a block, in their order.
enum class Line {
  model,
  gpu,
  bytes,
  os,
  cpu,
  settings,
  rates,
  head,
  cold,
  warm,
  span,
  where,
  load,
  prefill,
  decode,
  misc,
  verdict,
  why,
  fix,
  number,
  footer,
};

struct Label {
  std::string_view text;
  Line line;
};

constexpr std::array kLabels = {Label{"model", Line::model},
                                Label{"gpu", Line::gpu},
                                Label{"bytes", Line::bytes},
                                Label{"os", Line::os},
                                Label{"cpu", Line::cpu},
                                Label{"settings", Line::settings},
                                Label{"rates", Line::rates},
                                Label{"ctx", Line::head},
                                Label{"cold start not measured", Line::where},
                                Label{"cold", Line::cold},
                                Label{"first", Line::cold},
                                Label{"warm mid", Line::warm},
                                Label{"warm span", Line::span},
                                Label{"where the cold pass went", Line::where},
                                Label{"phases not reported", Line::load},
                                Label{"load weights", Line::load},
                                Label{"prefill", Line::prefill},
                                Label{"decode", Line::decode},
                                Label{"engine misc", Line::misc},
                                Label{"VERDICT:", Line::verdict},
                                Label{"WHY:", Line::why},
                                Label{"FIX:", Line::fix},
                                Label{"YOUR NUMBER:", Line::number},
                                Label{"-- picchio", Line::footer}};

// A block has 20 lines, a mail program may break each in two; then comes other text.
constexpr std::size_t kMostLines = 60;
constexpr std::size_t kMostUnread = 8;

struct Part {
  Line line = Line::model;
  std::string_view label;  // as it stands in kLabels
  std::string text;        // behind the label, lines that go on joined
};

struct FoundLabel {
  const Label* label = nullptr;
  std::size_t size = 0;  // as it stands there
};

const Label& label_for(Line line) { return *std::ranges::find(kLabels, line, &Label::line); }

/// The label that `text` starts with, as whoever pasted it may have changed it.
FoundLabel changed_label(std::string_view text) {
  // Dashes become one longer one, or one more with a list's.
  const std::size_t dashes = text.find_first_not_of("- ");
  if (dashes != std::string_view::npos && text.substr(dashes).starts_with("picchio v")) {
    return {&label_for(Line::footer), dashes + std::string_view("picchio").size()};
  }
  constexpr std::string_view kVerdict = "VERDICT";
  if (lower(text.substr(0, kVerdict.size() + 1)) == "verdict:") {
    return {&label_for(Line::verdict), kVerdict.size() + 1};
  }
  if (!text.starts_with(kVerdict)) return {};
  const std::size_t end = text.find_first_not_of(" -=>:", kVerdict.size());
  if (end == kVerdict.size()) return {};
  return {&label_for(Line::verdict), std::min(end, text.size())};
}

/// The bars begin with words that the head of the table ends with: a mail program breaks it there.
bool is_bar(std::string_view rest) { return rest.contains('%') || rest.contains('#'); }

/// The label that `text` starts with, of the lines behind `after`: what comes again, or earlier
/// than its turn, is the rest of a sentence ("decode: 21.1 tok/s").
FoundLabel label_of(std::string_view text, std::optional<Line> after) {
  const bool behind =
      after == Line::verdict || after == Line::why || after == Line::fix || after == Line::number;
  const auto in_turn = [&](Line line) {
    return (!after || line > *after) && (!behind || line > Line::misc);
  };
  const auto* const found = std::ranges::find_if(kLabels, [&](const Label& label) {
    if (!in_turn(label.line) || !text.starts_with(label.text)) return false;
    const std::string_view rest = text.substr(label.text.size());
    const bool bar = label.line == Line::prefill || label.line == Line::decode;
    if (after == Line::head && bar && !is_bar(rest)) return false;
    // "cold start not measured: ..."; a word alone with a colon is the rest of a sentence.
    const bool clause = label.text.contains(' ') && rest.starts_with(':');
    return rest.empty() || rest.front() == ' ' || clause || label.text.ends_with(':');
  });
  if (found != kLabels.end()) return {found, found->text.size()};
  const FoundLabel changed = changed_label(text);
  return changed.label != nullptr && in_turn(changed.label->line) ? changed : FoundLabel{};
}

/// How many of the lines from `next` on belong to the footer, the widest line but the model's: a
/// mail program breaks it. They are added to it.
std::size_t complete_footer(Part& footer, const std::vector<std::string>& lines, std::size_t next) {
  constexpr std::size_t kMostRows = 2;
  RunFigures read;
  std::string text = footer.text;
  for (std::size_t i = 0; i <= kMostRows; ++i) {
    if (read_footer(text, read) && !read.machine.os.empty()) {
      footer.text = std::move(text);
      return i;
    }
    if (next + i >= lines.size() || lines[next + i].empty()) break;
    text += ' ';
    text += trim(lines[next + i]);
  }
  return 0;
}

/// Counts empty lines: some pages double line ends, so what ends a block is more of them in a row
/// than stand within it.
class BlankLines {
 public:
  /// Whether the block, whose VERDICT has begun if `ending`, is over.
  bool ends(bool ending) {
    ++count_;
    if (!ending) usual_ = std::max(usual_, count_);
    return ending && count_ > usual_;
  }
  void none() { count_ = 0; }

 private:
  std::size_t count_ = 0;
  std::size_t usual_ = 0;
};

/// What one block's lines hold.
struct Parts {
  std::vector<Part> all;
  std::vector<std::string> stray;  // say VERDICT, and are no line of a block
  std::size_t lines = 0;
};

/// Adds a line that is not empty; true: it is a footer.
bool add_line(std::string_view line, Parts& out) {
  std::vector<Part>& parts = out.all;
  const auto after = parts.empty() ? std::nullopt : std::optional(parts.back().line);
  FoundLabel found = label_of(line, after);
  // Somebody made it bold, or put a sign before it.
  const std::string bare = found.label == nullptr ? without_odd_front(line) : "";
  if (found.label == nullptr && bare != line) {
    found = label_of(bare, after);
    if (found.label != nullptr) line = bare;
  }
  if (found.label != nullptr) {
    const Label& label = *found.label;
    parts.push_back({label.line, label.text, std::string(trim(line.substr(found.size)))});
    return label.line == Line::footer;
  }
  if (line.contains("VERDICT")) out.stray.emplace_back(line);
  if (parts.empty()) return false;
  Part& last = parts.back();
  // The second row of the meters tells each GPU's part; other rows were broken.
  last.text += last.line == Line::os && line.starts_with("gpu ") ? "; " : " ";
  last.text += trim(line);
  return false;
}

/// Between the cells of a Markdown table.
bool is_rule(std::string_view line) {
  return line.contains("---") && line.find_first_not_of("-|:=+ ") == std::string_view::npos;
}

Parts parts_of(const std::vector<std::string>& lines) {
  Parts out;
  BlankLines blanks;
  for (; out.lines < lines.size() && out.lines < kMostLines; ++out.lines) {
    const std::string_view line = lines[out.lines];
    if (is_rule(line)) continue;
    if (line.empty() || line == "```") {
      if (blanks.ends(!out.all.empty() && out.all.back().line >= Line::verdict)) break;
      continue;
    }
    blanks.none();
    if (add_line(line, out)) {
      out.lines += 1 + complete_footer(out.all.back(), lines, out.lines + 1);
      break;
    }
  }
  return out;
}

void drop_last_word(std::string& text) {
  const std::size_t blank = text.rfind(' ');
  text.resize(blank == std::string::npos ? 0 : blank);
}

/// Takes off what may be half a word, as the text ends there. `ended`: its last line has its end.
void distrust(Part& part, bool ended) {
  RunFigures read;
  while (part.text.ends_with(" ..") || part.text.ends_with(" ...")) drop_last_word(part.text);
  switch (part.line) {
    case Line::footer:  // is read only whole
      return;
    case Line::span:
      drop_last_word(part.text);
      part.text += " -";
      return;
    case Line::verdict: {
      // A state is told whole by the stop behind it, its figures by their units.
      if (ended) return;
      const std::size_t stop = part.text.find('.');
      const bool in_last_word =
          stop != std::string::npos && part.text.find(' ', stop) == std::string::npos;
      if (!in_last_word || !read_verdict(part.text, read)) drop_last_word(part.text);
      return;
    }
    case Line::why:
    case Line::fix:
      drop_last_word(part.text);
      return;
    default:
      if (!ended) drop_last_word(part.text);
  }
}

bool is_block(const std::vector<Part>& parts) {
  const auto has = [&](Line line) {
    return std::ranges::find(parts, line, &Part::line) != parts.end();
  };
  const bool shape = has(Line::gpu) || has(Line::head);
  return shape && (has(Line::cold) || has(Line::warm) || has(Line::verdict));
}

bool read_head(const Part& part, RunFigures& out) {
  std::string_view rest = part.text;
  if (rest.starts_with('?')) return rest.contains("prefill");
  const auto context = take_int(rest);
  if (!context || !rest.contains("prefill")) return false;
  out.context = context;
  return true;
}

bool read_where(const Part& part, RunFigures& out) {
  if (part.label == "cold start not measured") {
    out.server_was_warm = true;
    return true;
  }
  const auto inside = between(part.text, "(", ")");
  ColdPassFigures cold;
  if (!inside || !read_cold_pass(*inside, cold)) return false;
  out.cold_pass = std::move(cold);
  return true;
}

bool read_bar(const Part& part, RunFigures& out) {
  if (part.label == "phases not reported") return true;
  if (!out.cold_pass) out.cold_pass.emplace();
  ColdPassFigures& cold = *out.cold_pass;
  switch (part.line) {
    case Line::load:
      return read_phase(part.text, cold.load);
    case Line::prefill:
      return read_phase(part.text, cold.prefill);
    case Line::decode:
      return read_phase(part.text, cold.decode);
    default:
      return read_phase(part.text, cold.misc);
  }
}

bool read_part(const Part& part, RunFigures& out) {
  switch (part.line) {
    case Line::model:
      return read_model(part.text, out);
    case Line::gpu:
      return read_gpu(part.text, out.placement);
    case Line::bytes:
      return read_bytes(part.text, out.placement);
    case Line::os:
      return read_os(part.text, out.meter);
    case Line::cpu:
      return read_cpu(part.text, out.cpu);
    case Line::settings:
      return read_settings(part.text, out);
    case Line::head:
      return read_head(part, out);
    case Line::cold:
      return read_rates(part.text, RateRow::cold, out);
    case Line::warm:
      return read_rates(part.text, RateRow::warm, out);
    case Line::span:
      return read_spans(part.text, out);
    case Line::where:
      return read_where(part, out);
    case Line::load:
    case Line::prefill:
    case Line::decode:
    case Line::misc:
      return read_bar(part, out);
    case Line::verdict:
      return read_verdict(part.text, out);
    case Line::why:
      out.why = part.text;
      return true;
    case Line::fix:
      out.fix = part.text;
      return true;
    case Line::rates:  // whose figures they are; no figure is in it that the table lacks
    case Line::number:
      return true;
    case Line::footer:
      return read_footer(part.text, out);
  }
  return false;
}

bool read_some_way(const Part& part, RunFigures& out) {
  if (read_part(part, out)) return true;
  const Part plain{part.line, part.label, without_emphasis(part.text)};
  return plain.text != part.text && read_part(plain, out);
}

/// The state of a line that says VERDICT somewhere.
std::optional<State> state_in(std::string_view line) {
  const std::string bare = without_emphasis(line.substr(line.find("VERDICT")));
  const FoundLabel label = changed_label(bare);
  RunFigures read;
  if (label.label == nullptr || !read_verdict(std::string_view(bare).substr(label.size), read)) {
    return std::nullopt;
  }
  return read.state;
}

PastedBlock block_of(const Parts& parts) {
  PastedBlock block;
  for (const Part& part : parts.all) {
    if (read_some_way(part, block.figures)) continue;
    block.unread.push_back(std::string(part.label) + ' ' + part.text);
  }
  for (const std::string& line : parts.stray) {
    const std::optional<State> state = state_in(line);
    if (state && block.figures.state && state != block.figures.state) block.other_state = state;
  }
  block.unread.insert(block.unread.end(), parts.stray.begin(), parts.stray.end());
  if (block.unread.size() > kMostUnread) block.unread.resize(kMostUnread);
  block.figures.only_one_pass =
      std::ranges::find(parts.all, Line::warm, &Part::line) == parts.all.end();
  return block;
}

/// How the text goes on behind a block.
struct Behind {
  bool nothing = false;  // but empty lines
  bool ended = false;    // the last line has its end, and no ellipsis
};

Behind behind(std::string_view text, const std::vector<std::string>& lines, std::size_t next) {
  for (std::size_t i = next; i < lines.size(); ++i) {
    if (!lines[i].empty() && lines[i] != "```") return {};
  }
  const std::string_view last = next > 0 ? std::string_view(lines[next - 1]) : std::string_view();
  return {true, (text.ends_with('\n') || text.ends_with('\r')) && !last.ends_with("..")};
}

}  // namespace

std::vector<PastedBlock> find_blocks(std::string_view text) {
  const std::vector<std::string> lines = pasted_lines(text);
  constexpr std::size_t kBrokenFooter = 2;
  std::vector<PastedBlock> out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!begins_block(lines[i])) continue;
    Parts parts = parts_of(bare_lines(lines, i, kMostLines + kBrokenFooter));
    if (!is_block(parts.all)) continue;
    const std::size_t end = std::min(i + parts.lines, lines.size());
    if (const Behind rest = behind(text, lines, end); rest.nothing) {
      distrust(parts.all.back(), rest.ended);
    }
    PastedBlock block = block_of(parts);
    block.first_line = i + 1;
    const auto at = [&](std::size_t line) {
      return lines.begin() + static_cast<std::ptrdiff_t>(line);
    };
    block.lines.assign(at(i), at(end));
    out.push_back(std::move(block));
    i = end - 1;
  }
  return out;
}

}  // namespace picchio::results
