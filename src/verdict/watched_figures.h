// The figures of each GPU and each process over a watch. Pure.
#pragma once

#include "evidence/watched.h"

#include <vector>

namespace picchio {

/// Gives each row of a process that only counts GPU seconds its share since the look before.
void fill_in_busy(Telemetry& telemetry);

/// A row for each GPU of the recording; activity, rule and sentence are the judge's to fill in.
[[nodiscard]] std::vector<WatchedGpu> watched_figures(const WatchRecord& record);

/// CPU cores that the tree kept busy on average; absent: it was not looked at twice.
[[nodiscard]] std::optional<double> cores_of(const WatchRecord& record);

}  // namespace picchio
