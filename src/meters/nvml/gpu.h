// One NVIDIA GPU that is awake and open.
#pragma once

#include "base/time.h"
#include "evidence/gpu_reading.h"
#include "meters/nvml/library.h"
#include "meters/nvml/processes.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace picchio::meters::nvml {

/// When a call is given up that is not refused outright.
struct Patience {
  Micros slow_call{50'000};  // half of the time between two looks at 10 Hz
  int slow_calls = 3;        // in a row: one alone is a driver that wakes up or a busy machine
  int failures = 10;         // in a row, of a code that could pass
};

class Gpu {
 public:
  /// `functions` must live as long as this.
  Gpu(const Functions& functions, abi::Device device, Patience patience)
      : functions_(&functions), device_(device), patience_(patience) {}

  /// Fills in what does not change and asks for each figure once, so that `missing` names those
  /// that this GPU does not have. The address and index of `about` stay.
  void describe(MeteredGpu& about);

  [[nodiscard]] GpuReading sample();

  /// Adds what the processes (the driver's pid -> ours) have of this GPU.
  void add_process_use(const std::map<int, int>& ours_by_driver, int index,
                       std::vector<GpuProcessUse>& into);

  /// Why processes cannot be told apart on this GPU; empty when they can, or it is lost.
  [[nodiscard]] std::string no_processes_because() const;

  /// Says that a figure is missing, for a reason that NVML does not know of.
  void give_up(GpuFigure figure, const std::string& reason);

 private:
  enum class Call {
    busy,
    memory,
    power,
    energy,
    clock,
    memory_clock,
    temperature,
    throttling,
    link_generation,
    link_width,
    process_list,
    process_busy,
  };
  static constexpr std::size_t kCalls = static_cast<std::size_t>(Call::process_busy) + 1;

  /// What a call has told so far.
  struct State {
    std::string given_up;  // why it is not called any more; empty: it is
    int slow = 0;          // in a row
    int failures = 0;      // in a row
  };

  /// One call of NVML, timed and judged: true when it gave a figure.
  template <class Function>
  [[nodiscard]] bool call(Call which, const Function& function);
  [[nodiscard]] bool judge(Call which, abi::Return code, Micros took);
  void give_up(Call which, const std::string& reason);

  [[nodiscard]] State& state(Call which) { return states_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] const State& state(Call which) const {
    return states_[static_cast<std::size_t>(which)];
  }

  void describe_memory(MeteredGpu& about);
  void describe_limits(MeteredGpu& about);
  void read_load(GpuReading& reading);
  void read_power(GpuReading& reading);
  void read_clocks(GpuReading& reading);
  void read_link(GpuReading& reading);

  const Functions* functions_;
  abi::Device device_;
  Patience patience_;
  std::array<State, kCalls> states_;
  std::vector<MissingFigure> news_;  // not yet told
  std::vector<GpuFigure> named_;     // told or in news_
  std::string lost_;
  bool memory_v2_ = false;
  bool temperature_v_ = false;
  std::uint64_t memory_total_ = 0;
  ProcessBusy process_busy_;
};

}  // namespace picchio::meters::nvml
