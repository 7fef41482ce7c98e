#include "meters/drm/meter.h"

#include "base/text.h"
#include "meters/attribute.h"
#include "meters/drm/client_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio::meters::drm {
namespace {

// Their own meters know more of these: amdgpu/, intel/, nvml/. NVIDIA's driver has a DRM node and
// no fdinfo.
constexpr std::string_view kKnownElsewhere[] = {"amdgpu", "i915", "xe", "nvidia", "nvidia-drm"};

// Render nodes with no GPU behind them. Tegra's is of the display and video parts; its GPU belongs
// to nvgpu (jetson/) or nouveau.
constexpr std::string_view kNoGpu[] = {"vgem", "vkms", "tegra", "tegra-host1x", "drm"};

bool is_ours(const Device& device) {
  const std::string_view identity =
      device.driver.empty() ? base_name(device.dir) : std::string_view(device.driver);
  return (device.renders || device.accelerator) &&
         std::ranges::find(kKnownElsewhere, identity) == std::end(kKnownElsewhere) &&
         std::ranges::find(kNoGpu, identity) == std::end(kNoGpu);
}

std::vector<MissingFigure> missing_of(const Device& device) {
  constexpr GpuFigure kWholeDevice[] = {
      GpuFigure::busy,   GpuFigure::memory,      GpuFigure::power,      GpuFigure::energy,
      GpuFigure::clocks, GpuFigure::temperature, GpuFigure::throttling, GpuFigure::link};
  std::vector<MissingFigure> missing;
  const std::string_view driver = device.driver.empty() ? "it" : std::string_view(device.driver);
  for (const GpuFigure figure : kWholeDevice) {
    missing.push_back({figure, fmt::format("{} tells nothing of the device as a whole", driver)});
  }
  if (driver == "nouveau") {
    missing.push_back({GpuFigure::process_busy, "nouveau counts no GPU time"});
  }
  // panfrost and panthor: 0 is off, the default; panthor's other values are bits of what to count.
  if (attribute_text(device.dir + "/profiling") == "0") {
    missing.push_back({GpuFigure::process_busy,
                       fmt::format("{} counts GPU time only while its attribute 'profiling' is 1, "
                                   "which root can set",
                                   driver)});
  }
  return missing;
}

class DrmMeter final : public Meter {
 public:
  DrmMeter(const Place& place, const std::vector<Device>& devices)
      : watch_(place, watched(devices)) {
    for (const Device& device : devices) {
      status_.push_back(runtime_status_of(device.dir));
      MeteredGpu gpu;
      gpu.meter = "drm";
      gpu.index = static_cast<int>(devices_.size());
      gpu.address = device.address;
      gpu.name = describe(device);
      gpu.driver = device.driver;
      gpu.unified_memory = is_unified(device);
      gpu.asleep = power_state(status_.back()) == PowerState::asleep;
      gpu.missing = missing_of(device);
      devices_.push_back(std::move(gpu));
    }
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return devices_; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    std::vector<GpuReading> readings(devices_.size());
    for (std::size_t i = 0; i < readings.size(); ++i) {
      (void)not_readable(status_[i], readings[i]);  // nothing follows that could be read
    }
    return readings;
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(std::span<const int> pids) override {
    return told(watch_.look(pids));
  }

 private:
  // Outside of PCI a GPU is a part of the system's chip, and an NPU is so on PCI as well.
  static bool is_unified(const Device& device) {
    return device.address.empty() || device.accelerator;
  }

  static std::vector<ClientWatch::Watched> watched(const std::vector<Device>& devices) {
    std::vector<ClientWatch::Watched> all;
    for (const Device& device : devices) all.push_back({device, is_unified(device)});
    return all;
  }

  std::vector<MeteredGpu> devices_;
  std::vector<Attribute> status_;
  ClientWatch watch_;
};

}  // namespace

Result<std::unique_ptr<Meter>> probe(const Place& place) {
  std::vector<Device> devices = find_devices(place.root);
  std::erase_if(devices, [](const Device& device) { return !is_ours(device); });
  if (devices.empty()) return fail(ErrorKind::not_found, "no other DRM driver has a GPU here");
  return std::make_unique<DrmMeter>(place, devices);
}

}  // namespace picchio::meters::drm
