#include "report/log_text.h"

#include "base/text.h"
#include "report/block.h"
#include "report/block_parts.h"
#include "report/layout.h"
#include "report/names.h"

#include <fmt/format.h>

#include <cmath>

namespace picchio {
namespace {

constexpr std::size_t kMostNotes = 5;  // a log with thousands of unreadable lines is one note

std::string model_of(const EngineLog& log, const Load* load) {
  std::vector<std::string> parts;
  if (load != nullptr) {
    std::string name = plain(load->model_name.empty() ? load->model_path : load->model_name);
    const std::size_t slash =
        load->model_name.empty() ? name.find_last_of("/\\") : std::string::npos;
    if (slash != std::string::npos) name = name.substr(slash + 1);
    parts.push_back(fit(name, 80));
    if (load->parameters) parts.push_back(format_parameters(*load->parameters));
    parts.push_back(fit(plain(load->file_type), 20));
    if (load->weight_bytes && *load->weight_bytes > 0) {
      parts.push_back(format_bytes(*load->weight_bytes));
    }
  }
  std::erase(parts, "");
  if (parts.empty()) parts.emplace_back("not named in the log");
  const std::string engine = plain(log.engine);
  const std::string version = plain(log.version);
  if (!engine.empty()) parts.push_back(fit(version.empty() ? engine : engine + ' ' + version, 40));
  return fit(fmt::format("model    {}", fmt::join(parts, ", ")), kWideColumns);
}

std::string claim_of(const Load* load) {
  if (load == nullptr || !load->claim) return "claim    none in the log";
  return fmt::format("claim    {}/{} layers, line {}", load->claim->on_gpu, load->claim->total,
                     load->claim->line);
}

std::string splits_of(const Load* load) {
  if (load == nullptr || !load->splits) return "splits   not in the log";
  std::string text = fmt::format("splits   {} in prefill", load->splits->prefill);
  if (load->splits->decode) text += fmt::format(", {} in decode", *load->splits->decode);
  return text;
}

std::string rate(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return "n/a";
  return *value < 1e8 ? fmt::format("{:.1f} tok/s", *value) : fmt::format("{:.0e} tok/s", *value);
}

std::string rates_of(const EngineLog& log) {
  if (log.timings.empty()) return "rates    none in the log";
  const EngineTimings& timings = log.timings.back();
  std::string text = fmt::format("rates    prefill {}", rate(timings.prefill_tokens_per_second));
  if (timings.prompt_tokens) text += fmt::format(" ({} tokens)", *timings.prompt_tokens);
  return text + ", decode " + rate(timings.decode_tokens_per_second);
}

}  // namespace

std::string log_text(const EngineLog& log, const Placement& placement, const Verdict& verdict) {
  const Load* load = main_load(log);
  std::vector<std::string> lines = {model_of(log, load), report::gpu_line(placement, &log, {})};
  const auto append = [&lines](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  append(report::bytes_lines(placement));
  for (const std::string& line : {claim_of(load), splits_of(load), rates_of(log)}) {
    lines.push_back(fit(line, kBlockColumns));
  }
  append(
      report::wrap(fmt::format("VERDICT: {}. {}", name_of(verdict.state), plain(verdict.sentence)),
                   kBlockColumns, 2));
  const std::string why = report::why_of(verdict);
  const std::string fix = report::fix_of(verdict);
  if (!why.empty()) append(report::wrap("WHY: " + why, kBlockColumns, 2));
  if (!fix.empty()) append(report::wrap("FIX: " + fix, kBlockColumns, 2));
  // Of a run that is where it should be, or of which nothing tells, and that has a cause yet.
  if (why.empty() && verdict.cause) {
    std::string note = "note: " + with_stop(plain(verdict.cause->why));
    if (!verdict.cause->fix.empty()) note += " Fix: " + with_stop(plain(verdict.cause->fix));
    append(report::wrap(note, kBlockColumns, 2));
  }
  for (std::size_t i = 0; i < log.notes.size() && i < kMostNotes; ++i) {
    append(report::wrap("note: " + plain(log.notes[i]), kBlockColumns, 2));
  }
  if (log.notes.size() > kMostNotes) {
    lines.push_back(fmt::format("note: and {} more, see --json", log.notes.size() - kMostNotes));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace picchio
