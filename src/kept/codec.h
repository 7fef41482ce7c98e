// Kept runs as text: what the files of --keep-logs hold. Pure; folder.h does the reading and
// writing.
//
// Every field of RawRun survives the way to text and back, also strings that are no UTF-8 (a path
// or an argument is any bytes): such a string is {"hex": "..."} instead of a JSON string. A number
// that is not finite is not kept. Keys that a reader does not know are skipped, keys that are
// missing leave their field absent, so older and newer picchios read each other's runs.
#pragma once

#include "base/result.h"
#include "evidence/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::kept {

/// run.json: everything of `run` but its passes.
[[nodiscard]] std::string run_to_json(const RawRun& run);

struct KeptHeader {
  RawRun run;  // without passes
  int pass_count = 0;
};
[[nodiscard]] Result<KeptHeader> run_from_json(std::string_view text);

/// passN.meta.json: everything of `pass` but its log and stamps. The keys of the established tool
/// (wall_s, engine, model_name, prompt_nonce, extra_args) stand in it too, for its readers.
[[nodiscard]] std::string pass_to_json(const RawRun& run, const RawPass& pass);
[[nodiscard]] Result<RawPass> pass_from_json(std::string_view text);

/// passN.stamps.txt: whole microseconds, one line for each line of the log.
[[nodiscard]] std::string stamps_to_text(std::span<const Micros> stamps);
[[nodiscard]] Result<std::vector<Micros>> stamps_from_text(std::string_view text);

/// A passN.meta.json of the established tool, or the single form of its oldest runs
/// ({"case", "exit", "wall_s", "cmd"}).
struct ForeignPass {
  RawPass pass;  // wall, prompt_prefix, and with "cmd" argv and exit code
  EngineProgram engine;
  std::string model_name;
  std::vector<std::string> user_args;  // "extra_args"
  std::string mode;                    // "server", "ollama"; empty for llama.cpp
  std::string claim;                   // "ps": ollama's row of the model
  std::optional<std::int64_t> context;

  /// Absent: not a server's run.
  [[nodiscard]] std::optional<ServerKind> server_kind() const;
};
[[nodiscard]] Result<ForeignPass> foreign_pass_from_json(std::string_view text);

}  // namespace picchio::kept
