#include "report/sweep.h"

#include "base/median.h"
#include "base/text.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kColumns = 79;
constexpr std::size_t kNotes = 9;  // under a row, beside its context
constexpr std::size_t kPlotColumns = 62;
constexpr std::size_t kPlotRows = 8;
constexpr std::size_t kPlotLabel = 8;

/// All lines but the first are indented; wrap() takes no blanks at the front of a text.
void add_wrapped(Lines& lines, std::string_view text, std::size_t indent) {
  for (std::string& line : report::wrap(text, kColumns, indent)) lines.push_back(std::move(line));
}
void add_under(Lines& lines, std::string_view text, std::size_t indent) {
  for (const std::string& line : report::wrap(text, kColumns - indent, 0)) {
    lines.push_back(std::string(indent, ' ') + line);
  }
}

std::string rate_text(const SweepTier& tier, Lane lane) {
  if (const auto rate = median_of(tier.passes(lane))) return fmt::format("{:.1f}", *rate);
  const LaneFigures& figures = tier.figures.lane(lane);
  return figures.cold.abstains || figures.warm.abstains ? "abstains" : "n/a";
}

std::string bytes_text(const std::optional<double>& bytes) {
  const auto whole = whole_bytes(bytes);
  return whole ? format_bytes(*whole) : "n/a";
}

std::string on_gpu_text(const PlacementFigures& placement) {
  if (placement.layers_on_gpu && placement.layers_total) {
    return fmt::format("{}/{}", *placement.layers_on_gpu, *placement.layers_total);
  }
  const auto share = placement.gpu_share ? placement.gpu_share : placement.claimed_share;
  return share ? fmt::format("{:.0f}%", 100 * *share) : "n/a";
}

void add_row(Lines& lines, const SweepTier& tier) {
  const std::string head = fmt::format("{}", tier.context);
  if (!tier.has_figures()) {
    const auto why = report::wrap(fmt::format("{}: {}", name_of(tier.end), plain(tier.why)),
                                  kColumns - kNotes, 0);
    for (std::size_t i = 0; i < why.size(); ++i) {
      lines.push_back(fmt::format("{:>7}  {}", i == 0 ? head : "", why[i]));
    }
    return;
  }
  const BuildFigures& more = tier.figures.more;
  lines.push_back(fmt::format("{:>7}{:>8}{:>10}{:>9}{:>11}{:>11}{:>11}{:>10}", head,
                              more.filled_tokens ? fmt::format("{}", *more.filled_tokens) : "n/a",
                              rate_text(tier, Lane::prefill), rate_text(tier, Lane::decode),
                              rate_text(tier, Lane::wallclock), bytes_text(more.cache_bytes),
                              bytes_text(more.allocated_bytes),
                              on_gpu_text(tier.figures.placement)));
  if (tier.end == TierEnd::earlier) {
    add_under(lines, fmt::format("(@{}, {})", tier.id, name_of(tier.end)), kNotes);
  }
  if (!tier.note.empty()) add_under(lines, fmt::format("({})", plain(tier.note)), kNotes);
}

struct Point {
  double x = 0;
  double y = 0;
};

/// Decode over depth, from zero to zero: how steep it looks is how steep it is.
class Plot {
 public:
  explicit Plot(Point most) : most_(most) {
    rows_.fill(std::string(kPlotColumns, ' '));
    rows_.back().assign(kPlotColumns, '-');
  }

  void mark(Point at, char sign) {
    const auto cell = [](double value, double most, std::size_t cells) {
      const double share = std::clamp(value / most, 0.0, 1.0);
      return static_cast<std::size_t>(std::lround(share * static_cast<double>(cells - 1)));
    };
    const std::size_t row = rows_.size() - 1 - cell(at.y, most_.y, rows_.size());
    rows_.at(row)[cell(at.x, most_.x, kPlotColumns)] = sign;
  }

  void print(Lines& lines) const {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const double share = static_cast<double>(kPlotRows - row) / static_cast<double>(kPlotRows);
      std::string line =
          fmt::format("{:>{}} {}{}", row % 4 == 0 ? fmt::format("{:.1f}", share * most_.y) : "",
                      kPlotLabel, row == kPlotRows ? '+' : '|', rows_.at(row));
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
    const std::string most = fmt::format("{:.0f} tokens", most_.x);
    lines.push_back(fmt::format("{:>{}}  0{:>{}}", "", kPlotLabel, most, kPlotColumns - 1));
  }

 private:
  Point most_;
  std::array<std::string, kPlotRows + 1> rows_;  // from the top; the last is the axis
};

/// The slope's line as far as it was measured.
void draw_slope(Plot& plot, const DepthSlope& slope) {
  const auto shallowest = static_cast<double>(slope.shallowest);
  const auto deepest = static_cast<double>(slope.deepest);
  for (std::size_t step = 0; step <= kPlotColumns; ++step) {
    const double share = static_cast<double>(step) / static_cast<double>(kPlotColumns);
    const double depth = shallowest + (deepest - shallowest) * share;
    const double ms = slope.ms_at_zero + slope.ms_per_thousand * depth / 1000;
    if (std::isfinite(ms) && ms > 0) plot.mark({depth, 1000 / ms}, '.');
  }
}

