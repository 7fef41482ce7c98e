#include "commands/meter_recorder.h"

#include "commands/meter_place.h"
#include "os/proc.h"

#include <utility>

namespace picchio {

MeterRecorder::MeterRecorder(std::optional<double> hz, const os::Interrupts& interrupts,
                             bool endless) {
  if (!hz) {
    nothing_.none_because = "--no-telemetry";
    return;
  }
  meters::MeterSet meters = meters::MeterSet::open_within(meter_place(&interrupts));
  gpus_.assign(meters.gpus().begin(), meters.gpus().end());
  const auto pids = [this]() -> std::vector<int> {
    const int pid = pid_;
    return pid == 0 ? std::vector<int>{} : os::process_tree("/", pid);
  };
  began_ = std::chrono::steady_clock::now();
  sampler_ = std::make_unique<meters::Sampler>(
      std::move(meters), meters::SamplerOptions{.hz = *hz, .latest = endless}, pids, began_);
}

Micros MeterRecorder::now() const {
  return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - began_);
}

Telemetry MeterRecorder::so_far() const { return sampler_ ? sampler_->so_far() : nothing_; }

Telemetry MeterRecorder::recent(Micros span) const {
  return sampler_ ? sampler_->recent(span) : nothing_;
}

Telemetry MeterRecorder::stop() { return sampler_ ? sampler_->stop() : nothing_; }

}  // namespace picchio
