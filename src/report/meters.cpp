#include "report/meters.h"

#include "base/text.h"
#include "report/block.h"
#include "report/json_values.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;
using Lines = std::vector<std::string>;

constexpr std::size_t kValueColumn = 21;

void row(Lines& lines, std::string_view label, std::string_view value) {
  std::string_view head = label;
  for (const std::string& line : report::wrap(value, kBlockColumns - kValueColumn, 0)) {
    lines.push_back(fmt::format("     {:<{}}{}", head, kValueColumn - 5, line));
    head = "";
  }
}

std::string link_text(const PcieLink& link) {
  return fmt::format("PCIe {} x{}", link.generation, link.width);
}

std::string throttling_text(const Throttling& t) {
  Lines reasons;
  if (t.power_cap) reasons.emplace_back("at the power limit");
  if (t.thermal) reasons.emplace_back("too hot");
  if (t.hardware) reasons.emplace_back("slowed down by the board");
  return reasons.empty() ? "none" : fmt::format("{}", fmt::join(reasons, ", "));
}

std::string memory_text(const MeteredGpu& gpu, std::int64_t used) {
  std::string text = format_bytes(used);
  if (gpu.memory_bytes) text += " of " + format_bytes(*gpu.memory_bytes);
  return gpu.unified_memory ? text + ", the system's" : text;
}

