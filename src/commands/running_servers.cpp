#include "commands/running_servers.h"

#include "base/text.h"
#include "base/worker.h"
#include "engines/ollama/address.h"
#include "machine/tcp_listeners.h"
#include "os/clock.h"
#include "os/file.h"
#include "version.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace picchio {
namespace {

constexpr std::array kPorts = {8080, 9931, 1234, 11434, 8000, 30000, 5001, 5000};
// A server on this machine answers in milliseconds; the client looks at its deadline ten times a
// second, so that it can be a tenth of a second late.
constexpr Micros kPatience{200'000};
constexpr std::int64_t kMostTableBytes = std::int64_t{16} << 20;

std::optional<std::string> table(const char* path) {
  auto text = os::read_file(path, kMostTableBytes);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

bool is_listened_on(const std::optional<std::string>& text, const std::string& endpoint) {
  const auto local = parse_loopback(endpoint);
  return text && local && !listening_sockets(*text, *local).empty();
}

/// One of them, asked in a thread of its own.
struct Asked {
  std::string url;
  os::HttpClient client;
  Result<servers::DetectedServer> server = fail(ErrorKind::failed, "");
  Result<std::vector<ollama::ServedTag>> tags = fail(ErrorKind::failed, "");
};

void ask(Asked& asked, const std::string& tags_from) {
  asked.server = servers::detect_server(asked.client, {asked.url, ""}, kPatience);
  const bool has_tags = asked.server && asked.server->kind == ServerKind::ollama;
  if (has_tags && asked.url == tags_from) {
    asked.tags = ollama::ask_served_tags(asked.client, asked.url, kPatience);
  }
}

void add(Asked& asked, RunningServers& out) {
  if (asked.tags) {
    out.tags_told = true;
    out.tags = *std::move(asked.tags);
    return;
  }
  if (asked.server) {
    out.servers.push_back(*std::move(asked.server));
    return;
  }
  const Error& error = asked.server.error();
  // Whatever else listens there is no affair of ours.
  if (error.kind == ErrorKind::timed_out || error.kind == ErrorKind::denied) {
    out.notes.push_back(error.message);
  }
}

}  // namespace

std::span<const int> usual_ports() { return kPorts; }

std::vector<std::string> listening_urls(const std::optional<std::string>& tcp,
                                        const std::optional<std::string>& tcp6,
                                        std::span<const int> ports) {
  std::vector<std::string> out;
  const bool unknown = !tcp && !tcp6;
  for (const int port : ports) {
    const std::string ipv4 = fmt::format("127.0.0.1:{}", port);
    const std::string ipv6 = fmt::format("[::1]:{}", port);
    // An IPv6 wildcard takes clients of IPv4 too.
    if (unknown || is_listened_on(tcp, ipv4) || is_listened_on(tcp6, ipv4)) {
      out.push_back("http://" + ipv4);
    } else if (is_listened_on(tcp6, ipv6)) {
      out.push_back("http://" + ipv6);
    }
  }
  return out;
}

std::string local_ollama() {
  const Result<std::string> url = ollama::base_url();
  std::string_view host = url ? std::string_view(*url) : "";
  if (!take_prefix(host, "http://")) return "";
  return parse_loopback(host.substr(0, host.find('/'))) ? *url : "";
}

RunningServers find_running_servers(std::span<const int> ports, const std::string& ollama,
                                    const os::Interrupts* interrupts) {
  const auto tcp = table("/proc/net/tcp");
  const auto tcp6 = table("/proc/net/tcp6");
  std::vector<std::string> urls = listening_urls(tcp, tcp6, ports);
  if (!ollama.empty() && std::ranges::find(urls, ollama) == urls.end()) {
    const std::string endpoint = ollama.substr(std::string_view("http://").size());
    const bool unknown = !tcp && !tcp6;
    if (unknown || is_listened_on(tcp, endpoint) || is_listened_on(tcp6, endpoint)) {
      urls.push_back(ollama);
    }
  }
  RunningServers out;
  const Micros give_up_at = os::monotonic_now() + kPatience;
  std::vector<Asked> all;
  for (std::string& url : urls) {
    auto client = os::HttpClient::open({.user_agent = fmt::format("picchio/{}", kVersion),
                                        .ca_file = "",
                                        .give_up_at = give_up_at},
                                       interrupts);
    if (!client) return out;  // no libcurl: a list without servers
    all.push_back({std::move(url), *std::move(client)});
  }
  {
    std::vector<std::unique_ptr<Worker>> workers;  // joined before the answers are looked at
    workers.reserve(all.size());
    for (Asked& each : all) {
      workers.push_back(std::make_unique<Worker>([&](StopSignal&) { ask(each, ollama); }));
    }
  }
  for (Asked& each : all) add(each, out);
  return out;
}

}  // namespace picchio
