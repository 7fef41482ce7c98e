#include "base/text.h"
#include "report/block.h"
#include "report/layout.h"
#include "report/watched.h"
#include "report/watched_steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kValueColumn = 11;
constexpr std::size_t kMostProcesses = 6;

void row(Lines& lines, std::string_view label, std::string_view value) {
  std::string_view head = label;
  for (const std::string& line : report::wrap(value, kBlockColumns - kValueColumn, 2)) {
    lines.push_back(fmt::format("  {:<{}}{}", head, kValueColumn - 2, line));
    head = "";
  }
}

void paragraph(Lines& lines, std::string_view text) {
  for (const std::string& line : report::wrap(text, kBlockColumns, 2)) lines.push_back(line);
}

std::string busy_text(const MeteredGpu& about, const WatchedGpu& gpu) {
  if (!gpu.busy_median) return "not told";
  std::string text = fmt::format("{:.0f}% median, peak {:.0f}%", *gpu.busy_median,
                                 gpu.busy_peak.value_or(*gpu.busy_median));
  if (about.busy_is_upper_bound) text += ", at most: so long it was awake";
  return text;
}

std::string power_text(const MeteredGpu& about, const WatchedGpu& gpu) {
  std::string text;
  if (gpu.watts) text = fmt::format("{:.0f} W median", *gpu.watts);
  if (gpu.joules) text += fmt::format("{}{:.0f} J", text.empty() ? "" : ", ", *gpu.joules);
  if (!text.empty() && about.power_is_package) text += ", the CPU beside it included";
  return text;
}

std::string share_text(const ProcessShare& share) {
  const std::string name = fit(plain(share.name), 24);
  std::string text =
      name.empty() ? fmt::format("pid {}", share.pid) : fmt::format("{} (pid {})", name, share.pid);
  if (share.busy_mean) text += fmt::format(" {:.0f}%", *share.busy_mean);
  if (share.memory_peak) text += fmt::format(", {}", format_bytes(*share.memory_peak));
  if (share.evicted_peak.value_or(0) > 0) {
    text += fmt::format(", {} pushed out", format_bytes(*share.evicted_peak));
  }
  return text;
}

void process_rows(Lines& lines, const WatchRecord& record, const WatchedGpu& gpu) {
  std::string_view label = "whose";
  for (std::size_t i = 0; i < gpu.processes.size() && i < kMostProcesses; ++i) {
    const ProcessShare& share = gpu.processes[i];
    row(lines, label, share_text(share) + (share.in_tree && record.target ? ", watched" : ""));
    label = "";
  }
  if (gpu.processes.size() > kMostProcesses) {
    row(lines, "", fmt::format("and {} more", gpu.processes.size() - kMostProcesses));
  }
}

void gpu_rows(Lines& lines, const WatchRecord& record, const WatchedGpu& gpu) {
  const MeteredGpu& about = record.telemetry.gpus[static_cast<std::size_t>(gpu.gpu)];
  const std::string name = plain(about.name.empty() ? "unnamed GPU" : about.name);
  row(lines, fmt::format("gpu {}", gpu.gpu), fmt::format("{}, {} looks", name, gpu.looks));
  if (!gpu.lost.empty()) {
    row(lines, "gone", fmt::format("after {:.0f} s: {}", seconds(gpu.lost_at), plain(gpu.lost)));
  }
  if (gpu.looks_asleep > 0) row(lines, "asleep", fmt::format("at {} looks", gpu.looks_asleep));
  if (gpu.looks == 0) return;
  row(lines, "busy", busy_text(about, gpu));
  if (gpu.memory_peak) {
    std::string text = format_bytes(*gpu.memory_peak);
    if (about.memory_bytes) text += " of " + format_bytes(*about.memory_bytes);
    row(lines, "memory", text + (about.unified_memory ? " at most, the system's" : " at most"));
  }
  if (const std::string text = power_text(about, gpu); !text.empty()) row(lines, "power", text);
  if (gpu.looks_throttled > 0) {
    row(lines, "slowed", fmt::format("by heat or by the board at {} looks", gpu.looks_throttled));
  }
  process_rows(lines, record, gpu);
}

void cpu_row(Lines& lines, const WatchRecord& record, const WatchVerdict& verdict) {
  if (!verdict.cpu_cores) return;
  std::string text = fmt::format("{:.1f}", *verdict.cpu_cores);
  if (record.logical_cores) text += fmt::format(" of {}", *record.logical_cores);
  row(lines, "cpu", text + " cores kept busy by the watched processes");
}

}  // namespace

std::string watch_summary(const WatchRecord& record, const WatchVerdict& verdict) {
  Lines lines;
  std::string head = fmt::format("picchio watch: {}, {:.1f} s", report::target_text(record),
                                 seconds(record.length));
  if (!record.ended.empty()) head += "; " + plain(record.ended);
  paragraph(lines, head);
  if (record.target && !record.target->found_by.empty()) {
    row(lines, "found", plain(record.target->found_by));
  }
  for (const WatchedGpu& gpu : verdict.gpus) gpu_rows(lines, record, gpu);
  cpu_row(lines, record, verdict);
  paragraph(lines, fmt::format("{}: {}", name_of(verdict.activity), verdict.sentence));
  for (const std::string& news : record.telemetry.news) {
    if (verdict.gpus.empty() && news == record.telemetry.none_because) continue;
    paragraph(lines, "note: " + plain(news));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace picchio
