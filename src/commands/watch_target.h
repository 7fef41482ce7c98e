// What the word behind `picchio watch` means: a process of this machine.
#pragma once

#include "base/result.h"
#include "evidence/watched.h"

#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// Where a server listens, as people write it.
struct ServerAddress {
  std::string host;  // lower case, IPv6 without brackets; empty: this machine
  int port = 0;
};

/// "http://localhost:8080/v1", "https://[::1]", "localhost:8080", "192.168.1.5:8080", ":8080". An
/// error for everything else. Pure.
[[nodiscard]] Result<ServerAddress> parse_server_address(std::string_view text);

/// Whose machine answers at `url`, and which of its processes.
struct ServerPlace {
  bool this_machine = false;
  std::optional<int> pid;  // absent: it may not be seen; or another machine
  std::string why_not;     // why there is no pid; empty: there is one
};
[[nodiscard]] ServerPlace find_server(const std::string& url);

/// A pid, "ollama" or an address. The name of the process is filled in by whoever watches it.
[[nodiscard]] Result<WatchTarget> resolve_watch_target(const std::string& word);

}  // namespace picchio
