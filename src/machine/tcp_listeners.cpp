#include "machine/tcp_listeners.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace picchio {
namespace {

// The kernel prints an address as the machine's 32-bit words of its network-order bytes.
std::string kernel_word(const std::array<unsigned, 4>& bytes) {
  const bool little = std::endian::native == std::endian::little;
  return little ? fmt::format("{:02X}{:02X}{:02X}{:02X}", bytes[3], bytes[2], bytes[1], bytes[0])
                : fmt::format("{:02X}{:02X}{:02X}{:02X}", bytes[0], bytes[1], bytes[2], bytes[3]);
}

constexpr std::string_view kAnyIpv4 = "00000000";  // in either byte order

// Eight groups of 16 bits.
using Groups = std::array<unsigned, 8>;

std::string kernel_words(const Groups& groups) {
  std::string words;
  for (std::size_t i = 0; i < groups.size(); i += 2) {
    words += kernel_word(
        {groups[i] >> 8U, groups[i] & 0xFFU, groups[i + 1] >> 8U, groups[i + 1] & 0xFFU});
  }
  return words;
}

std::optional<std::vector<unsigned>> hex_groups(std::string_view text) {
  std::vector<unsigned> groups;
  if (text.empty()) return groups;
  for (const std::string_view part : split(text, ':')) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (part.empty() || part.size() > 4 || error != std::errc() ||
        end != part.data() + part.size()) {
      return std::nullopt;
    }
    groups.push_back(value);
  }
  return groups;
}

// "fe80::1" and kin; without a zone and without dots.
std::optional<Groups> ipv6_groups(std::string_view text) {
  const auto gap = text.find("::");
  const auto head = hex_groups(text.substr(0, gap));
  const auto tail =
      hex_groups(gap == std::string_view::npos ? std::string_view() : text.substr(gap + 2));
  if (!head || !tail) return std::nullopt;
  const std::size_t told = head->size() + tail->size();
  const bool fits = gap == std::string_view::npos ? told == 8 : told < 8;
  if (!fits) return std::nullopt;
  Groups groups{};
  std::ranges::copy(*head, groups.begin());
  std::ranges::copy_backward(*tail, groups.end());
  return groups;
}

std::optional<std::array<unsigned, 4>> ipv4_bytes(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  std::array<unsigned, 4> bytes{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto number = parse_int(parts[i]);
    if (!number || *number < 0 || *number > 255) return std::nullopt;
    bytes[i] = static_cast<unsigned>(*number);
  }
  return bytes;
}

// `address` from tcp (8 digits) or tcp6 (32).
bool serves(std::string_view address, const LocalEndpoint& endpoint) {
  const std::string zero(kAnyIpv4);
  if (address.size() == 8) {
    return endpoint.ipv4 && (address == zero || address == endpoint.ipv4_address);
  }
  if (address.size() != 32) return false;
  const std::string any_ipv6 = zero + zero + zero + zero;
  // An IPv6 wildcard takes IPv4 clients too, unless told not to, which is not shown: count it.
  if (address == any_ipv6) return true;
  if (endpoint.ipv6 && address == endpoint.ipv6_address) return true;
  const std::string mapped = zero + zero + kernel_word({0, 0, 0xFF, 0xFF});
  return endpoint.ipv4 && (address == mapped + endpoint.ipv4_address || address == mapped + zero);
}

}  // namespace

std::optional<LocalEndpoint> parse_loopback(std::string_view endpoint) {
  const auto colon = endpoint.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string host = lower(trim(endpoint.substr(0, colon)));
  const auto port = parse_int(endpoint.substr(colon + 1));
  if (!port || *port <= 0 || *port > 65535) return std::nullopt;
  LocalEndpoint out;
  out.port = static_cast<int>(*port);
  out.ipv6_address = kernel_words({0, 0, 0, 0, 0, 0, 0, 1});
  if (host == "localhost") {
    out.ipv4 = out.ipv6 = true;
    out.ipv4_address = kernel_word({127, 0, 0, 1});
    return out;
  }
  if (host == "::1" || host == "[::1]") {
    out.ipv6 = true;
    return out;
  }
  const auto bytes = ipv4_bytes(host);
  if (!bytes || (*bytes)[0] != 127) return std::nullopt;
  out.ipv4 = true;
  out.ipv4_address = kernel_word(*bytes);
  return out;
}

std::optional<LocalEndpoint> endpoint_of_address(std::string_view address, int port) {
  LocalEndpoint out;
  out.port = port;
  if (const auto bytes = ipv4_bytes(address)) {
    out.ipv4 = true;
    out.ipv4_address = kernel_word(*bytes);
    return out;
  }
  const auto groups = ipv6_groups(address);
  if (!address.contains(':') || !groups) return std::nullopt;
  out.ipv6 = true;
  out.ipv6_address = kernel_words(*groups);
  return out;
}

std::vector<ListeningSocket> listening_sockets(std::string_view text,
                                               const LocalEndpoint& endpoint) {
  // "  0: 0100007F:C3D4 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 123456 1 ..."
  std::vector<ListeningSocket> sockets;
  for (const std::string_view line : split_lines(text)) {
    const auto fields = split_blanks(line);
    if (fields.size() < 10 || fields[3] != "0A") continue;  // TCP_LISTEN
    const auto colon = fields[1].find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view digits = fields[1].substr(colon + 1);
    int port = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), port, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) continue;
    if (port == endpoint.port && serves(fields[1].substr(0, colon), endpoint)) {
      const auto uid = parse_int(fields[7]);
      sockets.push_back({std::string(fields[9]), static_cast<int>(uid.value_or(-1))});
    }
  }
  return sockets;
}

std::vector<std::string> listener_inodes(std::string_view text, const LocalEndpoint& endpoint) {
  std::vector<std::string> inodes;
  for (ListeningSocket& socket : listening_sockets(text, endpoint)) {
    inodes.push_back(std::move(socket.inode));
  }
  return inodes;
}

}  // namespace picchio
