// How devices, engines and models are called in every output, and the few readings of a Run that
// more than one renderer needs.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::report {

/// The backend of an engine's device id, by the name people use: "CUDA0" -> "CUDA", "MTL0" ->
/// "Metal", "ROCm1" -> "ROCm", "RPC0[10.0.0.2:50052]" -> "RPC". An unknown id loses its number.
[[nodiscard]] std::string kind_of_device(std::string_view name);

/// A device's description as plain text, without a leading vendor word: "GeForce RTX 4090".
[[nodiscard]] std::string without_vendor(std::string_view description);

/// "llama.cpp b9430": the family as the log or the program's name tells it, and the build, else the
/// version, else "(version unknown)".
[[nodiscard]] std::string engine_label(const EngineProgram& program, const EngineLog* log);

/// The same of a run's engine; of a server its kind and version.
[[nodiscard]] std::string engine_label(const Run& run);

/// As a server calls it, else base name of the model file, else the label the run was given, else
/// the path in the log.
[[nodiscard]] std::string model_label(const Run& run);

/// The loads' log of the first pass, or null when there is no pass.
[[nodiscard]] const EngineLog* first_log(const Run& run);

/// The device that stands for the placement: of the hardware GPUs, else of the software devices,
/// else of the remote ones, the one with the most weights. Null when only the host is in the
/// account.
[[nodiscard]] const DeviceAccount* leading_device(const Placement& placement);

/// PARTIAL OFFLOAD and SILENT CPU FALLBACK: the verdicts that owe the reader a WHY.
[[nodiscard]] bool is_degraded(State state);

/// The WHY of a degraded verdict, known or not; empty for every other verdict.
[[nodiscard]] std::string why_of(const Verdict& verdict);
/// The same, where it may also be that a server's log was not read.
[[nodiscard]] std::string why_of(const Run& run, const Verdict& verdict);
[[nodiscard]] std::string fix_of(const Verdict& verdict);

/// What a reader must know beside the verdict, most important first: passes that disagree, a
/// shortened prompt, lanes that abstain and why, remarks of the passes (merged when all passes
/// carry the same), notes. Plain text, no repeats, nothing that `already_said` holds.
[[nodiscard]] std::vector<std::string> remarks_of(const Run& run, std::string_view already_said);

}  // namespace picchio::report
