// All meters of this machine at once, and the thread that reads them while an engine runs.
#pragma once

#include "base/worker.h"
#include "evidence/telemetry.h"
#include "meters/meter.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace picchio::meters {

/// Every meter that could be opened, seen as one. A card that two meters know is the first one's;
/// the other's is left out, but for figures of processes that the first cannot tell.
class MeterSet {
 public:
  /// Opens `from` at `place`; what is news of those that failed is kept.
  [[nodiscard]] static MeterSet open(const Place& place,
                                     std::span<const Candidate> from = candidates());

  /// The same for programs that a person waits for: a driver that does not answer within `patience`
  /// is left behind, and so is the wait once place.interrupts were caught; then no GPU is known,
  /// and that is news.
  [[nodiscard]] static MeterSet open_within(
      const Place& place, std::chrono::steady_clock::duration patience = kOpenPatience);
  /// NVML starts each sleeping card in turn, some seconds each.
  static constexpr std::chrono::seconds kOpenPatience{20};

  /// As MeteredGpu says, but for `index`: the place in this span. A sleeping GPU gets its name with
  /// the first sample after it wakes.
  [[nodiscard]] std::span<const MeteredGpu> gpus() const { return gpus_; }
  [[nodiscard]] const std::vector<std::string>& news() const { return news_; }
  [[nodiscard]] const std::vector<DriverTrouble>& troubles() const { return troubles_; }

  [[nodiscard]] std::vector<GpuReading> sample();
  /// Of all meters; one that cannot tell processes apart says so in `reasons`, once.
  [[nodiscard]] std::vector<GpuProcessUse> process_use(std::span<const int> pids,
                                                       std::vector<std::string>* reasons = nullptr);

 private:
  /// Where device `own` of meter `meter` stands in gpus_; -1: it is another meter's.
  struct Slot {
    std::size_t meter = 0;
    std::size_t own = 0;
    std::ptrdiff_t place = -1;
  };

  [[nodiscard]] std::ptrdiff_t place_of(std::size_t meter, int own) const;
  void add(std::unique_ptr<Meter> meter);

  std::vector<std::unique_ptr<Meter>> meters_;
  std::vector<MeteredGpu> gpus_;
  std::vector<Slot> slots_;
  std::vector<std::string> news_;
  std::vector<DriverTrouble> troubles_;
};

struct SamplerOptions {
  double hz = 10;             // whole-device figures
  double process_hz = 2;      // figures of processes: walks through /proc cost more
  std::size_t most = 20'000;  // samples kept of each kind; when full, every second one goes
  bool latest = false;        // when full, the older half goes: for a watch without an end
  std::chrono::milliseconds patience{2000};  // with a driver's call that goes on at the end
};

/// Reads in a thread of its own from start() to stop(); a driver that blocks blocks only that.
class Sampler {
 public:
  using Clock = std::chrono::steady_clock;

  /// `pids` names the processes to watch, asked before each look; may be empty. `began` is time
  /// zero of the stamps.
  Sampler(MeterSet meters, SamplerOptions options, std::function<std::vector<int>()> pids,
          Clock::time_point began = Clock::now());
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// The recording so far; may be called from any thread while the sampler runs.
  [[nodiscard]] Telemetry so_far() const;

  /// The same without what lies further back than `span`: copying all of it costs milliseconds
  /// after an hour.
  [[nodiscard]] Telemetry recent(Micros span) const;

  /// Ends the thread and hands out all of it. A driver that does not come back within
  /// SamplerOptions::patience is left to its call, and the recording says so.
  [[nodiscard]] Telemetry stop();

 private:
  struct State;
  static void run(State& state, StopSignal& signal);
  static void look(State& state, StopSignal& signal, bool at_processes);

  std::shared_ptr<State> state_;  // the thread's as well, also when it is left behind
  SamplerOptions options_;
  Worker worker_;  // last: it uses what stands above
};

/// Pure: drops every second element of `samples` when there are more than `most`; true when it did.
template <class Sample>
bool halve_when_full(std::vector<Sample>& samples, std::size_t most) {
  if (samples.size() <= most) return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); i += 2, ++kept) {
    // Moved onto itself the first one would be emptied.
    if (kept != i) samples[kept] = std::move(samples[i]);
  }
  samples.resize(kept);
  return true;
}

/// Pure: drops the older half when there are more than `most`.
template <class Sample>
void forget_when_full(std::vector<Sample>& samples, std::size_t most) {
  if (samples.size() <= most) return;
  samples.erase(samples.begin(), samples.end() - static_cast<std::ptrdiff_t>(most / 2));
}

}  // namespace picchio::meters
