// The fields of a recording by name, as fields.h has those of a run; include only from a .cpp.
#pragma once

#include "evidence/telemetry.h"
#include "kept/json_archive.h"

namespace picchio::kept {

template <class A>
void describe(A& archive, Ref<A, PcieLink> value) {
  archive("generation", value.generation);
  archive("width", value.width);
}

template <class A>
void describe(A& archive, Ref<A, Throttling> value) {
  archive("power_cap", value.power_cap);
  archive("thermal", value.thermal);
  archive("hardware", value.hardware);
}

template <class A>
void describe(A& archive, Ref<A, GpuReading> value) {
  archive("busy_percent", value.busy_percent);
  archive("memory_bytes", value.memory_bytes);
  archive("power_watts", value.power_watts);
  archive("energy_joules", value.energy_joules);
  archive("clock_mhz", value.clock_mhz);
  archive("memory_clock_mhz", value.memory_clock_mhz);
  archive("temperature_celsius", value.temperature_celsius);
  archive("throttling", value.throttling);
  archive("link", value.link);
  archive("asleep", value.asleep);
  archive("lost", value.lost);
}

template <class A>
void describe(A& archive, Ref<A, GpuProcessUse> value) {
  archive("pid", value.pid);
  archive("device", value.device);
  archive("busy_percent", value.busy_percent);
  archive("gpu_seconds", value.gpu_seconds);
  archive("memory_bytes", value.memory_bytes);
  archive("evicted_bytes", value.evicted_bytes);
}

template <class A>
void describe(A& archive, Ref<A, GpuSample> value) {
  archive("at_us", value.at);
  archive("gpus", value.readings);
}

template <class A>
void describe(A& archive, Ref<A, ProcessSample> value) {
  archive("at_us", value.at);
  archive("use", value.use);
}

/// A figure that a newer picchio knows and this one does not is read with an empty reason.
template <class A>
void describe(A& archive, Ref<A, MissingFigure> value) {
  if constexpr (std::is_same_v<A, Writer>) {
    archive("figure", std::string(name_of(value.figure)));
    archive("reason", value.reason);
  } else {
    std::string figure;
    archive("figure", figure);
    archive("reason", value.reason);
    const auto known = figure_named(figure);
    if (known) value.figure = *known;
    if (!known) value.reason.clear();
  }
}

template <class A>
void describe(A& archive, Ref<A, MeteredGpu> value) {
  archive("meter", value.meter);
  archive("index", value.index);
  archive("address", value.address);
  archive("name", value.name);
  archive("driver", value.driver);
  archive("memory_bytes", value.memory_bytes);
  archive("unified_memory", value.unified_memory);
  archive("busy_window_seconds", value.busy_window_seconds);
  archive("asleep", value.asleep);
  archive("power_is_package", value.power_is_package);
  archive("busy_is_upper_bound", value.busy_is_upper_bound);
  archive("peak_bytes_per_second", value.peak_bytes_per_second);
  archive("link_max", value.link_max);
  archive("cores", value.cores);
  archive("missing", value.missing);
}

template <class A>
void describe(A& archive, Ref<A, DriverTrouble> value) {
  archive("what", value.what);
  archive("remedy", value.remedy);
}

/// All but the looks, which are lines of their own.
template <class A>
void describe(A& archive, Ref<A, Telemetry> value) {
  archive("hz", value.hz);
  archive("halvings", value.halvings);
  archive("news", value.news);
  archive("troubles", value.troubles);
  archive("none_because", value.none_because);
  archive("gpus", value.gpus);
}

}  // namespace picchio::kept
