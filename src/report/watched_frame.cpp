// The live view and the line a second.
#include "base/text.h"
#include "report/watched.h"
#include "report/watched_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio {
namespace {

using report::GpuStep;
using Lines = std::vector<std::string>;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr Micros kSecond{1'000'000};
constexpr int kBarColumns = 10;

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / kGiB);
}

std::string padded(std::string text, std::size_t columns) {
  text = fit(text, columns);
  text.resize(columns, ' ');
  return text;
}

std::string percent_cell(const std::optional<double>& percent) {
  return percent ? fmt::format("{:3.0f}%", *percent) : std::string("   -");
}

std::string bar(const std::optional<double>& percent, const FrameStyle& style) {
  const double share = std::clamp(percent.value_or(0) / 100, 0.0, 1.0);
  const int full = static_cast<int>(std::lround(share * kBarColumns));
  const std::string done = repeated(style.utf8 ? "\u2588" : "#", full);
  const std::string rest = repeated(style.utf8 ? "\u2591" : ".", kBarColumns - full);
  if (!style.colour || full == 0) return done + rest;
  return "\x1b[32m" + done + "\x1b[0m" + rest;
}

std::string spark(double percent, bool utf8) {
  constexpr std::array<std::string_view, 8> kBlocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                       "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::array<std::string_view, 8> kSigns = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const double share = std::clamp(percent / 100, 0.0, 1.0);
  const auto step = static_cast<std::size_t>(std::min(7.0, share * 8));
  return std::string(utf8 ? kBlocks.at(step) : kSigns.at(step));
}

/// A sign a second, the newest at the right; blank where nothing was told.
std::string sparkline(const WatchRecord& record, std::size_t gpu, int columns, bool utf8) {
  std::string out;
  for (int i = columns; i > 0; --i) {
    const Micros to = record.length - kSecond * (i - 1);
    const auto busy =
        to <= Micros{0} ? std::nullopt : report::gpu_step(record, gpu, to - kSecond, to).busy;
    out += busy ? spark(*busy, utf8) : std::string(" ");
  }
  return out;
}

std::string memory_cell(const MeteredGpu& gpu, const GpuStep& now) {
  if (!now.memory_bytes) return "";
  if (!gpu.memory_bytes) return gib(*now.memory_bytes) + " GiB";
  return fmt::format("{} of {} GiB", gib(*now.memory_bytes), gib(*gpu.memory_bytes));
}

/// How many columns each part of a device's line gets; 0: it is left out.
struct Widths {
  int bar = 0;
  int name = 0;
  int memory = 0;
  int spark = 0;
  int watts = 0;
  int heat = 0;
};

Widths widths_of(int columns) {
  constexpr int kFixed = 8;  // " 0 " and " 97% "
  constexpr int kWidestName = 28;
  Widths out;
  int room = columns - 1 - kFixed;
  // Each with the blank that follows it; what matters least comes last.
  const auto take = [&room](int& part, int wanted) {
    if (room < wanted) return;
    part = wanted;
    room -= wanted;
  };
  take(out.bar, kBarColumns + 1);
  take(out.name, 9);
  take(out.memory, 17);
  take(out.spark, 9);
  take(out.watts, 7);
  take(out.heat, 6);
  const int name_more = out.name == 0 ? 0 : std::min(room, kWidestName - out.name);
  out.name += name_more;
  room -= name_more;
  if (out.spark > 0) out.spark += std::min(room, 51);
  return out;
}

