// Objects that both documents hold; private to report/.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace picchio::report {

using Json = nlohmann::ordered_json;

/// A string from outside that may be absent: empty is null.
[[nodiscard]] Json text_or_null(const std::string& text);

[[nodiscard]] Json layers_json(const Placement& placement);    // [on, total] or null
[[nodiscard]] Json accounts_json(const Placement& placement);  // devices[]
[[nodiscard]] Json testimonies_json(const Verdict& verdict);
[[nodiscard]] Json graph_splits_json(const Load* load);
[[nodiscard]] Json rates_json(const EngineTimings& timings);
[[nodiscard]] Json verdict_cause_json(const Verdict& verdict);  // cause id or null
[[nodiscard]] Json causes_json(const Verdict& verdict);         // causes[], the strongest first
[[nodiscard]] Json sampling_json(const Sampling& sampling);

/// Two-blank indent, ASCII only.
[[nodiscard]] std::string dump(const Json& document);

}  // namespace picchio::report
