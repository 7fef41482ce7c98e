// Which process serves a port of this machine.
#pragma once

#include "base/result.h"
#include "machine/tcp_listeners.h"

#include <string>
#include <vector>

namespace picchio {

/// What /proc tells of those who listen there.
struct PortHolders {
  std::vector<int> pids;         // processes that hold such a socket, ascending
  std::vector<int> hidden_uids;  // owners of sockets whose holder may not be seen, each once
};
[[nodiscard]] PortHolders port_holders(const std::string& root, const LocalEndpoint& endpoint);

/// The one process whose tree serves the port: of a parent and the children that it shares the
/// socket with, the parent; a service manager that only opened the socket does not count. `port`
/// is for the sentences. Errors: nobody listens, several do, the holder cannot be seen, or it only
/// passes on what another process serves (docker-proxy, ssh); each says what to do.
[[nodiscard]] Result<int> server_of(const std::string& root, const PortHolders& holders, int port);

/// Whether a program of this name takes connections for others to answer.
[[nodiscard]] bool only_forwards(std::string_view comm);

}  // namespace picchio
