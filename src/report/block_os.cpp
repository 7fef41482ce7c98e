// The os line: what the operating system's own meters saw of the GPUs in use.
#include "base/text.h"
#include "report/block.h"
#include "report/block_parts.h"
#include "report/gpu_use.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace picchio::report {
namespace {

constexpr std::string_view kLabel = "os       ";
constexpr double kGiB = 1024.0 * 1024 * 1024;
// What "os       gpu not sampled (); evidence: engine+timing" leaves of a row.
constexpr std::size_t kShortReason = 14;
constexpr std::string_view kThrottled = "throttled";

bool has_timing(const Run& run) {
  return std::ranges::any_of(run.passes, [](const Pass& pass) {
    return pass.lanes.decode.has_value() || pass.lanes.prefill.has_value();
  });
}

std::string evidence(const Run& run) {
  const bool engine = run.placement.shape != Shape::unknown;
  const bool timing = has_timing(run);
  return engine ? (timing ? "engine+timing" : "engine") : (timing ? "timing" : "none");
}

/// Sentences that are met often, said in the block's room.
std::string in_short(const std::string& reason) {
  if (reason == "no GPU meter on this machine") return "no meter here";
  if (reason == "the server runs elsewhere") return "remote server";
  return reason;
}

/// The first row is always the one that other readers of blocks know.
std::vector<std::string> not_sampled(const Run& run) {
  const std::string reason = in_short(why_not_sampled(run));
  const bool fits = reason.size() <= kShortReason;
  std::vector<std::string> out = {fmt::format("{}gpu not sampled ({}); evidence: {}", kLabel,
                                              fits ? reason : "see below", evidence(run))};
  if (!fits) out.push_back(fmt::format("{:9}({})", "", fit(reason, kBlockColumns - 11)));
  return out;
}

std::string watts_text(double watts) {
  if (!std::isfinite(watts) || std::abs(watts) >= 1e6) return "? W";
  return watts < 99.95 ? fmt::format("{:.1f} W", watts) : fmt::format("{:.0f} W", watts);
}

std::string busy_text(std::string_view name, double percent) {
  if (!std::isfinite(percent)) return {};
  return fmt::format("{} {:.0f}%", name, std::clamp(percent, 0.0, 999.0));
}

std::vector<std::string> figures(const CombinedUse& use) {
  std::vector<std::string> out;
  if (use.idle_busy) out.push_back(busy_text("idle", *use.idle_busy));
  if (use.work_busy) out.push_back(busy_text("work", *use.work_busy));
  if (!use.work_busy) out.emplace_back("work not told");
  if (use.memory_step) {
    // -0.0 would say that something was freed.
    const double gib = std::round(static_cast<double>(*use.memory_step) / kGiB * 10) / 10;
    out.push_back(fmt::format("mem {:+.1f} GiB", gib == 0 ? 0.0 : gib));
  }
  if (use.watts) out.push_back(watts_text(*use.watts));
  if (use.joules_per_token && std::isfinite(*use.joules_per_token)) {
    out.push_back(fmt::format("{:.2f} J/tok", *use.joules_per_token));
  }
  if (use.throttled) out.emplace_back(kThrottled);
  return out;
}

std::string row_of(const std::vector<std::string>& parts) {
  return fmt::format("{}gpu {}", kLabel, fmt::join(parts, ", "));
}

/// Of too many for a row the last ones go, but what spoils the figures stays.
std::string row_that_fits(std::vector<std::string> parts) {
  std::string row = row_of(parts);
  while (row.size() > kBlockColumns && parts.size() > 2) {
    parts.erase(parts.end() - (parts.back() == kThrottled ? 2 : 1));
    row = row_of(parts);
  }
  return row;
}

/// One GPU of several, in as few words as tell them apart.
std::string one_of_several(const GpuUse& use) {
  std::string out = fmt::format("gpu {}", use.gpu);
  if (use.work.busy_median) out += fmt::format(" {:.0f}%", *use.work.busy_median);
  if (use.memory_step) {
    out += fmt::format(" {:+.1f} GiB", static_cast<double>(*use.memory_step) / kGiB);
  }
  if (use.work.watts) out += " " + watts_text(*use.work.watts);
  return out;
}

}  // namespace

std::vector<std::string> os_lines(const Run& run) {
  const std::vector<const GpuUse*> shown = shown_gpus(run);
  if (shown.empty()) return not_sampled(run);
  const CombinedUse use = combined(shown);
  if (!use.lost.empty()) {
    return {fmt::format("{}gpu lost during the run; evidence: {}", kLabel, evidence(run)),
            fmt::format("{:9}({})", "", fit(plain(use.lost), kBlockColumns - 11))};
  }
  std::vector<std::string> out = {row_that_fits(figures(use))};
  if (shown.size() < 2) return out;
  std::vector<std::string> each;
  each.reserve(shown.size());
  for (const GpuUse* one : shown) each.push_back(one_of_several(*one));
  out.push_back(fit(fmt::format("{:9}{}", "", fmt::join(each, "; ")), kBlockColumns));
  return out;
}

}  // namespace picchio::report
