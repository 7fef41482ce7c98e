// One pass of a measurement against a server: the request, and what is watched meanwhile.
#pragma once

#include "base/result.h"
#include "commands/meter_recorder.h"
#include "commands/progress.h"
#include "commands/watch_target.h"
#include "engines/llama_cpp/prompt.h"
#include "engines/servers/server.h"
#include "evidence/run.h"
#include "os/http.h"

#include <cstdint>
#include <string>
#include <utility>

namespace picchio {

/// The processes of the server, as far as they can be seen.
class ServerProcesses {
 public:
  /// `needle`: what in a command line tells the process that runs the model; empty: the server.
  ServerProcesses(ServerPlace place, std::string needle)
      : place_(std::move(place)), needle_(std::move(needle)) {}

  [[nodiscard]] int server() const { return place_.pid.value_or(0); }  // 0: not seen
  /// A runner is started with the load, and again with the next.
  [[nodiscard]] int engine() const;

 private:
  ServerPlace place_;
  std::string needle_;
};

struct PassPlan {
  Micros timeout{};
  llama_cpp::Prompting prompting;
};

class ServerPassRunner {
 public:
  ServerPassRunner(PassPlan plan, servers::Server& server, os::HttpClient& client,
                   Progress& progress, MeterRecorder& meters, const ServerProcesses& processes);

  /// The first try whose request the server takes. An answer that did not come to its end, or holds
  /// no text, is an error.
  [[nodiscard]] Result<RawPass> run(int number);
  /// What was read in the last request's answer.
  [[nodiscard]] const ServerAnswer& answer() const { return answer_; }

 private:
  Result<RawPass> run_once(int number);
  Result<> send(const servers::Call& call, RawPass& pass, RawExchange& exchange);
  [[nodiscard]] Error failure(Error error, const RawExchange& exchange) const;

  PassPlan plan_;
  servers::Server& server_;
  os::HttpClient& client_;
  Progress& progress_;
  MeterRecorder& meters_;
  const ServerProcesses& processes_;
  std::uint32_t run_id_;
  ServerAnswer answer_;
  bool refused_ = false;  // the server did not like the last request itself
};

}  // namespace picchio
