// The lines of the block, one function each; private to report/.
#pragma once

#include "evidence/figures.h"
#include "evidence/run.h"
#include "evidence/verdict.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio::report {

struct CountedName {
  std::string name;
  int count = 0;
};
/// The GPU that did the work, else the one that could have.
[[nodiscard]] CountedName footer_gpu(const Run& run);
/// As the log says, else the header, else the server. `load`: the first pass's, or null.
[[nodiscard]] std::optional<double> parameters_of(const Run& run, const Load* load);
[[nodiscard]] std::optional<std::int64_t> weight_bytes_of(const Run& run, const Load* load);
/// Median over the passes, in decode.
[[nodiscard]] std::optional<double> busy_cores(const Run& run);
/// Absent: neither the engine nor the server told any.
[[nodiscard]] std::optional<Sampling> sampling_of(const Run& run);
/// What the gpu line calls a server's own word that such a share is on the GPU.
[[nodiscard]] Engagement claimed_engagement(State state, double share);
/// What the gpu line calls a placement.
[[nodiscard]] Engagement engagement_of(Shape shape);
/// Of the weights on hardware GPUs, 0 to 1; 1 where nothing that belongs there is missing.
[[nodiscard]] std::optional<double> weights_share(const Placement& placement);
/// A server that had its weights before the first request.
[[nodiscard]] bool never_cold(const Run& run);
/// "weights cached"; empty: not known.
[[nodiscard]] std::string cache_note(const RawPass& pass);
/// How many devices are as `leader` and hold weights.
[[nodiscard]] std::size_t count_like(const Placement& placement, const DeviceAccount& leader);

[[nodiscard]] std::string model_line(const Run& run);
[[nodiscard]] std::string gpu_line(const Placement& placement, const EngineLog* log,
                                   const std::vector<std::string>& args);
/// Of a server of which no line tells a placement: its own claim, or that there is none.
[[nodiscard]] std::string server_gpu_line(const Run& run, const Verdict& verdict);
/// Whose figures a server's rates are, and the time to the first token; empty for other runs.
[[nodiscard]] std::string rates_line(const Run& run);
[[nodiscard]] std::vector<std::string> bytes_lines(const Placement& placement);  // one or two
[[nodiscard]] std::vector<std::string> os_lines(const Run& run);                 // one or two
[[nodiscard]] std::string cpu_line(const Run& run);
[[nodiscard]] std::string settings_line(const Run& run);
[[nodiscard]] std::vector<std::string> table_lines(const Run& run);
[[nodiscard]] std::vector<std::string> cold_pass_lines(const Run& run);
[[nodiscard]] std::string footer_line(const Run& run);

}  // namespace picchio::report
