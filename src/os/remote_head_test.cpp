#include "os/remote_head.h"

#include "os/loopback_server.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace picchio::os {
namespace {

using Answer = LoopbackServer::Answer;
using Request = LoopbackServer::Request;
using Then = LoopbackServer::Then;
using namespace std::chrono_literals;

const std::string kDigest(64, 'a');

std::string made_up_file(std::size_t size) {
  std::string out;
  for (std::size_t i = 0; out.size() < size; ++i) out += fmt::format("{},", i);
  out.resize(size);
  return out;
}

std::pair<std::size_t, std::size_t> range_of(const Request& request) {
  unsigned long first = 0;
  unsigned long last = 0;
  EXPECT_EQ(std::sscanf(request.headers.at("range").c_str(), "bytes=%lu-%lu", &first, &last), 2);
  return {first, last};
}

/// What a server with Range support says.
Answer part_of(const std::string& file, const Request& request, const std::string& headers = "") {
  auto [first, last] = range_of(request);
  if (first >= file.size()) {
    return LoopbackServer::reply("416 Range Not Satisfiable",
                                 fmt::format("content-range: bytes */{}\r\n", file.size()), "");
  }
  last = std::min(last, file.size() - 1);
  return LoopbackServer::reply(
      "206 Partial Content",
      fmt::format("content-range: bytes {}-{}/{}\r\n{}", first, last, file.size(), headers),
      std::string_view(file).substr(first, last - first + 1));
}

Result<RemoteHead> open(const std::string& url, std::string token = "", bool on_hub = false,
                        HttpDeadlines deadlines = {}) {
  auto client = HttpClient::open({.user_agent = "picchio/test", .ca_file = ""}, nullptr);
  return RemoteHead::open(
      *std::move(client),
      {.url = url, .shown = "x.gguf", .token = std::move(token), .on_hub = on_hub}, deadlines);
}

std::string text_of(const RemoteHead& head) {
  const auto bytes = head.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(RemoteHead, GrowsWithoutFetchingAnythingTwice) {
  const std::string file = made_up_file(20'000'000);
  LoopbackServer server([&](const Request& request) { return part_of(file, request); });
  auto head = open(server.url("/x.gguf"));
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->bytes().size(), 16384U);
  EXPECT_EQ(head->file_bytes(), 20'000'000);
  // As a reader does that knows at each step only that it needs a little more.
  constexpr std::size_t kHeader = 11'000'000;
  for (std::size_t need = 1; need <= kHeader; need += 4099) {
    ASSERT_TRUE(head->grow(need));
    ASSERT_GE(head->bytes().size(), need);
  }
  EXPECT_EQ(text_of(*head) == file.substr(0, head->bytes().size()), true);
  EXPECT_EQ(head->transferred(), static_cast<std::int64_t>(head->bytes().size()));
  EXPECT_LT(head->transferred(), std::int64_t{2} * static_cast<std::int64_t>(kHeader));
  const auto requests = server.requests();
  EXPECT_LT(requests.size(), 20U);
  std::size_t next = 0;
  for (const Request& each : requests) {
    const auto [first, last] = range_of(each);
    EXPECT_EQ(first, next);
    next = last + 1;
    EXPECT_EQ(each.connection, 1);
    EXPECT_EQ(each.headers.at("accept-encoding"), "identity");
    EXPECT_FALSE(each.headers.contains("authorization"));
  }
}

TEST(RemoteHead, ASmallFileIsThereAtOnce) {
  const std::string file = made_up_file(5000);
  LoopbackServer server([&](const Request& request) { return part_of(file, request); });
  auto head = open(server.url("/x.gguf"));
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(text_of(*head), file);
  EXPECT_TRUE(head->grow(5000));
  const auto more = head->grow(5001);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "'x.gguf' ends after 5000 bytes, 5001 are needed");
  EXPECT_EQ(head->grow(RemoteHead::kMostBytes + 1).error().message,
            "the header of 'x.gguf' is larger than 256.0 MiB");
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(RemoteHead, ASizeThatNobodyTells) {
  const std::string file = made_up_file(17000);
  LoopbackServer server([&](const Request& request) {
    Answer out = part_of(file, request);
    if (const auto at = out.bytes.find("/17000"); at != std::string::npos) {
      out.bytes.replace(at, 6, "/*");
    }
    return out;
  });
  auto head = open(server.url("/x.gguf"));
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->file_bytes(), std::nullopt);
  EXPECT_TRUE(head->grow(17000));
  EXPECT_EQ(text_of(*head), file);
  EXPECT_FALSE(head->grow(17001));
}

// ---- The hub: a redirect with the file's size and digest, to another origin.

