#include "results/share.h"

#include "base/text.h"
#include "results/model_names.h"
#include "results/share_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::results {
namespace {

/// How far a printed figure may be from what it was made of.
struct Rounding {
  double relative;
  double absolute;
};

bool fits(double printed, double exact, Rounding rounding) {
  return std::abs(printed - exact) <= std::max(rounding.absolute, rounding.relative * exact);
}

std::string in_gib(double bytes) {
  return format_bytes(static_cast<std::int64_t>(std::llround(bytes)));
}

/// Runs of blanks and what a terminal would obey are gone.
std::string told(std::string_view text) {
  std::string out = plain(text);
  return trim(out).empty() ? std::string(kNotKnown) : out;
}

struct Cell {
  std::string head;
  bool right = false;
  std::string text;
};

std::vector<Cell> row_cells(const SharedRun& run) {
  const RunFigures& figures = run.figures;
  return {{"model", false, model_text(run)},
          {"quant", false, quant_text(run)},
          {"bpw", true, bits_text(run)},
          {"engine", false, engine_text(figures)},
          {"machine", false, machine_text(figures)},
          {"ctx", true, context_text(figures)},
          {"KV", false, kv_text(figures)},
          {"pp tok/s", true, headline(figures, Lane::prefill)},
          {"tg tok/s", true, headline(figures, Lane::decode)},
          {"picchio verdict", false, verdict_text(run) + ", " + protocol_text(figures)}};
}

}  // namespace

Result<> is_file_of(const SharedFile& file, const RunFigures& run) {
  // Two digits behind the point of a GiB, one of a MiB; engines round in other units as well.
  constexpr Rounding kBytes{0.01, 64.0 * 1024};
  constexpr Rounding kParameters{0.01, 5e3};
  if (run.weight_bytes && file.tensor_bytes > 0 &&
      !fits(*run.weight_bytes, static_cast<double>(file.tensor_bytes), kBytes) &&
      // ollama tells the size of the file.
      !fits(*run.weight_bytes, static_cast<double>(file.file_bytes), kBytes)) {
    return fail(ErrorKind::unsupported, "'{}' holds {} of tensors, the model of the run has {}",
                file.name, format_bytes(file.tensor_bytes), in_gib(*run.weight_bytes));
  }
  if (run.parameters && file.parameters > 0 &&
      !fits(*run.parameters, static_cast<double>(file.parameters), kParameters)) {
    return fail(ErrorKind::unsupported, "'{}' has {} parameters, the model of the run {}",
                file.name, format_parameters(static_cast<double>(file.parameters)),
                format_parameters(*run.parameters));
  }
  const bool size_told = run.weight_bytes || run.parameters;
  if (!size_told && !names_are_related(run.model, file.name)) {
    return fail(ErrorKind::unsupported,
                "the run names '{}' and tells no size: nothing says that '{}' was its file",
                run.model, file.name);
  }
  return {};
}

std::vector<std::string> missing_of_file(const SharedRun& run) {
  std::vector<std::string> out;
  if (quant_text(run) == kNotKnown) out.emplace_back("quant");
  if (bits_text(run) == kNotKnown) out.emplace_back("bits per weight");
  if (sha_text(run) == kNotKnown) out.emplace_back("sha256");
  return out;
}

std::string model_text(const SharedRun& run) { return told(run.figures.model); }

std::string quant_text(const SharedRun& run) {
  if (run.file && !run.file->quant.empty()) return told(run.file->quant);
  return told(run.figures.quant_label());
}

std::string bits_text(const SharedRun& run) {
  const auto& exact = run.file ? run.file->bits_per_weight : run.figures.more.bits_per_weight;
  return exact ? fmt::format("{:.2f}", *exact) : std::string(kNotKnown);
}

std::string sha_text(const SharedRun& run) {
  constexpr std::size_t kDigits = 12;
  if (!run.file || run.file->sha256.empty()) return std::string(kNotKnown);
  return told(std::string_view(run.file->sha256).substr(0, kDigits));
}

std::string engine_text(const RunFigures& run) {
  return fmt::format("{} {}", told(run.engine),
                     run.build.empty() ? fmt::format("build {}", kNotKnown) : plain(run.build));
}