void add_plot(Lines& lines, const Sweep& sweep) {
  std::vector<Point> points;
  for (const SweepTier& tier : sweep.tiers) {
    const auto rate = median_of(tier.passes(Lane::decode));
    const auto depth = tier.figures.more.filled_tokens;
    if (rate && *rate > 0 && depth && *depth > 0) {
      points.push_back({static_cast<double>(*depth), *rate});
    }
  }
  // Of very large numbers the labels would be wider than the plot.
  constexpr double kMostDrawn = 1e6;
  if (points.size() < 2) return;
  const Point most{std::ranges::max(points, {}, &Point::x).x,
                   std::ranges::max(points, {}, &Point::y).y};
  if (!(most.y < kMostDrawn)) return;
  Plot plot(most);
  if (sweep.decode) draw_slope(plot, *sweep.decode);
  for (const Point& point : points) plot.mark(point, '*');
  lines.emplace_back();
  lines.emplace_back("decode, tok/s over depth");
  plot.print(lines);
}

std::string slope_text(std::string_view lane, const DepthSlope& slope) {
  std::string out =
      fmt::format("{} {:.1f} tok/s at a depth of {} tokens, {:.1f} at {}", lane,
                  slope.rate_shallowest, slope.shallowest, slope.rate_deepest, slope.deepest);
  if (!slope.uncertainty) {
    return out + fmt::format(
                     ": 1000 tokens of depth add {:.3g} ms to a token; how certain that is "
                     "two passes cannot tell",
                     slope.ms_per_thousand);
  }
  out += fmt::format(": 1000 tokens of depth add {:.3g} +- {:.2g} ms to a token (95 %, {} passes)",
                     slope.ms_per_thousand, *slope.uncertainty, slope.passes);
  return slope.certain() ? out : out + ", which may be none at all";
}

void add_slopes_text(Lines& lines, const Sweep& sweep) {
  std::vector<std::string> parts;
  if (sweep.decode) parts.push_back(slope_text("decode", *sweep.decode));
  if (sweep.prefill) parts.push_back(slope_text("prefill", *sweep.prefill));
  if (parts.empty()) {
    parts.emplace_back("not known: two depths have to be measured");
  }
  if (sweep.placed_otherwise_from) {
    parts.push_back(fmt::format("from ctx {} on the model lies elsewhere, so that is not in it",
                                *sweep.placed_otherwise_from));
  }
  lines.emplace_back();
  add_wrapped(lines, fmt::format("SLOPE: {}.", parts.front()), 2);
  for (std::size_t i = 1; i < parts.size(); ++i) add_under(lines, parts[i] + ".", 2);
}

/// From what is right to what is worst.
int severity(State state) {
  constexpr std::array kOrder = {State::healthy,
                                 State::cpu_only_machine,
                                 State::no_placement_evidence,
                                 State::no_timing_evidence,
                                 State::partial_offload,
                                 State::conflicting_evidence,
                                 State::silent_cpu_fallback};
  return static_cast<int>(std::ranges::find(kOrder, state) - kOrder.begin());
}

void add_verdicts(Lines& lines, const Sweep& sweep) {
  const SweepTier* worst = worst_tier(sweep);
  if (worst == nullptr) {
    lines.emplace_back("VERDICT: none; no context size was measured.");
    return;
  }
  std::vector<std::pair<State, Lines>> groups;
  for (const SweepTier& tier : sweep.tiers) {
    if (!tier.has_figures() || !tier.figures.state) continue;
    const State state = *tier.figures.state;
    auto group = std::ranges::find(groups, state, &std::pair<State, Lines>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {state, {}});
    group->second.push_back(fmt::format("{}", tier.context));
  }
  std::vector<std::string> parts;
  parts.reserve(groups.size());
  for (const auto& [state, contexts] : groups) {
    parts.push_back(fmt::format("{} at ctx {}", name_of(state), fmt::join(contexts, ", ")));
  }
  add_wrapped(lines,
              fmt::format("VERDICT: {}. {}", fmt::join(parts, "; "),
                          with_stop(plain(worst->figures.sentence))),
              2);
  if (!worst->figures.why.empty()) add_wrapped(lines, "WHY: " + plain(worst->figures.why), 2);
  if (!worst->figures.fix.empty()) add_wrapped(lines, "FIX: " + plain(worst->figures.fix), 2);
}

}  // namespace

const SweepTier* worst_tier(const Sweep& sweep) {
  const SweepTier* out = nullptr;
  int worst = -1;
  for (const SweepTier& tier : sweep.tiers) {
    const std::optional<State>& state = tier.figures.state;
    if (!tier.has_figures() || !state || severity(*state) <= worst) continue;
    out = &tier;
    worst = severity(*state);
  }
  return out;
}

std::string sweep_text(const Sweep& sweep) {
  Lines lines;
  add_wrapped(lines,
              fmt::format("picchio ctx-sweep: {}, {}, {} {} of each size", plain(sweep.model),
                          plain(sweep.engine), sweep.passes, sweep.passes == 1 ? "pass" : "passes"),
              2);
  if (!sweep.arguments.empty()) add_under(lines, "[" + plain(sweep.arguments) + "]", 2);
  if (sweep.context_is_fixed) {
    add_under(lines, "(the server's context is fixed: the sizes are depths in it)", 2);
  }
  lines.emplace_back();
  lines.push_back(fmt::format("{:>7}{:>8}{:>10}{:>9}{:>11}{:>11}{:>11}{:>10}", "ctx", "depth",
                              "prefill", "decode", "wallclock", "cache", "memory", "on GPU"));
  for (const SweepTier& tier : sweep.tiers) add_row(lines, tier);
  add_plot(lines, sweep);
  add_slopes_text(lines, sweep);
  add_verdicts(lines, sweep);
  add_wrapped(
      lines,
      fmt::format("-- picchio v{} ctx-sweep on {}", plain(sweep.version), plain(sweep.machine)), 3);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace picchio
