// A run of the history as text: one line of JSON, as it lies in the file and as it travels in an
// export. Pure.
//
// Every field of RunFigures survives the way there and back, also strings that are no UTF-8
// ({"hex":
// "..."}); a number that is not finite is not kept. Keys that a reader does not know are skipped,
// and those that are missing leave their field absent, so that older and newer picchios read each
// other's lines.
#pragma once

#include "base/result.h"
#include "evidence/stored_run.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace picchio::history {

inline constexpr std::string_view kExportSchema = "picchio.history.v1";

/// A run takes some 4 KiB, and a line that is not one of ours could be anything.
inline constexpr std::size_t kMostRecordBytes = std::size_t{256} << 10;
/// Of an export: a record with its schema and id.
inline constexpr std::size_t kMostLineBytes = kMostRecordBytes + 128;

[[nodiscard]] std::string figures_to_json(const RunFigures& figures);
[[nodiscard]] Result<RunFigures> figures_from_json(std::string_view text);

/// Without a line end; ASCII.
[[nodiscard]] std::string record_to_json(const RecordedRun& run);

/// Refuses what cannot be a run: no moment, no model, a rate that is no rate.
[[nodiscard]] Result<RecordedRun> record_from_json(std::string_view text);

/// One line of an export: the record with its schema and content id in front.
[[nodiscard]] std::string export_line(std::string_view content, std::string_view record);

struct ImportedRecord {
  std::string content;  // 32 hex digits; empty: the line states none
  std::string record;   // as record_to_json() writes it, with what a newer picchio added
  RecordedRun run;
};
[[nodiscard]] Result<ImportedRecord> record_of_export_line(std::string_view line);

}  // namespace picchio::history
