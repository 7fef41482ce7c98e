// What of a run travels: the figures that a block prints, read back from one, or taken from a run.
// Compared, verified and shared. Absent: not told.
#pragma once

#include "evidence/engine_log.h"
#include "evidence/verdict.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Tokens per second of one cell. No value and no abstention: "n/a", or no such row.
struct Rate {
  std::optional<double> value;
  bool abstains = false;
  bool operator==(const Rate&) const = default;
};

struct LaneFigures {
  Rate cold;
  Rate warm;                   // median of the warm passes
  std::optional<double> low;   // of the warm passes
  std::optional<double> high;  // ditto
  bool operator==(const LaneFigures&) const = default;
};

enum class Lane { prefill, decode, wallclock };
inline constexpr std::array kLanes = {Lane::prefill, Lane::decode, Lane::wallclock};
[[nodiscard]] std::string_view name_of(Lane lane);

/// One bar of "where the cold pass went".
struct PhaseFigures {
  std::optional<double> seconds;
  std::optional<double> percent;            // of the pass, 0 to 100
  std::optional<int> marks = std::nullopt;  // of its bar, 28 wide; only of a pasted block
  bool operator==(const PhaseFigures&) const = default;
};

struct ColdPassFigures {
  std::optional<double> seconds;  // the whole pass
  std::optional<int> threads;
  std::optional<int> cores;
  std::string cache;  // "weights cached", "read from disk", "12% cached", "cache dropped"
  PhaseFigures load;
  PhaseFigures prefill;
  PhaseFigures decode;
  PhaseFigures misc;
  bool operator==(const ColdPassFigures&) const = default;
};

enum class Engagement { engaged, partial, not_engaged, no_evidence };
[[nodiscard]] std::string_view name_of(Engagement engagement);  // "ENGAGED", "NO EVIDENCE"

struct DeviceBytes {
  std::string device;  // "CUDA0"; "host"
  double bytes = 0;
  std::string note;  // "software", "remote", "embedding": by design on the host
  bool operator==(const DeviceBytes&) const = default;
};

struct PlacementFigures {
  std::optional<Engagement> engagement;
  std::string reason;  // of no evidence
  std::optional<int> layers_on_gpu;
  std::optional<int> layers_total;
  std::optional<double> claimed_share;  // ollama's word, 0 to 1
  std::string backend;                  // "CUDA"
  std::string device;                   // "GeForce RTX 4090"
  int device_count = 1;
  std::string arguments;
  std::optional<double> gpu_share;  // of the weight bytes, 0 to 1
  std::string kv;                   // "gpu", "cpu", "mixed", "40% gpu", "remote"
  std::vector<DeviceBytes> devices;
  bool operator==(const PlacementFigures&) const = default;
};

struct MeterFigures {
  std::string not_sampled;             // the reason; empty: it was
  std::optional<double> idle_percent;  // busy before the run
  std::optional<double> work_percent;  // busy during decode
  std::optional<double> memory_bytes;  // what came with the run
  std::optional<double> watts;
  std::optional<double> joules_per_token;
  bool throttled = false;
  bool operator==(const MeterFigures&) const = default;
};

struct CpuFigures {
  std::optional<double> busy_cores;  // in decode
  std::optional<int> cores;
  std::optional<int> threads;
  bool operator==(const CpuFigures&) const = default;
};

struct MachineFigures {
  std::string chip;
  std::string gpu;  // "GeForce RTX 4090"
  int gpu_count = 0;
  std::optional<double> ram_gib;
  std::string os;
  bool operator==(const MachineFigures&) const = default;
};

/// What a block has no line for: of kept runs, and of llama-bench.
struct BuildFigures {
  std::string kv_type_k;
  std::string kv_type_v;
  std::optional<bool> flash_attention;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> ubatch;
  std::string driver;
  std::optional<double> bits_per_weight;
  std::optional<std::int64_t> prompt_tokens;  // of llama-bench's test; a protocol fixes its own
  std::optional<std::int64_t> filled_tokens;  // of a protocol's prompt, by the engine's count
  // As the engine tells, over all devices. The first one is of the cache and the recurrent state,
  // the third of both, the weights and the output buffer together.
  std::optional<double> cache_bytes;
  std::optional<double> compute_bytes;
  std::optional<double> allocated_bytes;
  std::optional<double> gpu_allocated_bytes;  // of those, on GPUs
  bool operator==(const BuildFigures&) const = default;
};

struct RunFigures {
  std::string model;  // file or tag
  std::optional<double> parameters;
  std::string quant;
  std::optional<double> weight_bytes;
  std::string engine;  // "llama.cpp"
  std::string build;   // "b9430"; empty: not told
  PlacementFigures placement;
  MeterFigures meter;
  CpuFigures cpu;
  std::optional<Sampling> sampling;  // absent: not recorded
  std::optional<std::int64_t> context;
  std::array<LaneFigures, 3> lanes;  // in the order of kLanes
  bool only_one_pass = false;        // no warm rows
  bool server_was_warm = false;      // the cold start was not measured
  std::optional<ColdPassFigures> cold_pass;
  std::optional<State> state;
  std::string sentence;  // behind the state, remarks and all; may be cut in ".."
  std::string why;
  std::string fix;
  std::string version;   // of picchio
  std::string protocol;  // "mp1"
  MachineFigures machine;
  BuildFigures more;

  [[nodiscard]] const LaneFigures& lane(Lane which) const {
    return lanes[static_cast<std::size_t>(which)];
  }
  /// That computed: the cold pass's, else the cpu line's.
  [[nodiscard]] std::optional<int> threads() const;
  /// As told, else as the model's name says; empty: neither.
  [[nodiscard]] std::string quant_label() const;

  [[nodiscard]] LaneFigures& lane(Lane which) { return lanes[static_cast<std::size_t>(which)]; }
};

}  // namespace picchio
