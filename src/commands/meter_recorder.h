// The meters beside a measuring run: opened before it, read in a thread while it lasts.
#pragma once

#include "base/time.h"
#include "evidence/telemetry.h"
#include "meters/sampler.h"
#include "os/signals.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace picchio {

class MeterRecorder {
 public:
  /// Opens every meter of the machine and begins to look `hz` times a second; absent: looks at
  /// nothing, and the recording says that --no-telemetry was given. `interrupts` outlives this.
  /// `endless`: only the latest some minutes are kept.
  MeterRecorder(std::optional<double> hz, const os::Interrupts& interrupts, bool endless = false);

  /// False: there is nothing to wait an idle baseline for.
  [[nodiscard]] bool watches() const { return !gpus_.empty(); }
  /// As known when the meters were opened.
  [[nodiscard]] const std::vector<MeteredGpu>& gpus() const { return gpus_; }

  /// On the recording's clock.
  [[nodiscard]] Micros now() const;

  /// The process whose tree is asked for from now on; 0: none.
  void follow(int pid) { pid_ = pid; }

  /// May be called while it records, for a run that is kept pass by pass.
  [[nodiscard]] Telemetry so_far() const;
  /// The same without what lies further back than `span`.
  [[nodiscard]] Telemetry recent(Micros span) const;
  [[nodiscard]] Telemetry stop();

 private:
  std::atomic<int> pid_{0};
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<MeteredGpu> gpus_;
  Telemetry nothing_;
  std::unique_ptr<meters::Sampler> sampler_;  // last: its thread uses what stands above
};

}  // namespace picchio
