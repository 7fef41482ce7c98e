#include "results/block_reader.h"

#include "base/text.h"
#include "results/block_lines.h"
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

/// The label that `text` starts with, of the lines behind `after`: what comes again, or earlier
/// than its turn, is the rest of a sentence ("decode: 21.1 tok/s").
const Label* label_of(std::string_view text, std::optional<Line> after) {
  const auto found = std::ranges::find_if(kLabels, [&](const Label& label) {
    const bool later = !after || label.line > *after;
    const bool behind =
        after == Line::verdict || after == Line::why || after == Line::fix || after == Line::number;
    if (!later || !text.starts_with(label.text) || (behind && label.line <= Line::misc)) {
      return false;
    }
    const std::string_view rest = text.substr(label.text.size());
    // "cold start not measured: ..."; a word alone with a colon is the rest of a sentence.
    const bool clause = label.text.contains(' ') && rest.starts_with(':');
    return rest.empty() || rest.front() == ' ' || clause || label.text.ends_with(':');
  });
  return found == kLabels.end() ? nullptr : &*found;
}

/// "model    NAME, ..., ENGINE": prose that begins with the word has one blank behind it.
bool begins_block(std::string_view line) {
  return line.starts_with("model ") && line.contains(", ");
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

/// Adds a line that is not empty; true: it is a footer.
bool add_line(std::string_view line, std::vector<Part>& parts) {
  const auto after = parts.empty() ? std::nullopt : std::optional(parts.back().line);
  if (const Label* label = label_of(line, after)) {
    parts.push_back({label->line, label->text, std::string(trim(line.substr(label->text.size())))});
    return label->line == Line::footer;
  }
  if (parts.empty()) return false;
  // The second row of the meters tells each GPU's part.
  parts.back().text += parts.back().line == Line::os ? "; " : " ";
  parts.back().text += trim(line);
  return false;
}

/// The lines from `begin` on that make one block; `end`: the first behind it.
std::vector<Part> parts_of(const std::vector<std::string>& lines, std::size_t begin,
                           std::size_t& end) {
  std::vector<Part> out;
  BlankLines blanks;
  for (end = begin; end < lines.size() && end - begin < kMostLines; ++end) {
    const std::string_view line = lines[end];
    if (end > begin && begins_block(line)) break;
    if (line.empty() || line == "```") {
      if (blanks.ends(!out.empty() && out.back().line >= Line::verdict)) break;
      continue;
    }
    blanks.none();
    if (add_line(line, out)) {
      end += 1 + complete_footer(out.back(), lines, end + 1);
      break;
    }
  }
  return out;
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

}  // namespace

std::vector<PastedBlock> find_blocks(std::string_view text) {
  const std::vector<std::string> lines = pasted_lines(text);
  std::vector<PastedBlock> out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!begins_block(lines[i])) continue;
    std::size_t end = i;
    const std::vector<Part> parts = parts_of(lines, i, end);
    if (!is_block(parts)) continue;
    PastedBlock block;
    block.first_line = i + 1;
    const auto at = [&](std::size_t line) {
      return lines.begin() + static_cast<std::ptrdiff_t>(std::min(line, lines.size()));
    };
    block.lines.assign(at(i), at(end));
    for (const Part& part : parts) {
      if (read_part(part, block.figures) || block.unread.size() >= kMostUnread) continue;
      block.unread.push_back(std::string(part.label) + ' ' + part.text);
    }
    const bool warm = std::ranges::find(parts, Line::warm, &Part::line) != parts.end();
    block.figures.only_one_pass = !warm;
    out.push_back(std::move(block));
    i = end - 1;
  }
  return out;
}

}  // namespace picchio::results
