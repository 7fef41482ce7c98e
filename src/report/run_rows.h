// A measured run as a row: what `-o` prints of a run, and of the history.
#pragma once

#include "evidence/stored_run.h"
#include "report/rows.h"

#include <span>
#include <string>

namespace picchio {

/// SQL's name for them: runs of a machine and of a fleet go into one table.
inline constexpr std::string_view kRunTable = "picchio_runs";

/// Ranges are of the warm passes, moments UTC, rates tokens per second, shares 0 to 1.
[[nodiscard]] std::span<const RowColumn> run_columns();
[[nodiscard]] std::vector<RowCell> run_cells(const StoredRow& row);

/// All of them with their head.
[[nodiscard]] std::string run_rows(RowFormat format, std::span<const StoredRow> rows);

}  // namespace picchio
