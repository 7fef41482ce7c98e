// Who this process is, and by which names and addresses its machine is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace picchio::os {

[[nodiscard]] int own_pid();

/// "ollama"; absent for a number that the user database does not know.
[[nodiscard]] std::optional<std::string> user_name(int uid);

/// As the system was given it, with or without a domain; empty when it is not told.
[[nodiscard]] std::string host_name();

/// Addresses of this machine's network interfaces, loopback among them: "192.168.1.5",
/// "fe80::1" (no zone). Nobody is asked over the network.
[[nodiscard]] std::vector<std::string> own_addresses();

}  // namespace picchio::os
