#include "meters/intel/meter.h"

#include "meters/attribute.h"
#include "meters/drm/client_watch.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace picchio::meters::intel {
namespace {

/// Where a driver keeps what is read here. The first graphics unit (gt0) computes; a second one is
/// for media.
struct Layout {
  std::string_view driver;
  bool in_class_dir;  // below /sys/class/drm/cardN and not below the device
  std::string_view clock;
  std::string_view idle_ms;        // time in the deepest idle state
  std::string_view older_idle_ms;  // of kernels before 5.19
};
constexpr Layout kLayouts[] = {
    {"i915", true, "gt_act_freq_mhz", "gt/gt0/rc6_residency_ms", "power/rc6_residency_ms"},
    {"xe", false, "tile0/gt0/freq0/act_freq", "tile0/gt0/gtidle/idle_residency_ms",
     "tile0/gt0/gtidle/idle_residency_ms"},
};

const Layout* layout_of(const drm::Device& device) {
  const auto* found = std::ranges::find(kLayouts, device.driver, &Layout::driver);
  return found == std::end(kLayouts) ? nullptr : found;
}

// The processor's own GPU is device 2 of the root bus on every Intel chip that has one.
bool is_integrated(const drm::Device& device) { return device.address == "0000:00:02.0"; }

class Gpu {
 public:
  Gpu(const drm::Device& device, const Layout& layout, int index) {
    info_.meter = "intel";
    info_.index = index;
    info_.address = device.address;
    info_.name = drm::describe(device);
    info_.driver = device.driver;
    info_.unified_memory = is_integrated(device);
    info_.busy_is_upper_bound = true;
    open(device, layout);
    list_missing(is_integrated(device));
  }

  [[nodiscard]] const MeteredGpu& info() const { return info_; }

  [[nodiscard]] GpuReading read(Micros now) {
    GpuReading reading;
    if (not_readable(status_, reading)) {
      // Residency does not count through that state, so the next interval must not reach back.
      idle_at_.reset();
      return reading;
    }
    reading.busy_percent = awake_percent(now);
    // Microjoules in 64 bits: 32 would overflow in half a minute of a busy card.
    if (const auto energy = energy_count_.add(energy_.counter())) {
      reading.energy_joules = static_cast<double>(*energy) * 1e-6;
    }
    if (const auto clock = clock_.number()) reading.clock_mhz = static_cast<double>(*clock);
    if (const auto heat = temperature_.number()) {
      reading.temperature_celsius = static_cast<double>(*heat) * 1e-3;
    }
    return reading;
  }

 private:
  void open(const drm::Device& device, const Layout& layout) {
    status_ = runtime_status_of(device.dir);
    info_.asleep = power_state(status_) == PowerState::asleep;
    const bool ask = !info_.asleep;
    const std::string& dir = layout.in_class_dir ? device.class_dir : device.dir;
    clock_ = Attribute::open(dir, {layout.clock}, ask);
    idle_ = Attribute::open(dir, {layout.idle_ms, layout.older_idle_ms}, ask);
    const std::string hwmon = hwmon_of(device.dir);
    if (hwmon.empty()) return;
    // Both of xe: 1 is the card's, 2 the package's.
    energy_ = Attribute::open(hwmon, {"energy1_input", "energy2_input"}, ask);
    temperature_ = Attribute::open(hwmon, {"temp1_input", "temp2_input"}, ask);
  }

  void list_missing(bool integrated) {
    const auto missing = [this](GpuFigure figure, std::string reason) {
      info_.missing.push_back({figure, std::move(reason)});
    };
    const std::string on_chip =
        "an integrated GPU has no sensor of its own, and the package's (RAPL) needs root";
    const auto sensor = [&](const Attribute& attribute) {
      if (integrated) return on_chip;
      return attribute.why_missing() == Attribute().why_missing()
                 ? std::string("the driver has no hwmon attributes here")
                 : attribute.why_missing();
    };
    if (!idle_) missing(GpuFigure::busy, idle_.why_missing());
    missing(GpuFigure::memory,
            "the driver tells only privileged programs (CAP_PERFMON) of the device's memory");
    missing(GpuFigure::power, integrated ? on_chip : "the driver counts energy instead");
    if (!energy_) missing(GpuFigure::energy, sensor(energy_));
    if (!clock_) missing(GpuFigure::clocks, clock_.why_missing());
    if (!temperature_) missing(GpuFigure::temperature, sensor(temperature_));
    missing(GpuFigure::throttling, "not read from this driver");
    missing(GpuFigure::link, integrated ? "it is a part of the processor"
                                        : "the GPU sits behind the card's own bridge");
  }

  /// Share of the time since the look before in which the GPU was not powered down within. Absent
  /// until it was so at least once: a GPU whose idle states are switched off would always seem
  /// busy.
  [[nodiscard]] std::optional<double> awake_percent(Micros now) {
    const auto idle = idle_.counter();
    std::optional<double> percent;
    if (idle && idle_at_ && now > *idle_at_ && *idle >= idle_ms_) {
      const auto idle_seconds = static_cast<double>(*idle - idle_ms_) * 1e-3;
      idle_seen_ = idle_seen_ || *idle > idle_ms_;
      const double share = 1.0 - idle_seconds / seconds(now - *idle_at_);
      if (idle_seen_) percent = std::clamp(share, 0.0, 1.0) * 100.0;
    }
    idle_at_.reset();
    if (idle) {
      idle_at_ = now;
      idle_ms_ = *idle;
    }
    return percent;
  }

  MeteredGpu info_;
  Attribute status_;
  Attribute clock_;
  Attribute idle_;
  Attribute energy_;
  Attribute temperature_;
  MovingCounter energy_count_;
  std::optional<Micros> idle_at_;
  std::uint64_t idle_ms_ = 0;
  bool idle_seen_ = false;
};

class IntelMeter final : public Meter {
 public:
  IntelMeter(const Place& place, const std::vector<drm::Device>& devices) : now_(place.now) {
    std::vector<drm::ClientWatch::Watched> watched;
    for (const drm::Device& device : devices) {
      gpus_.emplace_back(device, *layout_of(device), static_cast<int>(gpus_.size()));
      infos_.push_back(gpus_.back().info());
      watched.push_back({device, infos_.back().unified_memory});
    }
    watch_.emplace(place, std::move(watched));
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return infos_; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    std::vector<GpuReading> readings;
    readings.reserve(gpus_.size());
    for (Gpu& gpu : gpus_) readings.push_back(gpu.read(now_()));
    return readings;
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(std::span<const int> pids) override {
    return drm::told(watch_->look(pids));
  }

 private:
  std::function<Micros()> now_;
  std::vector<Gpu> gpus_;
  std::vector<MeteredGpu> infos_;
  std::optional<drm::ClientWatch> watch_;
};

}  // namespace

Result<std::unique_ptr<Meter>> probe(const Place& place) {
  std::vector<drm::Device> devices = drm::find_devices(place.root);
  std::erase_if(devices, [](const drm::Device& device) { return layout_of(device) == nullptr; });
  if (devices.empty()) return fail(ErrorKind::not_found, "neither i915 nor xe has a GPU here");
  return std::make_unique<IntelMeter>(place, devices);
}

}  // namespace picchio::meters::intel
