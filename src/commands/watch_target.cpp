#include "commands/watch_target.h"

#include "base/text.h"
#include "engines/ollama/address.h"
#include "machine/port_owner.h"
#include "os/identity.h"
#include "os/proc.h"
#include "os/remote_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace picchio {
namespace {

constexpr const char* kWhat =
    "a target is a pid, 'ollama', or an address such as http://localhost:8080 or :8080";

std::unexpected<Error> no_address(std::string_view text) {
  return with_hint(fail(ErrorKind::unsupported, "'{}' is no process and no address",
                        fit(plain(os::without_secrets(text)), 80)),
                   kWhat);
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_host_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '_' ||
         c == ':';
}

struct HostAndPort {
  std::string_view host;
  std::string_view port;  // empty: none given
};

/// "host", "host:port", ":port", "[v6]" and "[v6]:port"; empty for what has other brackets.
std::optional<HostAndPort> host_and_port(std::string_view text) {
  if (!take_prefix(text, "[")) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return HostAndPort{text, ""};
    return HostAndPort{text.substr(0, colon), text.substr(colon + 1)};
  }
  const auto close = text.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  const HostAndPort out{text.substr(0, close), text.substr(close + 1)};
  if (!out.host.contains(':')) return std::nullopt;
  if (out.port.empty()) return out;
  if (!out.port.starts_with(':')) return std::nullopt;
  return HostAndPort{out.host, out.port.substr(1)};
}

std::string shown(const ServerAddress& address) {
  const bool ipv6 = address.host.contains(':');
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", address.host, ipv6 ? "]" : "", address.port);
}

bool is_own_name(std::string_view host) {
  const std::string own = lower(os::host_name());
  return !own.empty() && (host == own || host == own.substr(0, own.find('.')));
}

Result<LocalEndpoint> endpoint_of(const ServerAddress& address) {
  if (address.host.empty() || address.host == "localhost" || address.host.ends_with(".localhost")) {
    if (const auto found = parse_loopback(fmt::format("localhost:{}", address.port))) return *found;
  }
  // A client of "any address" goes to loopback.
  const std::string host = address.host == "0.0.0.0" ? "127.0.0.1"
                           : address.host == "::"    ? "::1"
                                                     : address.host;
  const std::vector<std::string> own = os::own_addresses();
  const bool loopback = host.starts_with("127.") || host == "::1";
  if (loopback || std::ranges::find(own, host) != own.end()) {
    if (const auto found = endpoint_of_address(host, address.port)) return *found;
  }
  if (is_own_name(host)) {
    // Its name may stand for any of its addresses.
    for (const std::string& each : own) {
      const auto endpoint = endpoint_of_address(each, address.port);
      if (endpoint && !port_holders("/", *endpoint).pids.empty()) return *endpoint;
    }
    if (const auto found = parse_loopback(fmt::format("localhost:{}", address.port))) return *found;
  }
  return with_hint(
      fail(ErrorKind::unsupported, "'{}' is not this machine", fit(plain(address.host), 80)),
      "watch it there; nothing of another machine's meters can be read from here");
}

Result<WatchTarget> server_target(const ServerAddress& address) {
  const Result<LocalEndpoint> endpoint = endpoint_of(address);
  if (!endpoint) return std::unexpected(endpoint.error());
  const Result<int> pid = server_of("/", port_holders("/", *endpoint), address.port);
  if (!pid) return std::unexpected(pid.error());
  return WatchTarget{.pid = *pid, .name = "", .found_by = "it listens on " + shown(address)};
}

Result<WatchTarget> ollama_target() {
  const Result<std::string> url = ollama::base_url();
  if (!url) return std::unexpected(url.error());
  const Result<ServerAddress> address = parse_server_address(*url);
  if (!address) return std::unexpected(address.error());
  Result<WatchTarget> target = server_target(*address);
  if (!target && target.error().kind == ErrorKind::not_found) {
    return with_hint(fail(ErrorKind::not_found, "ollama does not listen on {}", shown(*address)),
                     "is it running? OLLAMA_HOST tells where it is sought");
  }
  return target;
}

}  // namespace

Result<ServerAddress> parse_server_address(std::string_view text) {
  std::string_view rest = trim(text);
  ServerAddress out;
  const bool http = take_prefix(rest, "http://");
  if (http) out.port = 80;
  const bool https = !http && take_prefix(rest, "https://");
  if (https) out.port = 443;
  if (http || https) rest = rest.substr(0, rest.find_first_of("/?#"));
  const auto parts = host_and_port(rest);
  if (!parts) return no_address(text);
  out.host = lower(parts->host);
  if (!parts->port.empty() || out.port == 0) {
    const auto number = all_digits(parts->port) ? parse_int(parts->port) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) return no_address(text);
    out.port = static_cast<int>(*number);
  }
  const bool nameless_url = (http || https) && out.host.empty();
  if (nameless_url || !std::ranges::all_of(out.host, is_host_character)) return no_address(text);
  return out;
}

ServerPlace find_server(const std::string& url) {
  const Result<ServerAddress> address = parse_server_address(url);
  if (!address) return {false, std::nullopt, address.error().message};
  const Result<LocalEndpoint> endpoint = endpoint_of(*address);
  if (!endpoint) return {false, std::nullopt, "it runs on another machine"};
  const Result<int> pid = server_of("/", port_holders("/", *endpoint), address->port);
  if (pid) return {true, *pid, ""};
  // Whoever only passes on may pass on to anywhere.
  return {pid.error().kind == ErrorKind::denied, std::nullopt, pid.error().message};
}

Result<WatchTarget> resolve_watch_target(const std::string& word) {
  if (word == "ollama") return ollama_target();
  if (all_digits(word)) {
    constexpr std::int64_t kMaxPid = 1 << 22;  // the kernel's own limit
    const auto pid = parse_int(word);
    if (!pid || *pid < 1 || *pid > kMaxPid) {
      return fail(ErrorKind::not_found, "there is no process {}", fit(word, 40));
    }
    if (*pid == os::own_pid()) return fail(ErrorKind::unsupported, "{} is picchio itself", *pid);
    // /proc answers to the number of a thread too, and no meter knows it.
    const auto process = os::process_of_thread("/", static_cast<int>(*pid));
    if (process && *process != *pid) {
      return with_hint(fail(ErrorKind::unsupported, "{} is a thread of process {}", *pid, *process),
                       fmt::format("picchio watch {}", *process));
    }
    return WatchTarget{.pid = static_cast<int>(*pid), .name = "", .found_by = ""};
  }
  const Result<ServerAddress> address = parse_server_address(word);
  if (!address) return std::unexpected(address.error());
  return server_target(*address);
}

}  // namespace picchio
