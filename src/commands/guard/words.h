// What `guard` says, and whether an expectation held. Pure.
#pragma once

#include "base/result.h"
#include "commands/guard/judge.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace picchio {

/// "picchio: STATE: ..." with WHY and FIX: one line, with its end.
[[nodiscard]] std::string finding_line(const GuardFinding& finding, bool colour);

/// A finding that somebody has to hear of whatever he asked for.
[[nodiscard]] bool is_bad(const GuardFinding& finding);

/// For a command that is told of a finding: PICCHIO_STATE and so on.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> finding_environment(
    const GuardFinding& finding, int pid);

/// What the summary needs to know.
struct GuardEnding {
  std::string command;  // its name; untrusted
  int exit_code = 0;
  Micros wall{};
  std::string quiet_log;  // why its log was left as it is; empty: it was not, or needs no reason
  bool engine_elsewhere = false;  // a client: docker, ssh
  std::string meters;             // what they say of it; empty: nothing
  bool left_behind = false;       // a descendant writes on
};
[[nodiscard]] std::string summary_lines(const GuardJudge& judge, const GuardEnding& ending);

/// "gpu", "partial" or "bytes>=0.9".
struct Expectation {
  enum class Kind { gpu, partial, bytes } kind = Kind::gpu;
  double least = 0;  // of bytes
};
[[nodiscard]] Result<Expectation> parse_expectation(const std::string& text);

/// ok: every finding of every model holds. partial_offload: some weights are on a GPU, not enough.
/// silent_cpu_fallback: none are, or nothing proves that any is.
[[nodiscard]] ExitCode check_expectation(const Expectation& expectation,
                                         const std::vector<GuardFinding>& findings);

/// The same where some of the log may be missing: what was not read proves nothing.
struct Gate {
  ExitCode code = ExitCode::ok;
  std::string why;  // empty: it holds, or the findings say why not
};
[[nodiscard]] Gate check_gate(const Expectation& expectation,
                              const std::vector<GuardFinding>& findings, bool log_incomplete);

/// All of it as JSON, for those who keep it.
[[nodiscard]] std::string guard_json(const GuardJudge& judge, const GuardEnding& ending,
                                     const std::vector<std::string>& command);

}  // namespace picchio
