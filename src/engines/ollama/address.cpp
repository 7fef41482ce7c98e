#include "engines/ollama/address.h"

#include "base/text.h"
#include "os/file.h"
#include "os/remote_name.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace picchio::ollama {
namespace {

struct Scheme {
  std::string_view start;
  std::string_view name;
  int port;
};

constexpr int kUsualPort = 11434;
constexpr std::array kSchemes = {Scheme{"http://", "http", 80}, Scheme{"https://", "https", 443}};

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  while (!text.empty() && (text.front() == '"' || text.front() == '\'')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == '"' || text.back() == '\'')) text.remove_suffix(1);
  return trim(text);
}

struct HostPort {
  std::string_view host;  // without brackets
  std::optional<std::string_view> port;
};

HostPort host_and_port(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return {text.substr(1), std::nullopt};
    std::string_view rest = text.substr(close + 1);
    if (!take_prefix(rest, ":")) return {text.substr(1, close - 1), std::nullopt};
    return {text.substr(1, close - 1), rest};
  }
  const auto colon = text.find(':');
  // Two of them without brackets: an IPv6 address alone.
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return {text, std::nullopt};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// A client cannot connect to "any address"; ollama's own goes to loopback.
std::string_view reachable(std::string_view host) {
  if (host.empty() || host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

// What could make another URL of it than the one that is meant.
bool is_host(std::string_view host) {
  for (const char c : host) {
    const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
    if (!good) return false;
  }
  return true;
}

}  // namespace

Result<std::string> base_url(std::string_view ollama_host) {
  std::string_view text = unquoted(ollama_host);
  Scheme scheme{"", "http", kUsualPort};
  for (const Scheme& each : kSchemes) {
    if (take_prefix(text, each.start)) scheme = each;
  }
  const auto slash = text.find('/');
  std::string_view path = slash == std::string_view::npos ? "" : text.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  const HostPort given = host_and_port(text.substr(0, slash));
  const std::string_view host = reachable(given.host);
  if (scheme.start.empty() && host == "ollama.com") scheme = kSchemes[1];
  if (!is_host(host) || text.contains("://") || path.find_first_of(" ?#") != path.npos) {
    return fail(ErrorKind::malformed, "OLLAMA_HOST '{}' is no address",
                fit(plain(os::without_secrets(ollama_host)), 80));
  }
  int port = scheme.port;
  if (given.port) {
    const auto number = parse_int(*given.port);
    port = number && *number >= 0 && *number <= 65535 ? static_cast<int>(*number) : kUsualPort;
  }
  const bool ipv6 = host.contains(':');
  return fmt::format("{}://{}{}{}:{}{}", scheme.name, ipv6 ? "[" : "", host, ipv6 ? "]" : "", port,
                     path);
}

Result<std::string> base_url() { return base_url(os::env("OLLAMA_HOST").value_or("")); }

}  // namespace picchio::ollama
