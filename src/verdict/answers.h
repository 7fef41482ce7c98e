// A server's answer as the passes of a run have it: its times, and what spoils a lane. Pure.
#pragma once

#include "evidence/run.h"

#include <cstdint>
#include <optional>

namespace picchio {

[[nodiscard]] EngineTimings timings_of(const ServerAnswer& answer);

/// Prompt tokens that were not computed: as the server tells, or by its log, which counts those
/// that were. A chat template in front of our own prefix may be reused with every request; so
/// little does not count and is 0. Absent: nothing tells.
[[nodiscard]] std::optional<std::int64_t> reused_tokens(const Pass& pass);

/// Words for what is odd about the answer, and abstentions of the lanes that it spoils.
void remark_answer(Pass& pass, const ServerAnswer& answer, const RawPass& raw);

/// Decoding passes over the weights for each second, where a draft made some of the tokens.
[[nodiscard]] std::optional<double> steps_per_second(const ServerAnswer& answer);

}  // namespace picchio
