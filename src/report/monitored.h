// What `picchio monitor` prints: a line for each probe, one for each change, the summary; the same
// as JSON lines; rows.
#pragma once

#include "evidence/monitored.h"
#include "report/rows.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace picchio {

/// Plain ASCII, no LF: "13:05:01Z #12 steady: prefill 812.3, decode 41.2 tok/s, ...".
[[nodiscard]] std::string probe_line(const Probe& probe, Standing standing);

/// Plain ASCII but for the colour of a bad word, no LF; with WHY and FIX.
[[nodiscard]] std::string event_line(const MonitorEvent& event, bool colour);

/// Lines ending in LF; the verdict stands last. `residency`: of --residency.
[[nodiscard]] std::string monitor_summary(const MonitorStatus& status,
                                          const MonitorVerdict& verdict,
                                          const std::optional<ResidencyReport>& residency);

/// Documents of one line each, with its LF, all of schema "picchio.monitor.v1"; "type" tells them
/// apart. ASCII.
[[nodiscard]] std::string probe_json(const Probe& probe, Standing standing);
[[nodiscard]] std::string event_json(const MonitorEvent& event);
[[nodiscard]] std::string monitor_summary_json(const MonitorStatus& status,
                                               const MonitorVerdict& verdict, int exit_code,
                                               const std::optional<ResidencyReport>& residency);

/// SQL's name for the rows.
inline constexpr std::string_view kProbeTable = "picchio_probes";
[[nodiscard]] std::span<const RowColumn> probe_columns();
[[nodiscard]] std::vector<RowCell> probe_cells(const Probe& probe, Standing standing);

}  // namespace picchio
