// The meters' recording among the files of a kept run:
//
//   telemetry.jsonl  a line about the GPUs, then a line for each look at them and at the processes
//
// Recordings of the established tool are read too: telemetry.json (a summary, marks of the passes,
// samples) and its oldest form NAME.telemetry.jsonl (NVML's figures of one card, no marks).
#pragma once

#include "base/result.h"
#include "evidence/run.h"
#include "evidence/telemetry.h"

#include <string>
#include <string_view>

namespace picchio::kept {

[[nodiscard]] std::string telemetry_to_text(const Telemetry& telemetry);

/// Of a text that ends within a line (a full disk, a killed recorder) the whole lines count.
[[nodiscard]] Result<Telemetry> telemetry_from_text(std::string_view text);

/// FOLDER/telemetry.jsonl; makes the folder.
[[nodiscard]] Result<> write_telemetry(const std::string& folder, const Telemetry& telemetry);

/// Fills run.telemetry and, from the marks, where each pass began, which is the order of the marks.
[[nodiscard]] Result<> read_foreign_telemetry(std::string_view json, RawRun& run);

/// The oldest form. It tells no pass's begin: of a run of one pass that is taken to be the last
/// look before the card's memory first grew, since loading a model begins with that; where it
/// never did, the first look: the card was as idle in all of it.
[[nodiscard]] Result<> read_foreign_samples(std::string_view jsonl, RawRun& run);

}  // namespace picchio::kept
