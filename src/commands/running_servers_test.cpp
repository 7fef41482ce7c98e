#include "commands/running_servers.h"

#include "os/clock.h"
#include "os/loopback_server.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace picchio {
namespace {

using os::LoopbackServer;
using Urls = std::vector<std::string>;

constexpr std::string_view kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";

std::string tcp_line(std::string_view local, std::string_view state) {
  return fmt::format(
      "   0: {} 00000000:0000 {} 00000000:00000000 00:00000000 00000000     0        0 11 1 0\n",
      local, state);
}

TEST(RunningServers, AreSoughtWhereSomebodyListens) {
  // 8080 = 1F90, 1234 = 04D2, 8000 = 1F40, 5000 = 1388
  const std::string tcp = std::string(kHead) + tcp_line("0100007F:1F90", "0A") +
                          tcp_line("00000000:04D2", "0A") +
                          tcp_line("0100007F:1F40", "01") +  // a connection, nobody listens
                          tcp_line("0501A8C0:1388", "0A");   // on another address only
  const std::array ports = {8080, 1234, 8000, 5000, 5001};
  EXPECT_EQ(listening_urls(tcp, std::nullopt, ports),
            (Urls{"http://127.0.0.1:8080", "http://127.0.0.1:1234"}));
  const std::string tcp6 = std::string(kHead) +
                           tcp_line("00000000000000000000000000000000:1F40", "0A") +
                           tcp_line("00000000000000000000000001000000:1389", "0A");
  EXPECT_EQ(listening_urls(std::nullopt, tcp6, ports),
            (Urls{"http://127.0.0.1:8000", "http://[::1]:5001"}));
  EXPECT_EQ(listening_urls("", "", ports), Urls{});
  EXPECT_EQ(listening_urls(std::nullopt, std::nullopt, std::array{8080}),
            Urls{"http://127.0.0.1:8080"});
}

LoopbackServer::Answer answer_of_ollama(const LoopbackServer::Request& request) {
  if (request.target == "/") return LoopbackServer::reply("200 OK", "", "Ollama is running");
  if (request.target == "/api/version") {
    return LoopbackServer::reply("200 OK", "", R"({"version":"0.33.0"})");
  }
  if (request.target == "/api/tags") {
    return LoopbackServer::reply("200 OK", "", R"({"models":[{"name":"tiny:1b","size":7}]})");
  }
  return LoopbackServer::reply("404 Not Found", "", "404 page not found");
}

TEST(RunningServers, OfOllamaGiveTheirTagsWhereTagsGo) {
  LoopbackServer server(answer_of_ollama);
  const std::array ports = {server.port()};
  const std::string url = "http://" + server.host();
  for (const bool usual : {true, false}) {
    const auto found = find_running_servers(
        usual ? std::span<const int>(ports) : std::span<const int>(), url, nullptr);
    EXPECT_TRUE(found.tags_told);
    ASSERT_EQ(found.tags.size(), 1U);
    EXPECT_EQ(found.tags.front().tag, "tiny:1b");
    EXPECT_TRUE(found.servers.empty());
  }
  // Another one is a server like the others.
  const auto other = find_running_servers(ports, "http://127.0.0.1:1", nullptr);
  EXPECT_FALSE(other.tags_told);
  ASSERT_EQ(other.servers.size(), 1U);
  EXPECT_EQ(other.servers.front().kind, ServerKind::ollama);
  EXPECT_EQ(other.servers.front().endpoint.base_url, url);
  EXPECT_EQ(other.servers.front().version, "0.33.0");
}

TEST(RunningServers, AreNotWaitedForTogetherNorForLong) {
  LoopbackServer ollama(answer_of_ollama);
  const auto silence = [](const LoopbackServer::Request&) {
    return LoopbackServer::Answer{"", LoopbackServer::Then::stall};
  };
  // Each answer comes at once and whole, but there are many: no question runs out of patience.
  const auto drip = [](const LoopbackServer::Request&) {
    LoopbackServer::Answer answer = LoopbackServer::reply("200 OK", "", std::string(15, 'x'));
    answer.piece = 20;
    answer.pause = std::chrono::milliseconds(50);
    return answer;
  };
  LoopbackServer first(silence);
  LoopbackServer second(silence);
  LoopbackServer third(drip);
  LoopbackServer web([](const LoopbackServer::Request&) {
    return LoopbackServer::reply("200 OK", "", "<html>It works</html>");
  });
  const std::array ports = {first.port(), second.port(), third.port(), web.port(), ollama.port()};
  const Micros began = os::monotonic_now();
  const auto found = find_running_servers(ports, "", nullptr);
  const Micros took = os::monotonic_now() - began;
  EXPECT_EQ(found.servers.size(), 1U);
  EXPECT_EQ(found.notes.size(), 3U);
  for (const std::string& note : found.notes) {
    EXPECT_TRUE(note.contains("did not answer")) << note;
  }
  // A third of a second on a machine that has nothing else to do.
  EXPECT_LT(took, std::chrono::seconds(2));
}

TEST(RunningServers, OnAClosedPortAreNone) {
  int port = 0;
  {
    LoopbackServer server(answer_of_ollama);
    port = server.port();
  }
  const auto found =
      find_running_servers(std::array{port}, fmt::format("http://127.0.0.1:{}", port), nullptr);
  EXPECT_TRUE(found.servers.empty());
  EXPECT_TRUE(found.notes.empty());
  EXPECT_FALSE(found.tags_told);
}

}  // namespace
}  // namespace picchio
