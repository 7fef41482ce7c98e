// From a server's address or a tag of ollama's to a measured run.
#pragma once

#include "base/result.h"
#include "commands/measure_server.h"
#include "commands/target.h"

#include <string>

namespace picchio {

struct ServerOptions {
  std::string model;  // --model; of a tag the tag
  std::string api_key;
  int passes = 3;
  Micros timeout{};
  std::optional<double> meter_hz;
};

/// As given with --api-key, else by PICCHIO_API_KEY; empty: none.
[[nodiscard]] std::string api_key_or_environment(const std::string& given);

/// Who answers at the target's address; of a tag, ollama. No model is asked for.
[[nodiscard]] Result<servers::DetectedServer> detect_target(const Target& target,
                                                            const std::string& api_key,
                                                            os::HttpClient& client);

/// The same as what to measure; tells who was found.
[[nodiscard]] Result<ServerRequest> server_request(const Target& target,
                                                   const ServerOptions& options,
                                                   os::HttpClient& client, Progress& progress);

/// Of an error: a tag's form may have been meant as an address.
[[nodiscard]] Error with_address_hint(Error error, const Target& target);

/// `target` is a server's or an ollama model. Errors say which of the three the word was taken for,
/// and what was tried.
[[nodiscard]] Result<RawRun> diagnose_server(const Target& target, const ServerOptions& options,
                                             os::Interrupts& interrupts, Progress& progress,
                                             const PassSink& sink);

}  // namespace picchio