TEST(RemoteHead, FollowsTheHubAndKeepsItsToken) {
  const std::string file = made_up_file(100'000);
  LoopbackServer store(
      [&](const Request& request) { return part_of(file, request, "etag: \"other kind\"\r\n"); });
  LoopbackServer hub([&](const Request&) {
    return LoopbackServer::reply(
        "302 Found",
        fmt::format("location: {}\r\nx-linked-etag: \"{}\"\r\nx-linked-size: 100000\r\n",
                    store.url("/blob?signature=1"), kDigest),
        "Found");
  });
  auto head = open(hub.url("/o/r/resolve/main/x.gguf"), "secret", true);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->server_digest(), kDigest);
  EXPECT_EQ(head->file_bytes(), 100'000);
  ASSERT_TRUE(head->grow(90'000));
  EXPECT_EQ(text_of(*head), file.substr(0, head->bytes().size()));
  ASSERT_EQ(hub.requests().size(), 1U);
  EXPECT_EQ(hub.requests()[0].headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(store.requests().size(), 2U);
  for (const Request& each : store.requests()) {
    EXPECT_FALSE(each.headers.contains("authorization"));
    EXPECT_EQ(each.target, "/blob?signature=1");
  }
}

TEST(RemoteHead, AsksTheHubAgainWhenASignatureHasEnded) {
  const std::string file = made_up_file(100'000);
  int good = 1;
  LoopbackServer store([&](const Request& request) {
    if (request.target == fmt::format("/blob?{}", good)) return part_of(file, request);
    return LoopbackServer::reply("403 Forbidden", "", "expired");
  });
  LoopbackServer hub([&](const Request&) {
    return LoopbackServer::reply(
        "302 Found", fmt::format("location: {}\r\n", store.url(fmt::format("/blob?{}", good))), "");
  });
  auto head = open(hub.url("/x.gguf"), "secret", true);
  ASSERT_TRUE(head) << head.error().message;
  good = 2;
  ASSERT_TRUE(head->grow(20'000));
  EXPECT_EQ(text_of(*head), file.substr(0, head->bytes().size()));
  EXPECT_EQ(hub.requests().size(), 2U);
  EXPECT_EQ(hub.requests()[1].headers.at("authorization"), "Bearer secret");
}

TEST(RemoteHead, OnlyASha256IsADigest) {
  const std::string file = made_up_file(10);
  for (const std::string& tag :
       {std::string("\"abc\""), std::string(), std::string("\"") + std::string(64, 'g') + "\""}) {
    LoopbackServer server([&](const Request& request) {
      return part_of(file, request, "x-linked-etag: " + tag + "\r\n");
    });
    const auto head = open(server.url("/"));
    ASSERT_TRUE(head) << head.error().message;
    EXPECT_EQ(head->server_digest(), std::nullopt) << tag;
  }
}

// ---- Servers that do not do it, or lie. Bodies that follow are never read: the server stalls.

struct Refusal {
  const char* what;
  const char* head;  // status line and headers
  const char* sentence;
};

constexpr Refusal kRefusals[] = {
    {"no ranges", "200 OK\r\ncontent-length: 5368709120\r\n",
     "HOST sends whole files only (no Range support), so the header alone cannot be read from it"},
    {"no ranges, no length", "200 OK\r\n",
     "HOST sends whole files only (no Range support), so the header alone cannot be read from it"},
    {"empty", "200 OK\r\ncontent-length: 0\r\n", "the file at HOST is empty"},
    {"empty with ranges", "416 X\r\ncontent-range: bytes */0\r\ncontent-length: 0\r\n",
     "the file at HOST is empty"},
    {"absent", "404 X\r\ncontent-length: 9\r\n",
     "cannot read 'x.gguf': HOST answers 404 not found"},
    {"gated", "401 X\r\ncontent-length: 9\r\n",
     "cannot read 'x.gguf': HOST answers 401 unauthorized"},
    {"broken", "500 X\r\ncontent-length: 9\r\n",
     "cannot read 'x.gguf': HOST answers 500 internal server error"},
    {"not modified", "304 X\r\n\r\n", "cannot read 'x.gguf': HOST answers 304"},
    {"no content-range", "206 X\r\ncontent-length: 16384\r\n",
     "HOST answers a Range request wrongly: 206 without Content-Range"},
    {"multipart", "206 X\r\ncontent-type: multipart/byteranges; boundary=x\r\n",
     "HOST answers a Range request wrongly: 206 without Content-Range"},
    {"compressed", "206 X\r\ncontent-encoding: gzip\r\ncontent-range: bytes 0-16383/99999\r\n",
     "HOST answers a Range request wrongly: it is encoded ('gzip')"},
    {"another begin", "206 X\r\ncontent-range: bytes 1-16384/99999\r\n",
     "HOST answers a Range request wrongly: asked for bytes 0-16383, Content-Range is 'bytes "
     "1-16384/99999'"},
    {"too much", "206 X\r\ncontent-range: bytes 0-16384/99999\r\n",
     "HOST answers a Range request wrongly: asked for bytes 0-16383, Content-Range is 'bytes "
     "0-16384/99999'"},
    {"too little", "206 X\r\ncontent-range: bytes 0-16382/99999\r\n",
     "HOST answers a Range request wrongly: asked for bytes 0-16383, Content-Range is 'bytes "
     "0-16382/99999'"},
    {"past its own end", "206 X\r\ncontent-range: bytes 0-16383/100\r\n",
     "HOST answers a Range request wrongly: asked for bytes 0-16383, Content-Range is 'bytes "
     "0-16383/100'"},
    {"another length", "206 X\r\ncontent-range: bytes 0-16383/99999\r\ncontent-length: 7\r\n",
     "HOST answers a Range request wrongly: 7 bytes under a Content-Range of 'bytes "
     "0-16383/99999'"},
    {"garbage", "206 X\r\ncontent-range: bytes \x1b[31m-5/x\r\n",
     "HOST answers a Range request wrongly: Content-Range is 'bytes -5/x'"},
    {"negative", "206 X\r\ncontent-range: bytes 0-16383/-1\r\n",
     "HOST answers a Range request wrongly: Content-Range is 'bytes 0-16383/-1'"},
    {"backwards", "206 X\r\ncontent-range: bytes 5-4/99999\r\n",
     "HOST answers a Range request wrongly: Content-Range is 'bytes 5-4/99999'"},
    {"overflow", "206 X\r\ncontent-range: bytes 0-9223372036854775807/*\r\n",
     "HOST answers a Range request wrongly: Content-Range is 'bytes 0-9223372036854775807/*'"},
    {"redirect away", "302 X\r\nlocation: http://localhost:1/\r\ncontent-length: 0\r\n",
     "HOST redirects to http://localhost:1, which is not followed: it is another host"},
};

TEST(RemoteHead, RefusesOtherAnswers) {
  for (const Refusal& each : kRefusals) {
    LoopbackServer server([&](const Request&) {
      return Answer{fmt::format("HTTP/1.1 {}\r\n", each.head), Then::stall};
    });
    const auto head = open(server.url("/x.gguf"));
    ASSERT_FALSE(head) << each.what;
    std::string wanted = each.sentence;
    wanted.replace(wanted.find("HOST"), 4, server.host());
    EXPECT_EQ(head.error().message, wanted) << each.what;
  }
}

TEST(RemoteHead, ABodyThatNeverComes) {
  LoopbackServer server([](const Request&) {
    return Answer{"HTTP/1.1 206 X\r\ncontent-range: bytes 0-16383/99999\r\n\r\n", Then::stall};
  });
  const auto head = open(server.url("/"), "", false, {.stall = 200ms});
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().kind, ErrorKind::timed_out);
  EXPECT_EQ(head.error().message,
            server.host() + " stopped in the middle of its answer and sent nothing within 0.2 s");
}

TEST(RemoteHead, ABodyShorterThanItsRange) {
  LoopbackServer server([](const Request&) {
    return Answer{"HTTP/1.1 206 X\r\ncontent-range: bytes 0-16383/99999\r\n\r\nabc", Then::close};
  });
  const auto head = open(server.url("/"));
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().message,
            server.host() + " answers a Range request wrongly: 3 bytes instead of 16384");
}

TEST(RemoteHead, AFileThatChangesMeanwhile) {
  for (const bool size_changes : {true, false}) {
    std::string file = made_up_file(100'000);
    std::string etag = "etag: \"1\"\r\n";
    LoopbackServer server([&](const Request& request) { return part_of(file, request, etag); });
    auto head = open(server.url("/"));
    ASSERT_TRUE(head) << head.error().message;
    ASSERT_TRUE(head->grow(20'000));
    if (size_changes) {
      file += "x";
    } else {
      etag = "etag: \"2\"\r\n";
    }
    const auto grown = head->grow(50'000);
    ASSERT_FALSE(grown);
    EXPECT_EQ(grown.error().message,
              fmt::format("the file at {} changed while it was read", server.host()));
  }
}

TEST(RemoteHead, TheHubsRefusalsHaveAWayOut) {
  struct Case {
    const char* status;
    const char* token;
    const char* hint;
  };
  for (const Case& each :
       {Case{"401 Unauthorized", "", "HF_TOKEN; a repository that does not exist"},
        Case{"403 Forbidden", "", "wants a token in HF_TOKEN"},
        Case{"403 Forbidden", "sesame", "the token in HF_TOKEN gives no access"},
        Case{"404 Not Found", "", "check the file's name"}}) {
    LoopbackServer server(
        [&](const Request&) { return LoopbackServer::reply(each.status, "", "<html>"); });
    const auto head = open(server.url("/"), each.token, true);
    ASSERT_FALSE(head);
    EXPECT_TRUE(head.error().hint.contains(each.hint)) << head.error().hint;
    EXPECT_FALSE(head.error().message.contains("sesame") || head.error().hint.contains("sesame"));
    EXPECT_EQ(server.requests().size(), 1U);
  }
}

}  // namespace
}  // namespace picchio::os
