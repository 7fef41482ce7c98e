// The lines of the block, one function each; private to report/.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <string>
#include <vector>

namespace picchio::report {

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
