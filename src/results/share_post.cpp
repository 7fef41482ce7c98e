#include "base/text.h"
#include "results/share.h"
#include "results/share_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::results {
namespace {

constexpr std::string_view kBlank = "____";

std::string or_not_known(const std::string& text) {
  return text.empty() ? std::string(kNotKnown) : text;
}

template <class T>
std::string number(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string(kNotKnown);
}

std::string parameters_text(const RunFigures& run) {
  return or_not_known(format_parameters(run.parameters.value_or(0)));
}

std::string size_text(const RunFigures& run) {
  if (!run.weight_bytes) return std::string(kNotKnown);
  return format_bytes(static_cast<std::int64_t>(std::llround(*run.weight_bytes)));
}

std::string layers_text(const PlacementFigures& placement) {
  if (placement.layers_on_gpu && placement.layers_total) {
    return fmt::format("{}/{} layers on a GPU", *placement.layers_on_gpu, *placement.layers_total);
  }
  if (placement.claimed_share) {
    return fmt::format("the engine claims {:.0f}% in GPU memory", 100 * *placement.claimed_share);
  }
  return "layers n/a";
}

std::string placement_text(const PlacementFigures& placement) {
  std::string device = plain(placement.backend);
  if (!placement.device.empty()) {
    device += fmt::format("{}{}", device.empty() ? "" : ": ", plain(placement.device));
  }
  if (placement.device_count > 1) device += fmt::format(" x{}", placement.device_count);
  return fmt::format(
      "{}; {}; device {}; weight bytes on GPUs {}; KV cache on {}",
      placement.engagement ? std::string(name_of(*placement.engagement)) : std::string(kNotKnown),
      layers_text(placement), or_not_known(device),
      placement.gpu_share ? fmt::format("{:.1f}%", 100 * *placement.gpu_share)
                          : std::string(kNotKnown),
      or_not_known(plain(placement.kv)));
}

std::string flash_text(const RunFigures& run) {
  const auto& flash = run.more.flash_attention;
  if (!flash) return std::string(kNotKnown);
  return *flash ? "on" : "off";
}

std::string protocol_details(const RunFigures& run) {
  if (run.protocol != "mp1") return protocol_text(run);
  // What the tag stands for.
  return "mp1: a fixed prompt of about 730 tokens, 128 generated, the first pass cold";
}

std::string rate_text(const Rate& rate) {
  if (rate.abstains) return "abstain";
  return rate.value ? fmt::format("{:.1f} tok/s", *rate.value) : std::string(kNotKnown);
}

std::string lane_text(const RunFigures& run, Lane lane) {
  const LaneFigures& figures = run.lane(lane);
  std::string span(kNotKnown);
  if (figures.low && figures.high)
    span = fmt::format("{:.1f} to {:.1f}", *figures.low, *figures.high);
  return fmt::format("warm {} (span {}), cold {}", rate_text(figures.warm), span,
                     rate_text(figures.cold));
}

std::string meter_text(const MeterFigures& meter) {
  if (!meter.not_sampled.empty()) {
    return fmt::format("{} (not sampled: {})", kNotKnown, plain(meter.not_sampled));
  }
  const auto with = [](const std::optional<double>& value, std::string_view unit) {
    return value ? fmt::format("{:.10g} {}", std::round(100 * *value) / 100, unit)
                 : fmt::format("{} {}", unit, kNotKnown);
  };
  return fmt::format("{}, {}{}", with(meter.watts, "W in decode"),
                     with(meter.joules_per_token, "J/tok"), meter.throttled ? ", throttled" : "");
}

struct Condition {
  std::string_view name;
  std::string text;
};

std::vector<Condition> conditions(const SharedRun& run) {
  const RunFigures& figures = run.figures;
  return {
      {"model", fmt::format("{}, parameters {}, {}", model_text(run), parameters_text(figures),
                            size_text(figures))},
      {"quant", fmt::format("{}, bits per weight {}, sha256 {}", quant_text(run), bits_text(run),
                            sha_text(run))},
      {"engine", engine_text(figures)},
      {"engine arguments", or_not_known(plain(figures.placement.arguments))},
      {"machine",
       fmt::format("{}, {}", machine_text(figures), or_not_known(plain(figures.machine.os)))},
      {"driver", or_not_known(plain(figures.more.driver))},
      {"placement", placement_text(figures.placement)},
      {"context", context_text(figures)},
      {"batch / ubatch",
       fmt::format("{} / {}", number(figures.more.batch), number(figures.more.ubatch))},
      {"KV cache type", kv_text(figures)},
      {"flash attention", flash_text(figures)},
      {"threads", number(figures.threads())},
      {"sampling", settings_text(figures)},
      {"power", meter_text(figures.meter)},
      {"protocol", protocol_details(figures)},
      {"prefill (pp)", lane_text(figures, Lane::prefill)},
      {"decode (tg)", lane_text(figures, Lane::decode)},
      {"wall-clock", lane_text(figures, Lane::wallclock)},
      {"verdict", fmt::format("{}{}{}", verdict_text(run), figures.sentence.empty() ? "" : ". ",
                              plain(figures.sentence))},
      {"why", or_not_known(plain(figures.why))},
  };
}

/// Longer than any run of backticks inside, so that nothing there ends it.
std::string fence_for(const std::vector<std::string>& lines) {
  constexpr std::size_t kShortest = 3;
  std::size_t longest = 0;
  std::size_t now = 0;
  for (const std::string& line : lines) {
    for (const char c : line) longest = std::max(longest, now = c == '`' ? now + 1 : 0);
    now = 0;
  }
  return std::string(std::max(kShortest, longest + 1), '`');
}

/// How far a line of a block stands in, by what it begins with: readers of pasted text lose that.
std::string_view indent_of(std::string_view line, std::string_view last_label) {
  constexpr std::array<std::string_view, 8> kWide = {"model ", "gpu ",      "bytes ", "os ",
                                                     "cpu ",   "settings ", "rates ", "ctx "};
  constexpr std::array<std::string_view, 6> kAtMargin = {
      "where the cold", "cold start not", "VERDICT:", "WHY:", "FIX:", "-- picchio"};
  const auto begins = [&](std::string_view label) { return line.starts_with(label); };
  if (std::ranges::any_of(kAtMargin, begins)) return "";
  // A sentence can go on with a word that is a label above.
  if (last_label == "VERDICT: " || last_label == "WHY: " || last_label == "FIX: ") return "  ";
  if (std::ranges::any_of(kWide, begins)) return "";
  const bool goes_on = std::ranges::any_of(
      kWide, [&](std::string_view label) { return last_label == label && label != "ctx "; });
  return goes_on ? "         " : "  ";
}

std::string block_text(const std::vector<std::string>& lines) {
  const std::string fence = fence_for(lines);
  std::string out = fence + "\n";
  std::string last_label;
  for (const std::string& raw : lines) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with("```")) continue;
    const std::string_view indent = indent_of(line, last_label);
    if (indent.empty()) last_label = line.substr(0, line.find(' ') + 1);
    out += fmt::format("{}{}\n", indent, line);
  }
  return out + fence + "\n";
}

}  // namespace

std::string share_post(const SharedRun& run) {
  const RunFigures& figures = run.figures;
  std::string out = fmt::format(
      "**{}, {}, {}: decode {} tok/s, prefill {} tok/s ({})**\n\n", plain_markdown(model_text(run)),
      plain_markdown(quant_text(run)), plain_markdown(machine_text(figures)),
      headline(figures, Lane::decode), headline(figures, Lane::prefill), verdict_text(run));
  out += run.block.empty() ? fmt::format("Block: {}\n", kNotKnown) : block_text(run.block);
  out += "\nConditions (n/a: not measured):\n\n";
  for (const Condition& condition : conditions(run)) {
    out += fmt::format("- {}: {}\n", condition.name, plain_markdown(condition.text));
  }
  for (const std::string_view question :
       {"What I use it for", "How good the answers are", "What I changed to get here",
        "What I would like to know"}) {
    out += fmt::format("\n{}: {}\n", question, kBlank);
  }
  return out + fmt::format("\nMeasured with picchio {}, {}.\n",
                           figures.version.empty() ? fmt::format("version {}", kNotKnown)
                                                   : "v" + plain(figures.version),
                           protocol_text(figures));
}

}  // namespace picchio::results
