// The judge's rules for a server of which no line tells where the bytes are: its own claim and the
// operating system's meters. Rows of the table in judge.cpp.
#pragma once

#include "verdict/judge.h"

#include <optional>

namespace picchio {

/// The server says one thing of itself and a meter of this machine another.
[[nodiscard]] std::optional<Finding> claim_contradicted(const Hearing& h);

/// The bytes of its log are on GPUs, but the server itself tells of less.
[[nodiscard]] std::optional<Finding> claim_denies_bytes(const Hearing& h);

/// A server that admits to less than all is believed.
[[nodiscard]] std::optional<Finding> claim_partial(const Hearing& h);

/// The GPU's meter saw the server's work there, strongly enough that nothing of weight was left to
/// the CPU.
[[nodiscard]] std::optional<Finding> meter_acquits(const Hearing& h);

/// A claim that nobody else could confirm never makes a run healthy.
[[nodiscard]] std::optional<Finding> claim_alone(const Hearing& h);

}  // namespace picchio
