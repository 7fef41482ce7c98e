#include "meters/amdgpu/card.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::meters::amdgpu {
namespace {

// A link changes with the card's power state, not with single kernels.
constexpr Micros kReadLinkEvery = std::chrono::seconds(1);

std::optional<double> scaled(const Attribute& attribute, double unit) {
  const auto value = attribute.number();
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * unit;
}

std::optional<std::int64_t> sum(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (!a || !b || *a < 0 || *b < 0 || *a > kMost || *b > kMost) return std::nullopt;
  return *a + *b;
}

}  // namespace

bool is_apu(const ApuSigns& signs) {
  if (signs.metrics_format) return *signs.metrics_format == 2 || *signs.metrics_format == 3;
  if (signs.has_north_bridge_voltage || signs.shares_kfd_node) return true;
  if (signs.has_power_cap || !signs.vram_bytes || !signs.gtt_bytes) return false;
  // Carve-outs are 4 GiB at most unless somebody chose otherwise, and GTT is half of the memory.
  constexpr std::int64_t kLargestCarveOut = std::int64_t{4} << 30;
  return *signs.vram_bytes <= kLargestCarveOut && *signs.gtt_bytes / 2 >= *signs.vram_bytes;
}

std::optional<double> current_level_mhz(std::string_view dpm_table) {
  for (std::string_view line : split_lines(dpm_table)) {
    line = trim(line);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !line.ends_with('*')) continue;
    std::string_view rest = line.substr(colon + 1);
    const auto value = take_double(rest);
    if (value && lower(rest).starts_with("mhz")) return value;
  }
  return std::nullopt;
}

std::string listed_name(std::string_view ids, std::string_view device, std::string_view revision) {
  for (const std::string_view line : split_lines(ids)) {
    const auto fields = split(line, ',');
    if (fields.size() < 3 || lower(trim(fields[0])) != lower(device) ||
        lower(trim(fields[1])) != lower(revision)) {
      continue;
    }
    const auto name = static_cast<std::size_t>(fields[2].data() - line.data());
    return std::string(trim(line.substr(name)));
  }
  return {};
}

Card::Card(const drm::Device& device, const std::string& name, bool shares_kfd_node) {
  info_.meter = "amdgpu";
  info_.address = device.address;
  info_.driver = device.driver;
  info_.name = name.empty() ? drm::describe(device) : name;
  open(device.dir);
  describe(shares_kfd_node);
}

void Card::open(const std::string& dir) {
  status_ = runtime_status_of(dir);
  info_.asleep = power_state(status_) == PowerState::asleep;
  const bool ask = !info_.asleep;
  busy_ = Attribute::open(dir, {"gpu_busy_percent"}, ask);
  vram_used_ = Attribute::open(dir, {"mem_info_vram_used"}, ask);
  gtt_used_ = Attribute::open(dir, {"mem_info_gtt_used"}, ask);
  vram_total_ = Attribute::open(dir, {"mem_info_vram_total"}, ask);
  gtt_total_ = Attribute::open(dir, {"mem_info_gtt_total"}, ask);
  metrics_ = Attribute::open(dir, {"gpu_metrics"}, ask);
  levels_ = Attribute::open(dir, {"pp_dpm_sclk"}, ask);
  memory_levels_ = Attribute::open(dir, {"pp_dpm_mclk"}, ask);
  link_ = PciLink(slot_side(dir));
  const std::string hwmon = hwmon_of(dir);
  if (hwmon.empty()) return;
  // The average is what a meter wants; several APUs and newer cards have the other alone.
  power_ = Attribute::open(hwmon, {"power1_average", "power1_input"}, ask);
  power_cap_ = Attribute::open(hwmon, {"power1_cap"}, false);
  north_bridge_ = Attribute::open(hwmon, {"in1_label"}, false);
  temperature_ = Attribute::open(hwmon, {"temp1_input", "temp2_input"}, ask);
  clock_ = Attribute::open(hwmon, {"freq1_input"}, ask);
  memory_clock_ = Attribute::open(hwmon, {"freq2_input"}, ask);
}

std::optional<GpuMetrics> Card::metrics() const {
  const auto bytes = metrics_.bytes();
  return bytes ? parse_gpu_metrics(*bytes) : std::nullopt;
}

void Card::describe(bool shares_kfd_node) {
  std::optional<GpuMetrics> told;
  if (!info_.asleep) {
    told = metrics();
    info_.link_max = link_.max();
    metrics_useful_ =
        told && (told->energy_accumulator || told->throttling || (!busy_ && told->busy_percent));
  }
  describe_memory(shares_kfd_node, told);
  list_missing(told);
}

