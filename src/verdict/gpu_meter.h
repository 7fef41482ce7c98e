// The GPU meter as a witness: an ordered table of rules from what the meters saw of the engine's
// devices to a word or an abstention. Pure.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// What the rules look at: the metered GPUs that the engine's log puts bytes on, or, where it names
/// none, all of them.
struct MeteredWork {
  const Run& run;
  std::vector<const GpuUse*> gpus;  // never empty once the first rules have passed
  std::string unmetered;            // a device with bytes that no meter here knows; empty: none
  std::optional<std::int64_t> expected;  // bytes that the log puts on them; absent: not told

  [[nodiscard]] const MeteredGpu& about(const GpuUse& use) const;
};

struct MeterFinding {
  std::optional<Word> word = std::nullopt;
  bool attributed = false;  // the driver tells it of the engine's own processes
  std::string sentence;
  std::string_view rule = {};  // the row of the table that fired
};

struct MeterRule {
  std::string_view name;
  std::optional<MeterFinding> (*find)(const MeteredWork&);
};

/// First match wins; the last row always matches.
[[nodiscard]] std::span<const MeterRule> meter_rules();
[[nodiscard]] MeterFinding read_gpu_meter(const Run& run);

/// Sets in_use in `run.gpu_use` by the backends, names and processes of `run.placement`.
void mark_gpus_in_use(Run& run);

/// A GPU in use that vanished while passes ran; null: none did.
[[nodiscard]] const GpuUse* lost_gpu(const Run& run);

}  // namespace picchio