std::string machine_text(const RunFigures& run) {
  const MachineFigures& machine = run.machine;
  std::string out = machine.chip.empty() && !machine.gpu.empty() ? fmt::format("CPU {}", kNotKnown)
                                                                 : told(machine.chip);
  if (!machine.gpu.empty()) out += " + " + plain(machine.gpu);
  if (machine.gpu_count > 1) out += fmt::format(" x{}", machine.gpu_count);
  // As the footer rounds it.
  return out + (machine.ram_gib ? fmt::format(", {:.0f} GB", *machine.ram_gib)
                                : fmt::format(", RAM {}", kNotKnown));
}

std::string context_text(const RunFigures& run) {
  return run.context ? fmt::format("{}", *run.context) : std::string(kNotKnown);
}

std::string kv_text(const RunFigures& run) {
  const std::string& k = run.more.kv_type_k;
  const std::string& v = run.more.kv_type_v;
  if (k.empty() && v.empty()) return std::string(kNotKnown);
  return told(k) + "/" + told(v);
}

std::string settings_text(const RunFigures& run) {
  if (!run.sampling) return fmt::format("settings {}", kNotKnown);
  const Sampling& sampling = *run.sampling;
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.10g}", *value) : std::string(kNotKnown);
  };
  return fmt::format("temp {}, top-k {}, top-p {}, min-p {}, seed {}", number(sampling.temperature),
                     number(sampling.top_k), number(sampling.top_p), number(sampling.min_p),
                     sampling.seed ? fmt::format("{}", *sampling.seed) : std::string(kNotKnown));
}

std::string headline(const RunFigures& run, Lane lane) {
  const LaneFigures& figures = run.lane(lane);
  if (figures.warm.abstains) return "abstain";
  if (figures.warm.value) return fmt::format("{:.1f}", *figures.warm.value);
  if (!run.only_one_pass) return std::string(kNotKnown);
  // One pass: a rate that is not warm must not pass for one.
  if (figures.cold.abstains) return "abstain";
  if (!figures.cold.value) return std::string(kNotKnown);
  return fmt::format("{:.1f} {}", *figures.cold.value,
                     run.server_was_warm ? "(one pass)" : "(cold)");
}

std::string verdict_text(const SharedRun& run) {
  const auto& state = run.figures.state;
  if (!state) return fmt::format("verdict {}", kNotKnown);
  return fmt::format("{}{}", name_of(*state),
                     run.contradicted ? " (contradicted by its own figures)" : "");
}

std::string protocol_text(const RunFigures& run) {
  return run.protocol.empty() ? fmt::format("protocol {}", kNotKnown) : plain(run.protocol);
}

std::string share_line(const SharedRun& run) {
  const RunFigures& figures = run.figures;
  const std::string pp = headline(figures, Lane::prefill);
  const std::string tg = headline(figures, Lane::decode);
  const std::string bits = bits_text(run);
  const std::array parts = {
      model_text(run),
      quant_text(run) == kNotKnown ? fmt::format("quant {}", kNotKnown) : quant_text(run),
      bits == kNotKnown ? "bpw " + bits : bits + " bpw",
      "sha256 " + sha_text(run),
      engine_text(figures),
      machine_text(figures),
      "ctx " + context_text(figures),
      "KV " + kv_text(figures),
      settings_text(figures),
      "pp " + pp,
      fmt::format("tg {} tok/s", tg),
      verdict_text(run),
      "picchio " + protocol_text(figures)};
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += " | ";
    out += plain_markdown(part);
  }
  return out + '\n';
}

std::string share_row(const SharedRun& run, bool with_head) {
  const std::vector<Cell> cells = row_cells(run);
  std::string head = "|";
  std::string rule = "|";
  std::string row = "|";
  for (const Cell& cell : cells) {
    head += fmt::format(" {} |", cell.head);
    rule += cell.right ? " ---: |" : " --- |";
    row += fmt::format(" {} |", plain_markdown(cell.text));
  }
  return with_head ? fmt::format("{}\n{}\n{}\n", head, rule, row) : row + '\n';
}

}  // namespace picchio::results
