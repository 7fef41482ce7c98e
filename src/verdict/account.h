// The account of bytes: where the main model of a log really lies. Pure.
#pragma once

#include "evidence/engine_log.h"
#include "evidence/model_file.h"
#include "evidence/placement.h"

#include <string_view>

namespace picchio {

/// Never says gpu unless the bytes say so: an engine's own "N/N layers" is a claim and can at most
/// corroborate. `model`, the header of the same file, makes the account exact; null: only the log's
/// own figures, where a host share that could be the input embedding is told apart by its size.
[[nodiscard]] Placement placement_of(const EngineLog& log, const ModelFile* model);

/// The row of the table of shape rules that decided; empty for a log without a line about weights.
[[nodiscard]] std::string_view deciding_rule(const EngineLog& log, const ModelFile* model);

/// Devices that hold weights or cache: what the number of graph splits is measured against.
[[nodiscard]] int gpus_in_use(const Placement& placement);

}  // namespace picchio
