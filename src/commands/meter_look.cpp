#include "commands/meter_look.h"

#include "commands/meter_place.h"
#include "meters/sampler.h"

#include <thread>

namespace picchio {

Telemetry look_twice(const os::Interrupts* interrupts, std::chrono::seconds patience) {
  constexpr auto kStep = std::chrono::milliseconds(10);
  meters::MeterSet set = meters::MeterSet::open_within(meter_place(interrupts), patience);
  meters::Sampler sampler(std::move(set), {.hz = 4}, nullptr);
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < give_up) {
    if (interrupts != nullptr && interrupts->caught()) break;
    const Telemetry told = sampler.so_far();
    if (told.samples.size() >= 2 || !told.none_because.empty()) break;
    std::this_thread::sleep_for(kStep);
  }
  return sampler.stop();
}

}  // namespace picchio