void Card::describe_memory(bool shares_kfd_node, const std::optional<GpuMetrics>& metrics) {
  ApuSigns signs;
  if (metrics) signs.metrics_format = metrics->format;
  signs.shares_kfd_node = shares_kfd_node;
  signs.has_power_cap = static_cast<bool>(power_cap_);
  if (!info_.asleep) {
    signs.has_north_bridge_voltage = north_bridge_.text() == "vddnb";
    signs.vram_bytes = vram_total_.number();
    signs.gtt_bytes = gtt_total_.number();
  }
  info_.unified_memory = is_apu(signs);
  info_.power_is_package = info_.unified_memory;
  info_.memory_bytes =
      info_.unified_memory ? sum(signs.vram_bytes, signs.gtt_bytes) : signs.vram_bytes;
}

void Card::list_missing(const std::optional<GpuMetrics>& metrics) {
  const auto missing = [this](GpuFigure figure, std::string reason) {
    info_.missing.push_back({figure, std::move(reason)});
  };
  const std::string no_hwmon = "the driver has no hwmon attributes here";
  const auto hwmon_reason = [&](const Attribute& attribute) {
    return attribute.why_missing() == Attribute().why_missing() ? no_hwmon
                                                                : attribute.why_missing();
  };
  if (!busy_ && !(metrics && metrics->busy_percent)) {
    missing(GpuFigure::busy, busy_.why_missing());
  }
  if (!vram_used_) {
    missing(GpuFigure::memory, vram_used_.why_missing());
  } else if (info_.unified_memory && !gtt_used_) {
    missing(GpuFigure::memory, gtt_used_.why_missing());
  }
  if (!power_) missing(GpuFigure::power, hwmon_reason(power_));
  if (!clock_ && !levels_) missing(GpuFigure::clocks, levels_.why_missing());
  if (!temperature_) missing(GpuFigure::temperature, hwmon_reason(temperature_));
  if (!link_.why_missing().empty()) missing(GpuFigure::link, link_.why_missing());
  // What gpu_metrics has is unknown as long as it may not be read.
  if (info_.asleep && metrics_) return;
  if (!metrics || !metrics->energy_accumulator) {
    missing(GpuFigure::energy,
            metrics_ ? "this card's gpu_metrics count no energy" : metrics_.why_missing());
  }
  if (!metrics || !metrics->throttling) {
    missing(GpuFigure::throttling,
            metrics_ ? "this card's gpu_metrics tell no throttling" : metrics_.why_missing());
  }
}

void Card::read_clocks(GpuReading& reading) const {
  const auto level = [](const Attribute& table) -> std::optional<double> {
    const auto text = table.text();
    return text ? current_level_mhz(*text) : std::nullopt;
  };
  reading.clock_mhz = scaled(clock_, 1e-6);
  if (!reading.clock_mhz) reading.clock_mhz = level(levels_);
  reading.memory_clock_mhz = scaled(memory_clock_, 1e-6);
  if (!reading.memory_clock_mhz) reading.memory_clock_mhz = level(memory_levels_);
}

GpuReading Card::read(Micros now) {
  GpuReading reading;
  if (not_readable(status_, reading)) return reading;
  if (const auto busy = busy_.number(); busy && *busy >= 0 && *busy <= 100) {
    reading.busy_percent = static_cast<double>(*busy);
  }
  const auto vram = vram_used_.number();
  reading.memory_bytes = info_.unified_memory ? sum(vram, gtt_used_.number()) : vram;
  reading.power_watts = scaled(power_, 1e-6);
  reading.temperature_celsius = scaled(temperature_, 1e-3);
  read_clocks(reading);
  if (const auto told = metrics_useful_ ? metrics() : std::nullopt) {
    // Never for one look only: the two average over different times.
    if (!busy_) reading.busy_percent = told->busy_percent;
    reading.throttling = told->throttling;
    if (const auto steps = energy_.add(told->energy_accumulator)) {
      reading.energy_joules = static_cast<double>(*steps) * kJoulesPerStep;
    }
  }
  if (!link_read_ || now - *link_read_ >= kReadLinkEvery) {
    link_read_ = now;
    link_now_ = link_.now();
  }
  reading.link = link_now_;
  return reading;
}

}  // namespace picchio::meters::amdgpu
