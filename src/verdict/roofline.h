// The roofline of a run: what its memory lets it decode at most. Pure.
#pragma once

#include "evidence/roofline.h"
#include "evidence/run.h"

#include <optional>
#include <string>

namespace picchio {

/// Beyond a device's peak by this much is impossible. The peaks are the vendors' theoretical ones,
/// of which decode reached at most 93 % anywhere; 5 % are for clocks above the nominal ones.
inline constexpr double kImpossibleShare = 1.05;

/// A full offload of a big model that reads less is suspicious. Healthy ones read 43 to 93 %.
inline constexpr double kSuspiciousShare = 0.35;

/// Smaller models wait for the launches of their kernels and not for memory: a 4B model read half
/// of what a 9B one does on the same card.
inline constexpr std::int64_t kBigEnoughToSuspect = 2'000'000'000;

/// The same by time: launching the thousand kernels of a token costs 1 to 2 ms, however fast the
/// memory is.
inline constexpr double kLongEnoughToSuspect = 0.002;  // seconds for a token at the peak

/// How much more than what a plain sum reads the memory of the host may give to an engine. A sum
/// reached 75 % and more of the theoretical peak on the machines at hand, so half as much again is
/// beyond it, and decode on CPUs reaches 54 %.
inline constexpr double kHostMargin = 1.5;

/// A model has to be this many times the size of the last-level caches before the speed of RAM says
/// anything about it.
inline constexpr std::int64_t kTimesTheCaches = 4;

/// Below this no peak convicts: caches of GPUs hold up to half a GiB, and they know no such limits.
inline constexpr std::int64_t kBeyondCaches = std::int64_t{1} << 30;

/// Absent: the run has no decode rate that counts, or no header that tells what a token reads.
[[nodiscard]] std::optional<Roofline> roofline_of(const Run& run);

/// Faster than its memory can be read: some of the evidence is wrong.
[[nodiscard]] bool beyond_devices(const Roofline& roofline);

/// A big model on devices whose peak is certain reads far less than they can.
[[nodiscard]] bool below_usual(const Roofline& roofline);

/// All the GPUs that hold weights have memory of their own.
[[nodiscard]] bool all_own_memory(const Roofline& roofline);

/// Whether this machine has a GPU that an engine could use and that is not known to share the
/// system's memory: one whose rates the CPU cannot have.
[[nodiscard]] bool has_discrete_gpu(const Run& run);

/// "RTX 4090", "2 GPUs", "RTX 4090 and the host": whose memory it is.
[[nodiscard]] std::string owners_of(const Roofline& roofline);

}  // namespace picchio
