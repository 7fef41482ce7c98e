#include "report/block.h"

#include "base/text.h"
#include "report/block_parts.h"
#include "report/layout.h"
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace picchio::report {
namespace {

constexpr std::size_t kProseColumns = 64;  // the established tool wraps its verdict here
constexpr std::size_t kHintRows = 2;       // WHY and FIX, where there is room

std::string decimals(double value) {  // "0.8", "1.0", "0.0525": up to four, at least one
  if (!std::isfinite(value) || std::abs(value) >= 1e6) return "?";
  std::string text = fmt::format("{:.4f}", value);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

std::string whole(double value) {
  if (!std::isfinite(value) || std::abs(value) >= 1e15) return "?";
  return fmt::format("{:.0f}", value);
}

// Cuts trailing clauses off `sentence` until `rows` lines hold it, and says whether that worked.
bool shorten_to(std::string& sentence, std::string_view head, std::size_t rows) {
  std::string text = sentence;
  while (wrap(fmt::format("{}{}", head, text), kProseColumns, 2).size() > rows) {
    const std::size_t clause = text.rfind("; ");
    if (clause == std::string::npos) return false;
    text = text.substr(0, clause) + ".";
  }
  sentence = std::move(text);
  return true;
}

struct Ending {
  std::string head;                    // "VERDICT: HEALTHY. "
  std::vector<std::string> sentences;  // of the verdict, then the remarks
  std::vector<std::string> why;        // rows, "WHY: ..."; empty for a verdict that owes none
  std::vector<std::string> fix;
};

std::vector<std::string> prose(const Ending& ending, std::size_t count) {
  std::string text = ending.head;
  for (std::size_t i = 0; i < count; ++i) text += ending.sentences[i] + ' ';
  return wrap(text, kProseColumns, 2);
}

std::vector<std::string> verdict_rows(Ending& ending, const std::string& why, std::size_t rows) {
  const auto room = [&] { return rows - ending.why.size() - ending.fix.size(); };
  for (std::size_t count = ending.sentences.size(); count > 0; --count) {
    std::vector<std::string> lines = prose(ending, count);
    if (lines.size() <= room()) return lines;
  }
  if (ending.sentences.empty()) return prose(ending, 0);
  std::string& first = ending.sentences.front();
  if (shorten_to(first, ending.head, room())) return prose(ending, 1);
  if (ending.why.size() > 1) ending.why = wrap_to(why, kBlockColumns, 2, 1);
  if (shorten_to(first, ending.head, room())) return prose(ending, 1);
  return wrap_to(ending.head + first, kProseColumns, 2, room());
}

// VERDICT, WHY and FIX in `rows` lines; there are never fewer than three.
std::vector<std::string> ending_lines(const Run& run, const Verdict& verdict, std::size_t rows) {
  Ending ending;
  ending.head = fmt::format("VERDICT: {}. ", name_of(verdict.state));
  ending.sentences = sentences(plain(verdict.sentence));
  for (const std::string& remark : remarks_of(run, verdict.sentence)) {
    ending.sentences.push_back(as_sentence(remark));
  }
  // No block holds more; whatever an engine printed, laying it out stays cheap.
  constexpr std::size_t kMostSentences = 16;
  constexpr std::size_t kLongestSentence = kBlockColumns * kBlockRows;
  if (ending.sentences.size() > kMostSentences) ending.sentences.resize(kMostSentences);
  for (std::string& sentence : ending.sentences) sentence = fit(sentence, kLongestSentence);
  const auto labelled = [](std::string_view label, const std::string& text) {
    return text.empty() ? text : fmt::format("{}: {}", label, text);
  };
  const std::string why = labelled("WHY", why_of(run, verdict));
  const std::string fix = labelled("FIX", fix_of(verdict));
  ending.why = wrap_to(why, kBlockColumns, 2, kHintRows);
  ending.fix = wrap_to(fix, kBlockColumns, 2, kHintRows);
  while (ending.why.size() + ending.fix.size() + 1 > rows) {
    if (ending.why.size() > 1) {
      ending.why = wrap_to(why, kBlockColumns, 2, 1);
    } else if (ending.fix.size() > 1) {
      ending.fix = wrap_to(fix, kBlockColumns, 2, 1);
    } else {
      break;
    }
  }
  std::vector<std::string> lines = verdict_rows(ending, why, rows);
  lines.insert(lines.end(), ending.why.begin(), ending.why.end());
  lines.insert(lines.end(), ending.fix.begin(), ending.fix.end());
  return lines;
}

}  // namespace

CountedName footer_gpu(const Run& run) {
  for (const DeviceAccount& device : run.placement.devices) {
    if (device.kind != DeviceKind::hardware_gpu || device.description.empty()) continue;
    const auto like = std::ranges::count_if(run.placement.devices, [&](const auto& other) {
      return other.kind == device.kind && other.description == device.description;
    });
    return {without_vendor(device.description), static_cast<int>(like)};
  }
  const MachineGpu* gpu = usable_gpu(run.raw.machine);
  return gpu == nullptr ? CountedName{} : CountedName{without_vendor(gpu->name), 1};
}

std::optional<double> parameters_of(const Run& run, const Load* load) {
  if (load != nullptr && load->parameters) return load->parameters;
  if (run.raw.model) return static_cast<double>(run.raw.model->parameters);
  if (run.raw.server) return run.raw.server->parameters;
  return std::nullopt;
}

std::optional<std::int64_t> weight_bytes_of(const Run& run, const Load* load) {
  if (load != nullptr && load->weight_bytes) return load->weight_bytes;
  if (run.raw.model) return run.raw.model->tensor_bytes;
  if (run.raw.server) return run.raw.server->weight_bytes;
  return std::nullopt;
}

std::optional<double> busy_cores(const Run& run) {
  std::vector<double> cores;
  for (const Pass& pass : run.passes) {
    if (pass.cpu.decode_cores && std::isfinite(*pass.cpu.decode_cores)) {
      cores.push_back(*pass.cpu.decode_cores);
    }
  }
  if (cores.empty()) return std::nullopt;
  std::ranges::sort(cores);
  const std::size_t middle = cores.size() / 2;
  return cores.size() % 2 == 1 ? cores[middle] : (cores[middle - 1] + cores[middle]) / 2;
}

std::optional<Sampling> sampling_of(const Run& run) {
  const EngineLog* log = first_log(run);
  Sampling out = log == nullptr ? Sampling{} : log->sampling;
  const std::optional<ServerAnswer> none;
  const auto& answer = run.passes.empty() ? none : run.passes.front().answer;
  if (answer) out = answer->sampling;
  const bool told = out.temperature || out.top_k || out.top_p || out.min_p || out.seed;
  return told ? std::optional(out) : std::nullopt;
}

std::string model_line(const Run& run) {
  const EngineLog* log = first_log(run);
  const Load* load = log == nullptr ? nullptr : main_load(*log);
  std::vector<std::string> parts = {fit(model_label(run), 80)};
  if (const auto parameters = parameters_of(run, load)) {
    parts.push_back(format_parameters(*parameters));
  }
  if (const auto& server = run.raw.server) parts.push_back(fit(plain(server->quant), 20));
  const std::int64_t size = weight_bytes_of(run, load).value_or(0);
  if (size > 0) parts.push_back(format_bytes(size));
  parts.push_back(fit(engine_label(run), 40));
  std::erase(parts, "");
  return fit(fmt::format("model    {}", fmt::join(parts, ", ")), kWideColumns);
}

std::string cpu_line(const Run& run) {
  const auto busy = busy_cores(run);
  if (!busy) return "cpu      not read";
  const EngineLog* log = first_log(run);
  std::string line = fmt::format("cpu      {:.1f}", *busy);
  if (run.raw.machine.logical_cores) line += fmt::format(" of {}", *run.raw.machine.logical_cores);
  line += " cores in decode";
  if (log != nullptr && log->threads) line += fmt::format(", {} threads", *log->threads);
  return fit(line, kBlockColumns);
}

std::string settings_line(const Run& run) {
  const auto told = sampling_of(run);
  if (!told && !run.passes.empty() && run.passes.front().answer) {
    return "settings not recorded: the server's answer has none";
  }
  if (!told) return "settings not recorded: the engine's log printed none";
  const Sampling& sampling = *told;
  std::vector<std::string> parts;
  if (sampling.temperature) parts.push_back("temp " + decimals(*sampling.temperature));
  if (sampling.top_k) parts.push_back("top-k " + whole(*sampling.top_k));
  if (sampling.top_p) parts.push_back("top-p " + decimals(*sampling.top_p));
  if (sampling.min_p) parts.push_back("min-p " + decimals(*sampling.min_p));
  if (sampling.seed) parts.push_back(fmt::format("seed {}", *sampling.seed));
  return fit(fmt::format("settings {}", fmt::join(parts, ", ")), kBlockColumns);
}

std::string footer_line(const Run& run) {
  const Machine& machine = run.raw.machine;
  const std::string version = plain(run.raw.picchio_version);
  std::string chip = fit(machine.chip.empty() ? "unknown chip" : plain(machine.chip), 50);
  const CountedName counted = footer_gpu(run);
  const std::string gpu =
      fit(counted.name + (counted.count > 1 ? fmt::format(" x{}", counted.count) : ""), 40);
  if (!gpu.empty() && gpu != chip) chip += " + " + gpu;
  const std::string ram =
      machine.ram_bytes
          ? fmt::format("{:.0f}",
                        std::round(static_cast<double>(*machine.ram_bytes) / 1073741824.0))
          : "?";
  return fit(fmt::format("-- picchio v{} {} on {}, {} GB, {}",
                         version.empty() ? "?" : fit(version, 20), fit(plain(run.raw.protocol), 12),
                         chip, ram, machine.os.empty() ? "unknown OS" : plain(machine.os)),
             kWideColumns);
}

}  // namespace picchio::report

namespace picchio {

std::string block(const Run& run, const Verdict& verdict) {
  const EngineLog* log = report::first_log(run);
  const auto append = [](std::vector<std::string>& lines, const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  const bool untold = run.raw.server && run.placement.shape == Shape::unknown;
  std::vector<std::string> lines = {
      report::model_line(run), untold ? report::server_gpu_line(run, verdict)
                                      : report::gpu_line(run.placement, log, run.raw.user_args)};
  append(lines, report::bytes_lines(run.placement));
  std::vector<std::string> os = report::os_lines(run);
  std::vector<std::string> rest = {report::cpu_line(run), report::settings_line(run)};
  const std::string rates = report::rates_line(run);
  if (!rates.empty()) rest.push_back(rates);
  append(rest, report::table_lines(run));
  append(rest, report::cold_pass_lines(run));
  // VERDICT, WHY, FIX and the footer come before the second line about the meters and the one about
  // a server's rates.
  constexpr std::size_t kEndingRows = 4;
  const auto rows = [&] { return lines.size() + os.size() + rest.size() + kEndingRows; };
  if (rows() > kBlockRows) os.resize(1);
  if (rows() > kBlockRows && !rates.empty()) std::erase(rest, rates);
  append(lines, os);
  append(lines, rest);
  append(lines, report::ending_lines(run, verdict, kBlockRows - lines.size() - 1));
  lines.push_back(report::footer_line(run));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace picchio
