#include "meters/jetson/meter.h"

#include "meters/attribute.h"
#include "os/file.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace picchio::meters::jetson {
namespace {

// Folders with a "load" file, by JetPack release; the devfreq ones are found by listing.
constexpr std::string_view kLoadDirs[] = {
    "/sys/devices/gpu.0",
    "/sys/devices/platform/gpu.0",
    "/sys/devices/platform/bus@0/17000000.gpu",
    "/sys/devices/platform/17000000.gpu",
};
constexpr std::string_view kDevfreq = "/sys/class/devfreq";

struct Found {
  Attribute load;
  Attribute clock;  // Hz
};

std::vector<std::string> names_in(const std::string& dir) {
  return os::list_dir(dir).value_or(std::vector<std::string>());
}

Found find(const std::string& root) {
  Found found;
  const std::string devfreq = under(root, kDevfreq);
  for (const std::string& name : names_in(devfreq)) {
    // "17000000.gpu", "57000000.gpu"; other entries are memory, video and display.
    if (!name.ends_with(".gpu") && !name.ends_with(".ga10b") && !name.ends_with(".gv11b")) continue;
    const std::string dir = fmt::format("{}/{}", devfreq, name);
    found.clock = Attribute::open(dir, {"cur_freq"}, true);
    found.load = Attribute::open(dir, {"device/load"}, true);
    if (found.load) return found;
  }
  for (const std::string_view dir : kLoadDirs) {
    found.load = Attribute::open(under(root, dir), {"load"}, true);
    if (found.load) return found;
  }
  return found;
}

// "GPU-therm" up to JetPack 5, "gpu-thermal" since.
Attribute thermal_zone(const std::string& root) {
  const std::string thermal = under(root, "/sys/class/thermal");
  for (const std::string& name : names_in(thermal)) {
    const std::string dir = fmt::format("{}/{}", thermal, name);
    const auto type = attribute_text(dir + "/type");
    if (type == "GPU-therm" || type == "gpu-thermal") return Attribute::open(dir, {"temp"}, true);
  }
  return {};
}

// "NVIDIA Jetson Orin Nano Developer Kit", ended by a NUL as device trees do.
std::string board(const std::string& root) {
  std::string model = attribute_text(under(root, "/proc/device-tree/model")).value_or("");
  model = model.substr(0, model.find('\0'));
  return model.empty() ? "NVIDIA Jetson GPU" : "GPU of " + model;
}

class JetsonMeter final : public Meter {
 public:
  JetsonMeter(const std::string& root, Found found)
      : found_(std::move(found)), temperature_(thermal_zone(root)) {
    info_.meter = "jetson";
    info_.name = board(root);
    info_.driver = "nvgpu";
    info_.unified_memory = true;
    const auto missing = [this](GpuFigure figure, const char* reason) {
      info_.missing.push_back({figure, reason});
    };
    missing(GpuFigure::memory, "the GPU shares the system's memory, and no file counts its part");
    missing(GpuFigure::power, "the board's power rails (INA3221) are not read");
    missing(GpuFigure::energy, "the board has no counter of energy");
    if (!found_.clock) missing(GpuFigure::clocks, "no devfreq entry of the GPU");
    if (!temperature_) missing(GpuFigure::temperature, "no thermal zone of the GPU");
    missing(GpuFigure::throttling, "nvgpu tells none");
    missing(GpuFigure::link, "it is a part of the chip");
    missing(GpuFigure::process_busy, kNoProcesses);
    missing(GpuFigure::process_memory, kNoProcesses);
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return {&info_, 1}; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    GpuReading reading;
    // Tenths of a percent.
    if (const auto load = found_.load.number(); load && *load >= 0 && *load <= 1000) {
      reading.busy_percent = static_cast<double>(*load) / 10.0;
    }
    if (const auto clock = found_.clock.number()) {
      reading.clock_mhz = static_cast<double>(*clock) * 1e-6;
    }
    if (const auto heat = temperature_.number()) {
      reading.temperature_celsius = static_cast<double>(*heat) * 1e-3;
    }
    return {reading};
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(
      std::span<const int> /*pids*/) override {
    return fail(ErrorKind::unsupported, "cannot tell processes apart: {}", kNoProcesses);
  }

 private:
  static constexpr const char* kNoProcesses = "nvgpu tells nothing of single processes";

  Found found_;
  Attribute temperature_;
  MeteredGpu info_;
};

}  // namespace

Result<std::unique_ptr<Meter>> probe(const Place& place) {
  Found found = find(place.root);
  if (!found.load) return fail(ErrorKind::not_found, "no load file of a Jetson's GPU here");
  return std::make_unique<JetsonMeter>(place.root, std::move(found));
}

}  // namespace picchio::meters::jetson
