// One measured run: first as raw as it was recorded (what --keep-logs writes and replay reads),
// then read. Both are values; judging needs nothing else.
#pragma once

#include "base/time.h"
#include "evidence/engine_log.h"
#include "evidence/gpu_use.h"
#include "evidence/machine.h"
#include "evidence/model_file.h"
#include "evidence/placement.h"
#include "evidence/roofline.h"
#include "evidence/server.h"
#include "evidence/telemetry.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// CPU seconds of the engine's process tree, cumulative, at a moment counted from its start.
struct CpuSample {
  Micros at{};
  double cpu_seconds = 0;
};

/// The process of this machine that listens on a loopback RPC endpoint: what it has mapped tells
/// whether the "remote device" is a GPU at all.
struct LocalWorker {
  std::string endpoint;  // "127.0.0.1:50052"
  std::string process;   // its name
  std::vector<std::string> libraries;
  std::vector<std::string> device_nodes;
};

/// What /proc told of the engine's process tree while it ran.
struct ProcessFacts {
  bool readable = false;  // false: nothing below could be read
  std::vector<std::string>
      libraries;  // base names of mapped ggml backends and GPU driver libraries
  std::vector<std::string> device_nodes;  // open /dev/nvidia*, /dev/dri/*, /dev/kfd, /dev/dxg
  std::vector<std::string> processes;     // names in the tree
  std::vector<LocalWorker> workers;       // for --rpc to this machine
  /// A software renderer that was opened as a device, by its threads: "llvmpipe"; empty: none. The
  /// driver alone is mapped by whoever only asks what there is.
  std::string renderer;
};

/// The engine program that was run.
struct EngineProgram {
  std::string path;
  std::string name;     // "llama-completion"
  std::string version;  // "0.7.0 (build 11669, commit Debian)" or "9430 (d48a56eff)" as printed
  std::string build;    // "b11669"; empty when not told
};

/// One pass as recorded. `log` is stderr, whole; `line_stamps[i]` belongs to its i-th line.
struct RawPass {
  std::vector<std::string> argv;
  std::string log;
  std::vector<Micros> line_stamps;
  std::int64_t stdout_bytes = 0;
  std::optional<Micros> first_token;  // first byte of generated text on stdout
  std::optional<Micros> last_token;   // last one
  std::int64_t stdout_reads = 0;  // arrivals seen; below the token count when several came at once
  Micros wall{};                  // start to exit
  int exit_code = 0;              // 128 + signal for a killed engine
  std::vector<CpuSample> cpu;
  std::optional<double>
      cached_fraction;  // of the model file in the page cache before the pass, 0 to 1
  bool cache_dropped = false;
  int repeats = 0;  // tries before this one, whose logs the engine lost at its exit
  ProcessFacts process;
  std::string prompt_prefix;
  std::optional<Micros> began;  // the engine's start on the clock of RawRun::telemetry
  /// Of a pass that a server answered: `log` is what the server's own log said meanwhile, without
  /// stamps, and there is no exit code.
  std::optional<RawExchange> exchange;
};

/// A whole run as recorded.
struct RawRun {
  std::string picchio_version;
  std::string protocol = "mp1";
  EngineProgram engine;
  Machine machine;
  std::optional<ModelFile> model;                  // header; absent in runs kept by other tools
  std::string model_label;                         // shown name when there is no header
  std::vector<std::string> user_args;              // after "--"
  std::map<std::string, std::string> environment;  // the variables that steer placement
  std::int64_t context_asked = 4096;
  std::int64_t tokens_asked = 128;
  std::string prompt_note;  // the prompt was shortened and why; empty: whole
  std::vector<RawPass> passes;
  Telemetry telemetry;                // what lies before the first pass is the idle baseline
  std::optional<ServerFacts> server;  // absent: picchio started the engine
};

/// Those that steer the engine: behind "--", or of the server's own command line.
[[nodiscard]] inline const std::vector<std::string>& engine_arguments(const RawRun& run) {
  return run.server ? run.server->command_line : run.user_args;
}

/// The three lanes of one pass. Absent: not read. `*_abstain` says why a lane that was read does
/// not count.
struct Lanes {
  std::optional<double> prefill;  // tokens per second
  std::optional<double> decode;
  std::optional<double> wallclock;
  std::string prefill_abstain;
  std::string decode_abstain;
  std::string wallclock_abstain;
};

/// CPU work by phase, in cores kept busy.
struct CpuUse {
  std::optional<double> prefill_cores;
  std::optional<double> decode_cores;
};

struct Pass {
  EngineLog log;
  EngineTimings timings;  // of the main model: the last perf block
  Lanes lanes;
  CpuUse cpu;
  std::optional<double> load_seconds;  // engine's own load time; breakdown of the cold pass
  std::optional<double> prefill_seconds;
  std::optional<double> decode_seconds;
  double wall_seconds = 0;
  std::vector<std::string>
      remarks;  // clocks that disagree, fewer tokens than asked, cached prompt...
  std::optional<ServerAnswer> answer;  // of a pass that a server answered
  std::optional<ServerClaim> claim;
};

/// Of the passes' claims the one with the least in GPU memory, since the quoted rates may be of
/// that pass; null: none of them was claimed about.
struct Run;
[[nodiscard]] const ServerClaim* least_claim(const Run& run);

/// Median and range over the warm passes of one lane.
struct LaneSummary {
  std::optional<double> median;
  std::optional<double> low;
  std::optional<double> high;
  std::string abstain;  // why not, when the lane was read and does not count
};

struct Run {
  RawRun raw;  // identity, machine, arguments: as recorded
  std::vector<Pass> passes;
  LaneSummary warm_prefill;
  LaneSummary warm_decode;
  LaneSummary warm_wallclock;
  std::vector<GpuUse> gpu_use;  // a row for each of Telemetry::gpus; empty: nothing was recorded
  Placement placement;          // of the first pass; passes that differ stand in `disagreement`
  std::string disagreement;     // passes whose placements differ; empty: they agree
  std::optional<std::int64_t> context;  // what the engine really used
  std::vector<std::string> notes;       // things a reader must know, one sentence each
  std::optional<Roofline> roofline;     // absent: no decode rate, or no header that tells the bytes
};

}  // namespace picchio