std::string clocks_text(const GpuReading& reading) {
  Lines parts;
  if (reading.clock_mhz) parts.push_back(fmt::format("{:.0f} MHz", *reading.clock_mhz));
  if (reading.memory_clock_mhz) {
    parts.push_back(fmt::format("memory {:.0f} MHz", *reading.memory_clock_mhz));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The value of one figure; empty: it was not told.
struct FigureText {
  GpuFigure figure;
  std::string (*text)(const MeteredGpu&, const GpuReading&);
};

constexpr FigureText kFigures[] = {
    {GpuFigure::busy,
     [](const MeteredGpu& gpu, const GpuReading& r) {
       if (!r.busy_percent) return std::string();
       return fmt::format("{:.0f}%{}", *r.busy_percent,
                          gpu.busy_is_upper_bound ? " at most: so long it was awake" : "");
     }},
    {GpuFigure::memory,
     [](const MeteredGpu& gpu, const GpuReading& r) {
       return r.memory_bytes ? memory_text(gpu, *r.memory_bytes) : std::string();
     }},
    {GpuFigure::power,
     [](const MeteredGpu& gpu, const GpuReading& r) {
       if (!r.power_watts) return std::string();
       return fmt::format("{:.1f} W{}", *r.power_watts,
                          gpu.power_is_package ? ", the CPU beside it included" : "");
     }},
    {GpuFigure::energy,
     [](const MeteredGpu&, const GpuReading& r) {
       return r.energy_joules ? std::string("a counter in joules") : std::string();
     }},
    {GpuFigure::clocks, [](const MeteredGpu&, const GpuReading& r) { return clocks_text(r); }},
    {GpuFigure::temperature,
     [](const MeteredGpu&, const GpuReading& r) {
       return r.temperature_celsius ? fmt::format("{:.0f} C", *r.temperature_celsius)
                                    : std::string();
     }},
    {GpuFigure::throttling,
     [](const MeteredGpu&, const GpuReading& r) {
       return r.throttling ? throttling_text(*r.throttling) : std::string();
     }},
    {GpuFigure::link,
     [](const MeteredGpu& gpu, const GpuReading& r) {
       std::string text = r.link ? link_text(*r.link) + " now" : std::string();
       if (gpu.link_max) {
         text += fmt::format("{}{} at most", text.empty() ? "" : ", ", link_text(*gpu.link_max));
       }
       return text;
     }},
};

const MissingFigure* missing(const MeteredGpu& gpu, GpuFigure figure) {
  const auto found = std::ranges::find(gpu.missing, figure, &MissingFigure::figure);
  return found == gpu.missing.end() ? nullptr : &*found;
}

void gpu_lines(Lines& lines, const MeteredGpu& gpu, const GpuReading& reading) {
  Lines head = {fit(plain(gpu.name.empty() ? "unnamed GPU" : gpu.name), 40)};
  if (!gpu.address.empty()) head.push_back(plain(gpu.address));
  head.push_back("meter " + plain(gpu.meter));
  if (!gpu.driver.empty()) head.push_back("driver " + fit(plain(gpu.driver), 20));
  Lines wrapped = report::wrap(fmt::format("{}", fmt::join(head, ", ")), kBlockColumns - 5, 0);
  for (std::size_t i = 0; i < wrapped.size(); ++i) {
    lines.push_back(i == 0 ? fmt::format("  {:<3}{}", gpu.index, wrapped[i])
                           : "     " + wrapped[i]);
  }
  if (!reading.lost.empty()) {
    row(lines, "gone", plain(reading.lost));
    return;
  }
  if (reading.asleep || gpu.asleep) {
    row(lines, "asleep", "powered down, and not woken to be asked");
    return;
  }
  for (const FigureText& figure : kFigures) {
    const std::string text = figure.text(gpu, reading);
    const MissingFigure* why = missing(gpu, figure.figure);
    if (!text.empty()) {
      row(lines, name_of(figure.figure), text);
    } else {
      row(lines, name_of(figure.figure),
          why == nullptr ? "not told just now" : "not told: " + plain(why->reason));
    }
  }
  for (const GpuFigure figure : {GpuFigure::process_busy, GpuFigure::process_memory}) {
    const MissingFigure* why = missing(gpu, figure);
    row(lines, name_of(figure), why == nullptr ? "told" : "not told: " + plain(why->reason));
  }
}

bool is_metered(const MachineGpu& gpu, const Telemetry& telemetry) {
  return std::ranges::any_of(telemetry.gpus, [&](const MeteredGpu& metered) {
    return !gpu.address.empty() && metered.address == gpu.address;
  });
}

Json reading_json(const GpuReading& r) {
  Json throttling = nullptr;
  if (r.throttling) {
    throttling = {{"power_cap", r.throttling->power_cap},
                  {"thermal", r.throttling->thermal},
                  {"hardware", r.throttling->hardware}};
  }
  Json link = nullptr;
  if (r.link) link = {{"generation", r.link->generation}, {"width", r.link->width}};
  return {{"busy_percent", value_or_null(r.busy_percent)},
          {"memory_bytes", value_or_null(r.memory_bytes)},
          {"power_watts", value_or_null(r.power_watts)},
          {"energy_joules", value_or_null(r.energy_joules)},
          {"clock_mhz", value_or_null(r.clock_mhz)},
          {"memory_clock_mhz", value_or_null(r.memory_clock_mhz)},
          {"temperature_celsius", value_or_null(r.temperature_celsius)},
          {"throttling", throttling},
          {"link", link},
          {"asleep", r.asleep},
          {"lost", text_or_null(r.lost)}};
}

Json gpu_json(const MeteredGpu& gpu, const GpuReading& reading) {
  Json why = Json::object();
  for (const MissingFigure& figure : gpu.missing) {
    why[std::string(name_of(figure.figure))] = figure.reason;
  }
  Json link = nullptr;
  if (gpu.link_max) {
    link = {{"generation", gpu.link_max->generation}, {"width", gpu.link_max->width}};
  }
  return {{"index", gpu.index},
          {"name", text_or_null(gpu.name)},
          {"address", text_or_null(gpu.address)},
          {"meter", gpu.meter},
          {"driver", text_or_null(gpu.driver)},
          {"cores", value_or_null(gpu.cores)},
          {"total_bytes", value_or_null(gpu.memory_bytes)},
          {"unified_memory", gpu.unified_memory},
          {"power_is_package", gpu.power_is_package},
          {"busy_is_upper_bound", gpu.busy_is_upper_bound},
          {"peak_bytes_per_second", value_or_null(gpu.peak_bytes_per_second)},
          {"link_max", link},
          {"missing", why},
          {"reading", reading_json(reading)}};
}

GpuReading last_reading(const Telemetry& telemetry, std::size_t gpu) {
  if (telemetry.samples.empty()) return {};
  const auto& readings = telemetry.samples.back().readings;
  return gpu < readings.size() ? readings[gpu] : GpuReading{};
}

}  // namespace

std::string meters_text(const Telemetry& telemetry, const Machine& machine) {
  Lines lines;
  const std::size_t count = telemetry.gpus.size();
  lines.push_back(count == 0
                      ? "picchio meters: " + plain(telemetry.none_because)
                      : fmt::format("picchio meters: {} {}", count, count == 1 ? "GPU" : "GPUs"));
  for (std::size_t i = 0; i < count; ++i) {
    gpu_lines(lines, telemetry.gpus[i], last_reading(telemetry, i));
  }
  for (const MachineGpu& gpu : machine.gpus) {
    if (is_metered(gpu, telemetry)) continue;
    for (const std::string& line :
         report::wrap(fmt::format("  unmetered: {}", plain(gpu.name)), kBlockColumns, 4)) {
      lines.push_back(line);
    }
  }
  for (const std::string& news : telemetry.news) {
    if (count == 0 && news == telemetry.none_because) continue;
    for (const std::string& line : report::wrap("note: " + plain(news), kBlockColumns, 2)) {
      lines.push_back(line);
    }
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string meters_json(const Telemetry& telemetry, const Machine& machine, int exit_code) {
  Json gpus = Json::array();
  for (std::size_t i = 0; i < telemetry.gpus.size(); ++i) {
    gpus.push_back(gpu_json(telemetry.gpus[i], last_reading(telemetry, i)));
  }
  Json unmetered = Json::array();
  for (const MachineGpu& gpu : machine.gpus) {
    if (!is_metered(gpu, telemetry)) unmetered.push_back(gpu.name);
  }
  return report::dump({{"schema", "picchio.meters.v1"},
                       {"version", PICCHIO_VERSION},
                       {"gpus", gpus},
                       {"unmetered", unmetered},
                       {"none_because", text_or_null(telemetry.none_because)},
                       {"news", telemetry.news},
                       {"exit_code", exit_code}});
}

}  // namespace picchio
