// Listening TCP sockets from the text of /proc/net/tcp and tcp6. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Where a client on this machine connects to.
struct LoopbackEndpoint {
  bool ipv4 = false;  // "localhost" may mean either
  bool ipv6 = false;
  std::string ipv4_address;  // as /proc/net/tcp prints it
  int port = 0;
};

/// "127.0.0.1:50052", "localhost:50052", "[::1]:50052"; nullopt for every other host.
[[nodiscard]] std::optional<LoopbackEndpoint> parse_loopback(std::string_view endpoint);

/// Inodes of the sockets that such a client can reach. `text` is that of tcp or of tcp6.
[[nodiscard]] std::vector<std::string> listener_inodes(std::string_view text,
                                                       const LoopbackEndpoint& endpoint);

}  // namespace picchio
