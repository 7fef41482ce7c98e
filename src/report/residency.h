// What `picchio monitor --residency` says in the end: its lines of the summary, its object of the
// JSON.
#pragma once

#include "evidence/monitored.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace picchio {

/// The shape, and the sentence below it: rows of a summary, at most 66 columns, plain ASCII, lines
/// ending in LF.
[[nodiscard]] std::string residency_text(const ResidencyReport& report);

/// The object "residency" of a document. Bytes and tokens per second; null: not told.
[[nodiscard]] nlohmann::ordered_json residency_json(const ResidencyReport& report);

}  // namespace picchio
