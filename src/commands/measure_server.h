// Runs the passes of a protocol against a server that is running already and records them; judges
// nothing.
#pragma once

#include "base/result.h"
#include "commands/measure.h"
#include "commands/progress.h"
#include "engines/servers/server.h"
#include "evidence/run.h"
#include "os/http.h"
#include "os/signals.h"

#include <optional>

namespace picchio {

struct ServerRequest {
  servers::DetectedServer detected;
  std::string model;  // as asked for; empty: the one that it has
  int passes = 3;
  Micros timeout{};
  std::optional<double> meter_hz = kMeterHz;                     // absent: --no-telemetry
  std::optional<llama_cpp::Prompting> prompting = std::nullopt;  // absent: mp1's, as far as it fits
};

/// Of ollama and of a router the model is unloaded first, so that the first pass is cold. A pass
/// that fails ends the run; the server is left as it is, with no request of ours in it.
[[nodiscard]] Result<RawRun> measure_server(const ServerRequest& request, os::HttpClient& client,
                                            os::Interrupts& interrupts, Progress& progress,
                                            const PassSink& sink);

}  // namespace picchio
