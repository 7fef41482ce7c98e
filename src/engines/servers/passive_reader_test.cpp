#include "engines/servers/passive_reader.h"

#include "base/text.h"
#include "os/loopback_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace picchio::servers {
namespace {

using os::LoopbackServer;

os::HttpClient client() { return *os::HttpClient::open({"picchio/test", ""}, nullptr); }

DetectedServer at(const LoopbackServer& server, ServerKind kind = ServerKind::llama_server) {
  DetectedServer out;
  out.kind = kind;
  out.endpoint.base_url = server.url("");
  return out;
}

std::string counters(int tokens, double took, int running) {
  return fmt::format(
      "llamacpp:prompt_tokens_total 10\nllamacpp:prompt_seconds_total 1\n"
      "llamacpp:tokens_predicted_total {}\nllamacpp:tokens_predicted_seconds_total {}\n"
      "llamacpp:requests_processing {}\n",
      tokens, took, running);
}

TEST(PassiveReader, LooksAtCountersAndAtSlotsOnlyWhileItIsBusy) {
  std::atomic<int> looks = 0;
  const LoopbackServer server([&](const LoopbackServer::Request& request) {
    if (request.target == "/slots") {
      return LoopbackServer::reply(
          "200 OK", "",
          R"([{"id":0,"id_task":5,"is_processing":true,"next_token":[{"n_decoded":3}]}])");
    }
    const int look = looks++;
    return LoopbackServer::reply("200 OK", "", counters(look * 100, look * 2, look == 2 ? 1 : 0));
  });
  os::HttpClient http = client();
  auto reader = PassiveReader::open(at(server), http, "", Micros{2'000'000});
  ASSERT_TRUE(reader);
  const auto first = reader->look();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->first);
  const auto second = reader->look();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->first);
  EXPECT_EQ(second->end, ProbeEnd::answered);
  EXPECT_NEAR(second->decode.value(), 50, 1e-6);
  EXPECT_EQ(reader->look()->under_way, 1);
  reader->forget();
  EXPECT_TRUE(reader->look()->first);
  int slots = 0;
  for (const auto& request : server.requests()) {
    EXPECT_EQ(request.method, "GET");
    slots += request.target == "/slots" ? 1 : 0;
  }
  EXPECT_EQ(slots, 1);
}

TEST(PassiveReader, WhatNoLaterLookWouldMendIsAnErrorWithARemedy) {
  struct Case {
    ServerKind kind;
    const char* status;
    const char* body;
    const char* hint;
  };
  for (const Case& each :
       {Case{ServerKind::llama_server, "501 Not Implemented",
             R"({"error":{"code":501,"message":"not supported","type":"not_supported_error"}})",
             "--metrics"},
        Case{ServerKind::sglang, "404 Not Found", "", "--enable-metrics"},
        Case{ServerKind::vllm, "200 OK", "python_info 1\n", "--disable-log-stats"},
        Case{ServerKind::llama_server, "401 Unauthorized", "", "--api-key"}}) {
    const LoopbackServer server([&](const LoopbackServer::Request&) {
      return LoopbackServer::reply(each.status, "", each.body);
    });
    os::HttpClient http = client();
    auto reader = PassiveReader::open(at(server, each.kind), http, "", Micros{2'000'000});
    ASSERT_TRUE(reader);
    const auto reading = reader->look();
    ASSERT_FALSE(reading) << each.status;
    EXPECT_TRUE(reading.error().hint.contains(each.hint)) << reading.error().hint;
    EXPECT_FALSE(reading.error().message.contains('\n'));
  }
}

TEST(PassiveReader, ServersWithoutCounters) {
  const LoopbackServer server(
      [](const LoopbackServer::Request&) { return LoopbackServer::reply("200 OK", "", ""); });
  os::HttpClient http = client();
  for (const ServerKind kind : {ServerKind::ollama, ServerKind::lm_studio, ServerKind::mlx_lm}) {
    const auto reader = PassiveReader::open(at(server, kind), http, "", Micros{1'000'000});
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().kind, ErrorKind::unsupported);
    EXPECT_TRUE(reader.error().hint.contains("--passive"));
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST(PassiveReader, LoadingSilentAndGone) {
  std::atomic<int> looks = 0;
  os::HttpClient http = client();
  DetectedServer gone;
  {
    const LoopbackServer server([&](const LoopbackServer::Request&) -> LoopbackServer::Answer {
      switch (looks++) {
        case 0:
          return LoopbackServer::reply("200 OK", "", counters(0, 0, 0));
        case 1:
          return LoopbackServer::reply("503 Service Unavailable", "",
                                       R"({"error":{"code":503,"message":"Loading model"}})");
        case 2:
          return LoopbackServer::reply("500 Internal Server Error", "", "oops");
        case 3:
          return LoopbackServer::reply("200 OK", "", counters(300, 6, 0));
        default:
          return {"", LoopbackServer::Then::stall};
      }
    });
    gone = at(server);
    auto reader = PassiveReader::open(at(server), http, "", Micros{200'000});
    ASSERT_TRUE(reader);
    EXPECT_TRUE(reader->look()->first);
    const auto loading = reader->look();
    EXPECT_EQ(loading->end, ProbeEnd::loading);
    EXPECT_TRUE(loading->why.contains("Loading model")) << loading->why;
    EXPECT_EQ(reader->look()->end, ProbeEnd::failed);
    // Looks that failed lose nothing.
    EXPECT_NEAR(reader->look()->decode.value(), 50, 1e-6);
    EXPECT_EQ(reader->look()->end, ProbeEnd::failed);
  }
  auto reader = PassiveReader::open(gone, http, "", Micros{1'000'000});
  EXPECT_EQ(reader->look()->end, ProbeEnd::unreachable);
}

TEST(PassiveReader, ARoutersModelIsNotLoadedByALook) {
  std::atomic<int> looks = 0;
  const LoopbackServer server([&](const LoopbackServer::Request&) {
    if (looks++ == 1) {
      return LoopbackServer::reply(
          "400 Bad Request", "",
          R"({"error":{"code":400,"message":"model is not loaded","type":"invalid_request_error"}})");
    }
    return LoopbackServer::reply("200 OK", "", counters(200, 4, 0));
  });
  os::HttpClient http = client();
  DetectedServer router = at(server);
  router.router = true;
  EXPECT_FALSE(PassiveReader::open(router, http, "", Micros{1'000'000}));
  auto reader = PassiveReader::open(router, http, "a/b c", Micros{1'000'000});
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->look()->first);
  const auto unloaded = reader->look();
  ASSERT_TRUE(unloaded);
  EXPECT_EQ(unloaded->end, ProbeEnd::idle);
  EXPECT_EQ(unloaded->why, "the model is not loaded");
  // Loaded again, by another process: the same figures are all its own.
  EXPECT_EQ(reader->look()->generated_tokens, 200);
  EXPECT_EQ(server.requests().front().target, "/metrics?model=a%2Fb%20c&autoload=false");
}

}  // namespace
}  // namespace picchio::servers
