// The rates table and the bars of the cold pass.
#include "base/text.h"
#include "report/block.h"
#include "report/block_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace picchio::report {
namespace {

constexpr std::size_t kColumnWidth = 13;
constexpr std::size_t kWidestColumn = 17;  // three of them still end in column 66
constexpr std::size_t kBar = 28;
// Above this a figure is not a rate of any machine; it only must not break the columns.
constexpr double kPlausible = 1e8;

// NaN for what was not read, so that one test serves both.
double rate_of(const std::optional<double>& value) {
  const double rate = value.value_or(std::numeric_limits<double>::quiet_NaN());
  return std::isfinite(rate) && rate >= 0 ? rate : std::numeric_limits<double>::quiet_NaN();
}

std::string figure(double value, int decimals) {
  if (value >= kPlausible) return fmt::format("{:.0e}", value);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string rate_cell(const std::optional<double>& rate, const std::string& abstain) {
  if (!abstain.empty()) return "abstain";
  const double value = rate_of(rate);
  return std::isnan(value) ? "n/a" : figure(value, 1) + " tok/s";
}

std::string span_cell(const LaneSummary& lane, int decimals) {
  const double low = rate_of(lane.low);
  const double high = rate_of(lane.high);
  if (!lane.abstain.empty() || std::isnan(low) || std::isnan(high)) return "-";
  return figure(low, decimals) + "~" + figure(high, decimals);
}

struct TableRow {
  std::string label;
  std::array<std::string, 3> cells;
};

std::string row_text(const TableRow& row, std::size_t width) {
  std::string line = fmt::format("{:<11}", fit(row.label, 11));
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (i > 0) line += "  ";
    line += fmt::format("{:>{}}", fit(row.cells[i], width), width);
  }
  return line;
}

std::string context_label(const Run& run) {
  return run.context ? fmt::format("ctx {}", *run.context) : "ctx ?";
}

std::string where_line(const Run& run) {
  const Pass& pass = run.passes.front();
  std::string inside = figure(std::max(pass.wall_seconds, 0.0), 1) + " s";
  if (pass.log.threads) {
    const std::optional<int> cores =
        pass.log.cores ? pass.log.cores : run.raw.machine.logical_cores;
    inside += cores ? fmt::format(", {}/{} threads", *pass.log.threads, *cores)
                    : fmt::format(", {} threads", *pass.log.threads);
  }
  const std::string note = run.raw.passes.empty() ? "" : cache_note(run.raw.passes.front());
  if (!note.empty()) inside += ", " + note;
  constexpr std::string_view kHead = "where the cold pass went (";
  return fmt::format("{}{})", kHead, fit(inside, kBlockColumns - kHead.size() - 1));
}

std::string bar_line(std::string_view label, std::optional<double> phase, double wall) {
  if (phase && !std::isfinite(*phase)) phase.reset();
  std::size_t filled = 0;
  std::string percent = "n/a";
  if (phase && wall > 0) {
    const double share = std::clamp(*phase / wall, 0.0, 1.0);
    filled = static_cast<std::size_t>(std::lround(share * static_cast<double>(kBar)));
    // A phase longer than the whole pass is two clocks at odds, not a share.
    if (*phase <= wall * 1.005) percent = fmt::format("{:.0f}%", 100 * share);
  }
  const std::string time = phase ? figure(std::max(*phase, 0.0), 1) + " s" : "n/a  ";
  return fmt::format("  {:<13}{:>8}  {}{}  {:>4}", label, time, std::string(filled, '#'),
                     std::string(kBar - filled, '.'), percent);
}

}  // namespace

bool never_cold(const Run& run) { return run.raw.server && !run.raw.server->loads_on_request; }

std::string cache_note(const RawPass& pass) {
  constexpr double kAllCached = 0.99;  // a few pages always come and go
  constexpr double kNoneCached = 0.01;
  if (pass.cache_dropped) return "cache dropped";
  if (!pass.cached_fraction || !std::isfinite(*pass.cached_fraction)) return "";
  const double fraction = std::clamp(*pass.cached_fraction, 0.0, 1.0);
  if (fraction >= kAllCached) return "weights cached";
  if (fraction <= kNoneCached) return "read from disk";
  return fmt::format("{:.0f}% cached", 100 * fraction);
}

std::vector<std::string> table_lines(const Run& run) {
  std::vector<TableRow> rows = {{context_label(run), {"prefill", "decode", "wallclock"}}};
  const Lanes cold = run.passes.empty() ? Lanes{} : run.passes.front().lanes;
  if (!never_cold(run) || run.passes.size() < 2) {
    rows.push_back({never_cold(run) ? "  first" : "  cold",
                    {rate_cell(cold.prefill, cold.prefill_abstain),
                     rate_cell(cold.decode, cold.decode_abstain),
                     rate_cell(cold.wallclock, cold.wallclock_abstain)}});
  }
  if (run.passes.size() > 1) {
    rows.push_back({"  warm mid",
                    {rate_cell(run.warm_prefill.median, run.warm_prefill.abstain),
                     rate_cell(run.warm_decode.median, run.warm_decode.abstain),
                     rate_cell(run.warm_wallclock.median, run.warm_wallclock.abstain)}});
    rows.push_back({"  warm span",
                    {span_cell(run.warm_prefill, 0), span_cell(run.warm_decode, 1),
                     span_cell(run.warm_wallclock, 1)}});
  }
  std::size_t width = kColumnWidth;
  for (const TableRow& row : rows) {
    for (const std::string& cell : row.cells) width = std::max(width, cell.size());
  }
  width = std::min(width, kWidestColumn);
  std::vector<std::string> lines;
  lines.reserve(rows.size());
  for (const TableRow& row : rows) lines.push_back(row_text(row, width));
  return lines;
}

std::vector<std::string> cold_pass_lines(const Run& run) {
  if (run.passes.empty()) return {};
  if (never_cold(run)) return {"cold start not measured: the server already owned the weights"};
  const Pass& pass = run.passes.front();
  std::vector<std::string> lines = {where_line(run)};
  if (!pass.load_seconds && !pass.prefill_seconds && !pass.decode_seconds) {
    lines.emplace_back("  phases not reported: the engine printed no times");
    return lines;
  }
  const double wall = std::isfinite(pass.wall_seconds) ? pass.wall_seconds : 0;
  const double known = pass.load_seconds.value_or(0) + pass.prefill_seconds.value_or(0) +
                       pass.decode_seconds.value_or(0);
  // With a phase unread the remainder is not "engine misc".
  std::optional<double> misc;
  if (pass.load_seconds && pass.prefill_seconds && pass.decode_seconds && wall > 0) {
    misc = std::max(wall - known, 0.0);
  }
  lines.push_back(bar_line("load weights", pass.load_seconds, wall));
  lines.push_back(bar_line("prefill", pass.prefill_seconds, wall));
  lines.push_back(bar_line("decode", pass.decode_seconds, wall));
  lines.push_back(bar_line("engine misc", misc, wall));
  return lines;
}

}  // namespace picchio::report
