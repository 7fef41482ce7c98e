// A run on disk, as --keep-logs writes it and replay reads it:
//
//   run.json          the run without its passes, and how many there are
//   passN.stderr.txt  the engine's bytes as they came; N from 1. Of a server what its own log
//                     said meanwhile
//   passN.answer.txt  of a server: the answer's bytes as they came
//   passN.stamps.txt  microseconds since the engine's start (the request's), a line for each line
//                     of the log (of the answer)
//   passN.meta.json   all else of the pass
//   telemetry.jsonl   what the meters recorded (telemetry.h); none where nothing was
//
// Runs kept by the established tool of this kind are read too: its passN.stderr.txt (llama.cpp) or
// passN.response.json (a server) and passN.meta.json with telemetry.json, or one NAME.stderr.txt
// with NAME.meta.json and NAME.telemetry.jsonl. What it did not record is absent.
//
// Files are written whole or not at all, mode 0600: a log holds paths and prompts.
#pragma once

#include "base/result.h"
#include "evidence/run.h"

#include <cstddef>
#include <string>

namespace picchio::kept {

/// Writes run.json and the recording of the meters; makes the folder. Called again when a pass was
/// added.
[[nodiscard]] Result<> write_run(const std::string& folder, const RawRun& run);

/// Writes the files of run.passes[index].
[[nodiscard]] Result<> write_pass(const std::string& folder, const RawRun& run, std::size_t index);

/// `path`: the folder, or a NAME.stderr.txt in one that holds several. An error names the file and
/// the reason.
[[nodiscard]] Result<RawRun> read_run(const std::string& path);

}  // namespace picchio::kept
