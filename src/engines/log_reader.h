// Reads what an engine wrote to its log: llama.cpp of any era and backend, ollama, and the programs
// built on llama.cpp, through whatever the log was piped, pasted or wrapped in.
//
// Placement evidence is a few dozen lines among thousands. One scan finds the known markers of a
// line (log_markers.h); tables of {marker, function} read those lines (llama_cpp/, ollama/,
// wrappers/); a small state groups them into loads (log_state.h); what can only be told at the end
// (roles of loads, kinds of devices, copies) is settled last (log_finish.h).
#pragma once

#include "evidence/engine_log.h"

#include <memory>
#include <span>
#include <string_view>

namespace picchio {

/// Never fails: unknown lines are skipped, known lines that cannot be read become notes. Line
/// numbers are 1-based positions in `lines`.
[[nodiscard]] EngineLog read_engine_log(std::span<const StampedLine> lines);

/// The same for a whole file's bytes. UTF-16 (Windows PowerShell's `>`) is converted first.
[[nodiscard]] EngineLog read_engine_log(std::string_view text);

struct LogStreamState;

/// The same for a log that is still being written. Takes no more memory as it goes on: of the rates
/// only the latest are kept.
class EngineLogStream {
 public:
  EngineLogStream();
  EngineLogStream(EngineLogStream&&) noexcept;
  EngineLogStream& operator=(EngineLogStream&&) noexcept;
  EngineLogStream(const EngineLogStream&) = delete;
  EngineLogStream& operator=(const EngineLogStream&) = delete;
  ~EngineLogStream();

  /// One more line, with or without its end. True: it is of a kind that tells something.
  bool add(std::string_view line);

  /// What the lines so far say, as if the log ended here.
  [[nodiscard]] EngineLog so_far() const;

 private:
  std::unique_ptr<LogStreamState> state_;
};

}  // namespace picchio