std::string device_line(const WatchRecord& record, std::size_t gpu, const FrameStyle& style) {
  const MeteredGpu& about = record.telemetry.gpus[gpu];
  const Widths widths = widths_of(style.columns);
  const GpuStep now = report::gpu_step(record, gpu, record.length - kSecond, record.length);
  std::string line = fmt::format("{:2} ", gpu);
  if (widths.name > 0) {
    const std::string name = plain(about.name);
    line += padded(name.empty() ? "unnamed GPU" : name, static_cast<std::size_t>(widths.name - 1));
    line += ' ';
  }
  const std::size_t used = 3 + static_cast<std::size_t>(widths.name);
  const auto rest = static_cast<std::size_t>(std::max(style.columns - 1, 20)) - used;
  if (!now.lost.empty()) return line + fit("gone: " + plain(now.lost), rest);
  if (now.asleep) return line + fit("asleep", rest);
  line += percent_cell(now.busy) + " ";
  if (widths.bar > 0) line += bar(now.busy, style) + " ";
  if (widths.spark > 0) line += sparkline(record, gpu, widths.spark - 1, style.utf8) + " ";
  if (widths.memory > 0) line += padded(memory_cell(about, now), 16) + " ";
  if (widths.watts > 0)
    line += padded(now.watts ? fmt::format("{:.0f} W", *now.watts) : "", 6) + " ";
  if (widths.heat > 0 && now.celsius) line += fmt::format("{:.0f} C", *now.celsius);
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string process_line(const report::ProcessNow& process, std::size_t width) {
  constexpr std::size_t kOthers = 39;  // all but the name, up to "watched"
  const std::size_t name = std::clamp<std::size_t>(width > kOthers ? width - kOthers : 0, 9, 18);
  std::string line =
      fmt::format("   {:<8}{} gpu{} {}", process.use.pid, padded(plain(process.name), name - 1),
                  process.use.device, percent_cell(process.use.busy_percent));
  if (process.use.memory_bytes) line += " " + format_bytes(*process.use.memory_bytes);
  if (process.use.evicted_bytes.value_or(0) > 0) {
    line += fmt::format(" ({} pushed out)", format_bytes(*process.use.evicted_bytes));
  }
  constexpr std::string_view kWatched = " watched";
  if (process.in_tree && line.size() + kWatched.size() <= width) line += kWatched;
  return line.substr(0, width);
}

std::string cpu_text(const WatchRecord& record, double cores) {
  return record.logical_cores ? fmt::format("{:.1f} of {} cores", cores, *record.logical_cores)
                              : fmt::format("{:.1f} cores", cores);
}

std::string head_line(const WatchRecord& record) {
  std::string line = "picchio watch: " + report::target_text(record);
  const int children = report::children_now(record);
  if (children > 0)
    line += fmt::format(" and {} {}", children, children == 1 ? "child" : "children");
  return line + fmt::format(", {:.0f} s; q or Ctrl-C ends", seconds(record.length));
}

}  // namespace

std::vector<std::string> watch_frame(const WatchRecord& record, const FrameStyle& style) {
  const auto width = static_cast<std::size_t>(std::max(style.columns - 1, 20));
  Lines lines = {fit(head_line(record), width)};
  if (record.telemetry.gpus.empty()) {
    const std::string& why = record.telemetry.none_because;
    lines.push_back(fit(why.empty() ? "   waiting for the meters" : "   " + plain(why), width));
  }
  for (std::size_t gpu = 0; gpu < record.telemetry.gpus.size(); ++gpu) {
    lines.push_back(device_line(record, gpu, style));
  }
  for (const report::ProcessNow& process : report::processes_now(record)) {
    lines.push_back(process_line(process, width));
  }
  if (const auto cores = report::cpu_step(record, record.length - 2 * kSecond, record.length)) {
    lines.push_back(fit("   CPU: " + cpu_text(record, *cores), width));
  }
  const auto most = static_cast<std::size_t>(std::max(style.rows - 1, 1));
  if (lines.size() > most) {
    lines.resize(most);
    if (most > 1) lines.back() = "   ..";
  }
  return lines;
}

std::string watch_line(const WatchRecord& record, Micros from, Micros to) {
  std::string line = fmt::format("{:6.0f} s", seconds(to));
  for (std::size_t gpu = 0; gpu < record.telemetry.gpus.size(); ++gpu) {
    const GpuStep step = report::gpu_step(record, gpu, from, to);
    line += fmt::format("  gpu{}", gpu);
    if (!step.lost.empty() || step.asleep) {
      line += step.lost.empty() ? " asleep" : " gone";
      continue;
    }
    line += step.busy ? fmt::format(" {:.0f}%", *step.busy) : std::string(" -");
    if (step.memory_bytes) line += fmt::format(" {} GiB", gib(*step.memory_bytes));
    if (step.watts) line += fmt::format(" {:.0f} W", *step.watts);
    if (!step.tree_busy && !step.tree_memory_bytes) continue;
    line += step.tree_busy ? fmt::format(", own {:.0f}%", *step.tree_busy) : std::string(", own -");
    if (step.tree_memory_bytes) line += fmt::format(" {} GiB", gib(*step.tree_memory_bytes));
  }
  if (const auto cores = report::cpu_step(record, from, to)) {
    line += fmt::format("  cpu {:.1f} cores", *cores);
  }
  return line;
}

}  // namespace picchio
