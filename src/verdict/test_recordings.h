// Made-up recordings of a run's GPUs for this folder's tests.
#pragma once

#include "verdict/test_values.h"

#include <optional>
#include <string>
#include <vector>

namespace picchio::test {

/// What a recording says of one GPU and of the engine's processes on it. The defaults are those of
/// a card that did the work of full_cuda(), told by a driver that knows its processes.
struct Scene {
  std::string meter = "nvml";
  std::string name = "NVIDIA GeForce RTX 4070";
  std::optional<double> idle_busy = 0;
  std::optional<double> prefill_busy = 98;
  std::optional<double> decode_busy = 95;
  std::optional<double> idle_watts = 15;
  std::optional<double> work_watts = 180;
  std::optional<double> step_gib = 9;  // of the device's memory, from the engine's start
  std::optional<double> own_gib = 9;   // the engine's processes; 0: they are not listed
  std::optional<double> own_busy = 93;
  bool tells_processes = true;
  double hz = 10;
  bool lost = false;  // from the middle of the first pass on
  bool asleep = false;
  bool wakes = false;  // asleep until the engine starts
  bool upper_bound = false;
  bool package = false;
  Throttling throttling = {};
  double evicted_gib = 0;
};

inline std::int64_t gib(double value) {
  return static_cast<std::int64_t>(value * 1024 * 1024 * 1024);
}

// A pass lasts ten seconds; of one with timings() the prompt takes 1.2 s and decode 6.35 s, which
// end half a second before it.
inline constexpr double kBaseline = 2;
inline constexpr double kPass = 10;
inline constexpr double kDecodeEnd = 9.5;
inline constexpr double kDecodeBegin = kDecodeEnd - 6.35;
inline constexpr double kPrefillBegin = kDecodeBegin - 730.0 / 600;

inline Micros second(double value) { return Micros(static_cast<std::int64_t>(value * 1e6)); }

inline GpuReading reading_of(const Scene& scene, double since_begin) {
  GpuReading out;
  if (scene.asleep || (scene.wakes && since_begin < 0)) {
    out.asleep = true;
    return out;
  }
  if (scene.lost && since_begin > 5) {
    out.lost = "GPU is lost";
    return out;
  }
  const bool begun = since_begin >= 0;
  const double at = begun ? since_begin - kPass * static_cast<int>(since_begin / kPass) : -1;
  const bool prefill = at >= kPrefillBegin && at < kDecodeBegin;
  const bool decode = at >= kDecodeBegin && at <= kDecodeEnd;
  out.busy_percent = prefill ? scene.prefill_busy : decode ? scene.decode_busy : scene.idle_busy;
  out.power_watts = prefill || decode ? scene.work_watts : scene.idle_watts;
  if (scene.step_gib) out.memory_bytes = gib(0.5) + (at > 0.5 ? gib(*scene.step_gib) : 0);
  if (prefill || decode) out.throttling = scene.throttling;
  return out;
}

/// `raw` with a recording of its passes, one after another, of all `scenes` at once.
inline RawRun recorded(RawRun raw, const std::vector<Scene>& scenes) {
  Telemetry& telemetry = raw.telemetry;
  for (const Scene& scene : scenes) {
    MeteredGpu gpu;
    gpu.meter = scene.meter;
    gpu.name = scene.name;
    gpu.index = static_cast<int>(telemetry.gpus.size());
    gpu.busy_is_upper_bound = scene.upper_bound;
    gpu.power_is_package = scene.package;
    if (!scene.tells_processes) {
      gpu.missing = {{GpuFigure::process_busy, "not told"},
                     {GpuFigure::process_memory, "not told"}};
    }
    telemetry.gpus.push_back(gpu);
  }
  for (std::size_t i = 0; i < raw.passes.size(); ++i) {
    raw.passes[i].wall = second(kPass);
    raw.passes[i].began = second(kBaseline + kPass * static_cast<double>(i));
    raw.passes[i].line_stamps = {second(kDecodeEnd)};
  }
  const double end = kBaseline + kPass * static_cast<double>(raw.passes.size());
  telemetry.hz = scenes.front().hz;
  for (double t = 0; t < end; t += 1 / telemetry.hz) {
    GpuSample sample{second(t), {}};
    for (const Scene& scene : scenes) sample.readings.push_back(reading_of(scene, t - kBaseline));
    telemetry.samples.push_back(sample);
  }
  for (double t = 0; t < end; t += 0.5) {
    ProcessSample sample{second(t), {}};
    for (std::size_t i = 0; i < scenes.size() && t > kBaseline + 0.5; ++i) {
      const Scene& scene = scenes[i];
      if (!scene.tells_processes || scene.own_gib.value_or(1) == 0) continue;
      GpuProcessUse use;
      use.pid = 4242;
      use.device = static_cast<int>(i);
      use.busy_percent = scene.own_busy;
      if (scene.own_gib) use.memory_bytes = gib(*scene.own_gib);
      if (scene.evicted_gib > 0) use.evicted_bytes = gib(scene.evicted_gib);
      sample.use.push_back(use);
    }
    telemetry.processes.push_back(sample);
  }
  return raw;
}

}  // namespace picchio::test
