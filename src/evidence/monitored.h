// What `picchio monitor` learns of a server, probe by probe, and what it makes of it. Made by
// commands/ and verdict/, printed by report/, exported as metrics.
#pragma once

#include "base/time.h"
#include "evidence/device.h"
#include "evidence/moment.h"
#include "evidence/placement.h"
#include "evidence/server.h"
#include "evidence/verdict.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// How one probe ended.
enum class ProbeEnd {
  answered,     // the server did what was asked for
  idle,         // passive: nobody asked it for anything since the last look
  busy,         // it was at somebody else's request: nothing was sent
  loading,      // it was loading a model
  unreachable,  // nobody answered at its address
  failed,       // it refused, or broke off
};
[[nodiscard]] std::string_view name_of(ProbeEnd end);  // "answered", the JSON words

/// What a meter saw of one GPU between the probe's beginning and its end. Absent: not told.
struct ProbedGpu {
  int index = 0;                              // the meters' own
  std::string name;                           // untrusted
  std::string pci;                            // "0000:01:00.0"; empty: not told
  std::optional<double> busy;                 // percent, the median at work
  std::optional<double> server_share;         // of its time, by the server's processes; 0 to 1
  std::optional<double> watts;                // the median at work
  std::optional<double> joules;               // of the whole device, during the probe
  std::optional<std::int64_t> memory_used;    // bytes, of everybody
  std::optional<std::int64_t> memory_total;   // bytes
  std::optional<std::int64_t> server_memory;  // bytes that the server's processes hold
  std::optional<double> celsius;
  bool throttled = false;  // by heat or the board, at some look
};

/// Memory of the process that computes.
struct Residency {
  std::int64_t resident = 0;        // bytes, all of it
  std::int64_t resident_files = 0;  // of those, pages of files: mapped weights
  std::int64_t swapped = 0;
};

struct Probe {
  std::int64_t number = 0;  // from 1
  Moment at;                // of the wall clock, when it began
  Micros since{};           // the same on a clock that never jumps, from the monitor's start
  Micros length{};          // of the request; 0: none was sent
  ProbeEnd end = ProbeEnd::failed;
  std::string why;       // a sentence for all but answered; untrusted
  bool passive = false;  // read from what others asked for

  // What it cost the server; absent: it did not tell.
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> cached_tokens;  // of the prompt, reused
  std::optional<std::int64_t> generated_tokens;

  // Tokens per second. Absent: not told, or it does not count and `*_abstain` says why.
  std::optional<double> prefill;
  std::optional<double> decode;
  std::optional<double> wallclock;
  std::string prefill_abstain;
  std::string decode_abstain;
  std::optional<double> first_token_seconds;  // TTFT on our clock

  // Where the model lay, by the rules of a run of one pass. No state: there was nothing to judge.
  std::optional<State> state;
  std::string rule;
  std::string sentence;  // untrusted
  std::optional<Cause> cause;
  Placement placement;

  std::vector<ProbedGpu> gpus;
  std::optional<double> cpu_cores;  // that the server kept busy during decode
  /// Others' requests were at work beside it: its rates are not the server's alone.
  std::string contended;

  std::optional<int> pid;  // of the process that computes; absent: not on this machine, or not seen
  std::string model;       // as the server names it; untrusted
  /// How it is known that the model was loaded anew since the probe before; empty: it was not.
  std::string reload;
  std::optional<Residency> residency;
};

/// What the monitor holds of the server: the words of its events, its JSON and its metrics.
enum class Standing {
  unknown,      // nothing was told yet
  steady,       // on the GPU as judged, or as it always was where nothing else can tell
  slow,         // much slower than its own baseline, with no word on where it runs
  partial,      // some of the weights, or the KV cache, are on the host
  fallen,       // the CPU does the work
  conflicting,  // witnesses disagree
  lost,         // it does not answer
};
[[nodiscard]] std::string_view name_of(Standing standing);  // "steady", the JSON words
/// slow, partial, fallen or conflicting.
[[nodiscard]] bool is_fall(Standing standing);

/// Middle and spread of a rate over the probes that made the baseline.
struct Baseline {
  double median = 0;  // tokens per second
  double spread = 0;  // robust standard deviation of the natural logarithm
  int probes = 0;
};

/// What changed with a probe. Every change is told once.
struct MonitorEvent {
  enum class Kind {
    standing,         // `from` to `to`
    baseline_locked,  // from now on it is compared with itself
    reload,           // another process computes, or the model was loaded again
    model_changed,    // and the baseline begins anew
    clock_jump,       // the wall clock went another way than the time
  };
  Kind kind = Kind::standing;
  std::int64_t probe = 0;
  Moment at;
  Standing from = Standing::unknown;
  Standing to = Standing::unknown;
  std::string rule;      // that found it, of verdict/monitor
  std::string sentence;  // what a reader must know; untrusted
  std::string why;       // cause and remedy, where they are known
  std::string fix;
};
[[nodiscard]] std::string_view name_of(MonitorEvent::Kind kind);  // "standing", the JSON words

/// Where things stand after a probe.
struct MonitorStatus {
  std::string target;  // as it was asked for, without secrets
  ServerKind kind = ServerKind::openai;
  std::string server_version;  // untrusted; empty: not told
  Standing standing = Standing::unknown;
  std::optional<State> worst_state;    // of all probes, by exit codes
  Standing worst = Standing::unknown;  // likewise
  std::optional<Baseline> prefill;     // absent: not locked
  std::optional<Baseline> decode;
  // Probes by how they ended.
  std::int64_t answered = 0;
  std::int64_t idle = 0;
  std::int64_t busy = 0;
  std::int64_t loading = 0;
  std::int64_t unreachable = 0;
  std::int64_t failed = 0;
  std::int64_t falls = 0;  // changes to fallen, partial, slow or conflicting
  std::int64_t reloads = 0;
  std::int64_t prompt_tokens = 0;     // of all probes
  std::int64_t generated_tokens = 0;  // of all probes
  Micros asked{};                     // time that the server worked for probes
  Micros running{};                   // since the monitor's start
};

/// One word and one sentence on the whole watch.
struct MonitorVerdict {
  std::string word;  // "SILENT CPU FALLBACK", "HEALTHY", "RATES FELL"...
  std::string sentence;
};

/// The memory of the process over many probes, against the weights on disk.
enum class ResidencyShape { too_few, flat, rising, plateau, falling, oscillating };
[[nodiscard]] std::string_view name_of(ResidencyShape shape);  // "too few probes", "rising"

struct ResidencyPoint {
  Micros since{};
  std::int64_t resident = 0;
  std::optional<double> decode;  // tokens per second that these bytes bought
};

struct ResidencyReport {
  ResidencyShape shape = ResidencyShape::too_few;
  std::string sentence;
  std::optional<std::int64_t> weight_bytes;  // on disk
  std::int64_t first = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t last = 0;
  /// Decode at the points with the most and the fewest bytes resident; absent: no rates, or the
  /// bytes hardly differ.
  std::optional<double> decode_at_high;
  std::optional<double> decode_at_low;
};

}  // namespace picchio
