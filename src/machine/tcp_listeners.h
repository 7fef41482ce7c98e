// Listening TCP sockets from the text of /proc/net/tcp and tcp6. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Where a client on this machine connects to.
struct LocalEndpoint {
  bool ipv4 = false;  // "localhost" may mean either
  bool ipv6 = false;
  std::string ipv4_address;  // as /proc/net/tcp prints it
  std::string ipv6_address;  // as tcp6 does
  int port = 0;
};

/// "127.0.0.1:50052", "localhost:50052", "[::1]:50052"; nullopt for every other host.
[[nodiscard]] std::optional<LocalEndpoint> parse_loopback(std::string_view endpoint);

/// Of any literal address, IPv6 without brackets ("192.168.1.5", "fe80::1"); nullopt for a name.
/// Whether it is this machine's, the caller knows.
[[nodiscard]] std::optional<LocalEndpoint> endpoint_of_address(std::string_view address, int port);

struct ListeningSocket {
  std::string inode;
  int uid = 0;  // whose it is: told also where the process that holds it cannot be seen
};

/// The sockets that such a client can reach. `text` is that of tcp or of tcp6.
[[nodiscard]] std::vector<ListeningSocket> listening_sockets(std::string_view text,
                                                             const LocalEndpoint& endpoint);
[[nodiscard]] std::vector<std::string> listener_inodes(std::string_view text,
                                                       const LocalEndpoint& endpoint);

}  // namespace picchio
