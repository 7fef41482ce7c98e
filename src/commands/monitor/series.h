// What `picchio monitor` exports: which metrics there are, and their values after a probe. Pure.
#pragma once

#include "evidence/monitored.h"

#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace picchio {

/// A metric as it is described, whether or not it has a value just now.
struct MetricDescription {
  const char* name;
  const char* labels;  // "gpu, name, pci"; empty: none
  bool counter;        // else a gauge
  const char* help;    // with the unit, where the name does not say it
};

[[nodiscard]] std::span<const MetricDescription> metric_descriptions();

/// The values. What the last probe did not tell has none: a rate of a server that is lost, of a
/// card that went, or of a probe that found the server busy stands as current nowhere. Counters
/// stay, as does what is held of the server over several probes: its standing and its baselines.
class MonitorSeries {
 public:
  void take(const Probe& probe, const MonitorStatus& status);

  /// Before the first probe: the build alone. A metric without values is left out.
  [[nodiscard]] std::vector<prometheus::MetricFamily> families() const;

 private:
  std::optional<Probe> probe_;  // the last
  MonitorStatus status_;
  std::optional<Moment> answered_;
  std::optional<Micros> since_;                        // of the probe before the last
  std::optional<Micros> interval_;                     // between the last two
  std::map<std::vector<std::string>, double> joules_;  // by the labels of a GPU
};

}  // namespace picchio
