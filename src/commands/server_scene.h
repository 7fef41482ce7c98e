// A server that is to be measured, and all that is known of a run against it before its first pass.
#pragma once

#include "base/result.h"
#include "commands/server_pass.h"
#include "commands/watch_target.h"
#include "engines/llama_cpp/prompt.h"
#include "engines/servers/server.h"
#include "evidence/run.h"
#include "machine/server_log.h"
#include "os/http.h"
#include "os/signals.h"

#include <memory>
#include <optional>
#include <string>

namespace picchio {

/// The server's own log, where there is one.
class ServerLogReader {
 public:
  ServerLogReader(const ServerPlace& place, ServerKind kind, const os::Interrupts& interrupts);

  void describe(ServerFacts& facts) const;
  void mark();

  /// What came since mark(), or all of it.
  [[nodiscard]] std::string of_pass(bool with_what_was_before) const;

  /// What came since the last call, so that nothing is missed in between; at the first one all of
  /// what the process wrote.
  [[nodiscard]] std::string take();
  /// As ServerLog::skipped().
  [[nodiscard]] bool skipped() const { return log_ && log_->skipped(); }

 private:
  std::optional<ServerLog> log_;
  std::string none_because_;
  bool taken_ = false;
};

struct ServerScene {
  std::unique_ptr<servers::Server> server;
  servers::ServedModel model;
  ServerPlace place;
  llama_cpp::Prompting prompting;  // mp1's, as far as it fits
  ServerProcesses processes;
  ServerLogReader log;
  RawRun run;  // without a pass; its server's facts are there

  /// What only the process that computes tells: ollama's is there once the model is loaded.
  void take_engine(os::HttpClient& client);
};

/// `asked`: the model; empty: the one that it has. Loads and unloads nothing. `prompting`: what the
/// passes will ask; absent: mp1's, as far as it fits.
[[nodiscard]] Result<ServerScene> open_server_scene(const servers::DetectedServer& detected,
                                                    const std::string& asked,
                                                    const servers::Wait& wait,
                                                    os::HttpClient& client,
                                                    std::optional<llama_cpp::Prompting> prompting);

}  // namespace picchio
