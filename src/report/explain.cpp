#include "report/explain.h"

#include "base/text.h"
#include "report/gpu_use.h"
#include "report/layout.h"
#include "report/names.h"

#include <fmt/format.h>

namespace picchio {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kWitnessColumns = 12;  // "allocation  "
constexpr std::size_t kWordColumns = 10;     // "abstains  "

void add_block(std::string& out, const std::string& text, std::size_t indent) {
  for (const std::string& line : report::wrap(text, kColumns - indent, 0)) {
    out += std::string(indent, ' ') + line + "\n";
  }
}

void add_testimony(std::string& out, const Testimony& testimony) {
  constexpr std::size_t kIndent = 2 + kWitnessColumns + kWordColumns;
  const std::string_view word = testimony.word ? name_of(*testimony.word) : "abstains";
  std::string sentence = plain(testimony.sentence);
  if (sentence.empty()) sentence = "no reason given";
  std::string head = fmt::format("  {:<{}}{:<{}}", name_of(testimony.witness), kWitnessColumns,
                                 word, kWordColumns);
  for (const std::string& line : report::wrap(sentence, kColumns - kIndent, 0)) {
    out += head + line + "\n";
    head.assign(kIndent, ' ');
  }
}

void add_section(std::string& out, std::string_view title, const std::string& text) {
  if (text.empty()) return;
  out += fmt::format("{}\n", title);
  add_block(out, text, 2);
}

void add_detail(std::string& out, std::string_view label, const std::string& text) {
  constexpr std::size_t kIndent = 4 + 7;  // "proof  "
  if (text.empty()) return;
  std::string head = fmt::format("    {:<7}", label);
  for (const std::string& line : report::wrap(text, kColumns - kIndent, 0)) {
    out += head + line + "\n";
    head.assign(kIndent, ' ');
  }
}

void add_cause(std::string& out, const Cause& cause) {
  add_block(out, fmt::format("{}: {}", plain(cause.id), plain(cause.why)), 2);
  add_detail(out, "proof", plain(cause.proof));
  add_detail(out, "means", plain(cause.sentence));
  add_detail(out, "fix", plain(cause.fix));
  add_detail(out, "see", plain(cause.reference));
}

void add_causes(std::string& out, const Verdict& verdict) {
  if (!verdict.cause && verdict.further_causes.empty()) return;
  out += "causes with evidence, the strongest first\n";
  if (verdict.cause) add_cause(out, *verdict.cause);
  for (const Cause& cause : verdict.further_causes) add_cause(out, cause);
}

void add_witnesses(std::string& out, const Verdict& verdict) {
  out += "witnesses\n";
  if (verdict.testimonies.empty()) out += "  none was heard\n";
  for (const Testimony& testimony : verdict.testimonies) add_testimony(out, testimony);
  const std::string rule = plain(verdict.rule);
  add_section(out, "rule that fired",
              fmt::format("{}: {}", rule.empty() ? "none" : rule, name_of(verdict.state)));
}

}  // namespace

std::string explain(const Placement& placement, const Verdict& verdict) {
  std::string out;
  add_witnesses(out, verdict);
  add_section(out, "account of bytes", plain(placement.reason));
  add_causes(out, verdict);
  return out;
}

std::string explain(const Run& run, const Verdict& verdict) {
  std::string out;
  add_witnesses(out, verdict);
  add_section(out, "account of bytes", plain(run.placement.reason));
  const std::vector<std::string> gpus = report::gpu_use_lines(run);
  if (!gpus.empty()) out += "GPU meters\n";
  for (const std::string& line : gpus) {
    for (const std::string& row : report::wrap(line, kColumns - 2, 4)) {
      out += (line.starts_with(' ') && !row.starts_with(' ') ? "    " : "  ") + row + "\n";
    }
  }
  add_section(out, "why", report::why_of(run, verdict));
  add_section(out, "fix", report::fix_of(verdict));
  add_causes(out, verdict);
  const std::vector<std::string> remarks = report::remarks_of(run, "");
  if (!remarks.empty()) out += "remarks\n";
  for (const std::string& remark : remarks) add_block(out, report::as_sentence(remark), 2);
  return out;
}

}  // namespace picchio
