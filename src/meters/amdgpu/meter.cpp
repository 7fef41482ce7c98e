#include "meters/amdgpu/meter.h"

#include "base/text.h"
#include "meters/amdgpu/card.h"
#include "meters/amdgpu/kfd.h"
#include "meters/drm/client_watch.h"
#include "os/file.h"

#include <algorithm>
#include <utility>

namespace picchio::meters::amdgpu {
namespace {

constexpr std::int64_t kMaxIds = 4 << 20;

std::string name_of(const drm::Device& device, std::string_view ids) {
  // The few cards that carry their name have it here; most have an empty line.
  const auto product = attribute_text(device.dir + "/product_name");
  if (product && !product->empty()) return *product;
  const std::string revision = attribute_text(device.dir + "/revision").value_or("");
  std::string_view digits = revision;
  take_prefix(digits, "0x");
  return listed_name(ids, device.id, digits);
}

class AmdgpuMeter final : public Meter {
 public:
  AmdgpuMeter(const Place& place, const std::vector<drm::Device>& devices)
      : now_(place.now), kfd_(place.root) {
    const auto ids = os::read_file(under(place.root, "/usr/share/libdrm/amdgpu.ids"), kMaxIds);
    std::vector<drm::ClientWatch::Watched> watched;
    for (const drm::Device& device : devices) {
      const auto& nodes = kfd_.nodes();
      const bool shares = std::ranges::any_of(nodes, [&](const KfdNode& node) {
        return node.address == device.address && node.has_cpu;
      });
      cards_.emplace_back(device, name_of(device, ids ? *ids : std::string_view()), shares);
      infos_.push_back(cards_.back().info());
      infos_.back().index = static_cast<int>(infos_.size()) - 1;
      watched.push_back({device, infos_.back().unified_memory});
    }
    watch_.emplace(place, std::move(watched));
  }

  [[nodiscard]] std::span<const MeteredGpu> devices() const override { return infos_; }

  [[nodiscard]] std::vector<GpuReading> sample() override {
    std::vector<GpuReading> readings;
    readings.reserve(cards_.size());
    for (Card& card : cards_) readings.push_back(card.read(now_()));
    return readings;
  }

  [[nodiscard]] Result<std::vector<GpuProcessUse>> process_use(std::span<const int> pids) override {
    drm::ProcessLook look = watch_->look(pids);
    const auto kfd = kfd_.look(now_(), pids);
    for (const KfdUse& use : kfd) {
      std::erase(look.denied, use.pid);
      add_kfd(use, look.use);
    }
    for (GpuProcessUse& use : look.use) {
      const bool rocm =
          watch_->uses_rocm(use.pid) || std::ranges::find(kfd, use.pid, &KfdUse::pid) != kfd.end();
      if (!rocm) continue;
      // DRM's counters have none of what runs through KFD: their zero would be a lie.
      use.busy_percent.reset();
      use.gpu_seconds.reset();
    }
    return drm::told(std::move(look));
  }

 private:
  /// KFD's memory shows on the process's render node too, so the larger of the two counts.
  void add_kfd(const KfdUse& kfd, std::vector<GpuProcessUse>& all) const {
    const auto info = std::ranges::find(infos_, kfd.address, &MeteredGpu::address);
    if (info == infos_.end()) return;
    const auto device = static_cast<int>(info - infos_.begin());
    const auto same = [&](const GpuProcessUse& use) {
      return use.pid == kfd.pid && use.device == device;
    };
    auto use = std::ranges::find_if(all, same);
    if (use == all.end()) {
      if (kfd.memory_bytes == 0) return;
      GpuProcessUse added;
      added.pid = kfd.pid;
      added.device = device;
      use = all.insert(all.end(), added);
    }
    use->memory_bytes = std::max(use->memory_bytes.value_or(0), kfd.memory_bytes);
  }

  std::function<Micros()> now_;
  Kfd kfd_;
  std::vector<Card> cards_;
  std::vector<MeteredGpu> infos_;
  std::optional<drm::ClientWatch> watch_;
};

}  // namespace

Result<std::unique_ptr<Meter>> probe(const Place& place) {
  std::vector<drm::Device> devices = drm::find_devices(place.root);
  std::erase_if(devices, [](const drm::Device& device) { return device.driver != "amdgpu"; });
  if (devices.empty()) return fail(ErrorKind::not_found, "the amdgpu driver has no card here");
  return std::make_unique<AmdgpuMeter>(place, devices);
}

}  // namespace picchio::meters::amdgpu
