// What answers at an address, by questions that change nothing.
#pragma once

#include "base/result.h"
#include "engines/servers/asker.h"
#include "evidence/server.h"
#include "os/http.h"

#include <string>

namespace picchio::servers {

struct DetectedServer {
  ServerKind kind = ServerKind::openai;
  Endpoint endpoint;     // base_url without what people paste behind it
  std::string version;   // empty: not told
  bool router = false;   // llama-server: it has several models and loads them on request
  bool loading = false;  // llama-server: it does not answer requests yet
};

/// The kind is what its answers show, never a status alone: some answer 200 to everything. At most
/// `patience` is waited for each of a dozen questions, and none is asked of a port that is closed.
/// Errors: nobody there, a server that says nothing, one that wants a key, one that is none of a
/// language model, a proxy for several (llama-swap), each with what to do.
[[nodiscard]] Result<DetectedServer> detect_server(os::HttpClient& client, const Endpoint& endpoint,
                                                   Micros patience);

}  // namespace picchio::servers
