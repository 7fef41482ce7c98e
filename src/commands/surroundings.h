// What surrounds a measuring run, whoever started the engine: its variables, the page cache, the
// idle GPUs.
#pragma once

#include "commands/meter_recorder.h"
#include "commands/progress.h"
#include "evidence/model_file.h"
#include "os/signals.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// Of "NAME=value" entries those that steer where an engine puts a model. Keys and tokens are left
/// out, whatever their names begin with: kept runs get shared.
[[nodiscard]] std::map<std::string, std::string> placement_environment(
    const std::vector<std::string>& entries);

/// The mean over its shards; absent where it cannot be known.
[[nodiscard]] std::optional<double> cached_share(const ModelFile& model);

/// What the GPUs do with no engine at work, to compare with: two seconds from this call on. False:
/// interrupted.
[[nodiscard]] bool watch_idle_gpus(const os::Interrupts& interrupts, const MeterRecorder& meters,
                                   Progress& progress);

}  // namespace picchio
