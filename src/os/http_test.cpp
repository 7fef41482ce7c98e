// The client against a server of the test's own, which never leaves 127.0.0.1.
#include "os/http.h"

#include "os/clock.h"
#include "os/loopback_server.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

namespace picchio::os {
namespace {

using Answer = LoopbackServer::Answer;
using Request = LoopbackServer::Request;
using Then = LoopbackServer::Then;
using namespace std::chrono_literals;

HttpClient client(const Interrupts* interrupts = nullptr) {
  return *HttpClient::open({.user_agent = "picchio/test", .ca_file = ""}, interrupts);
}

HttpRequest get(std::string url) {
  HttpRequest out;
  out.url = std::move(url);
  return out;
}

TEST(Http, GetsAnAnswer) {
  LoopbackServer server([](const Request&) {
    return LoopbackServer::reply("200 OK", "X-One: a b \r\nx-two:\r\n", "hello");
  });
  HttpClient http = client();
  const auto answer = http.send(get(server.url("/a%20b?c=d")));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->head.status, 200);
  EXPECT_EQ(answer->head.host, server.host());
  EXPECT_EQ(answer->head.header("x-one"), "a b");
  EXPECT_EQ(answer->head.header("x-two"), "");
  EXPECT_EQ(answer->head.header("x-three"), std::nullopt);
  EXPECT_EQ(answer->head.content_length(), 5);
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(http.received_bytes(), 5);
  const Request seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(seen.target, "/a%20b?c=d");
  EXPECT_EQ(seen.headers.at("user-agent"), "picchio/test");
}

TEST(Http, PostsABodyOnTheSameConnection) {
  LoopbackServer server(
      [](const Request& request) { return LoopbackServer::reply("200 OK", "", request.body); });
  HttpClient http = client();
  HttpRequest request = get(server.url("/"));
  request.headers = {{"Content-Type", "application/json"}, {"authorization", "Bearer k"}};
  for (const std::string& body : {std::string("{}"), std::string(3 << 20, 'x'), std::string()}) {
    request.post = body;
    const auto answer = http.send(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body == body, true) << body.size();
  }
  for (const Request& seen : server.requests()) {
    EXPECT_EQ(seen.method, "POST");
    EXPECT_EQ(seen.connection, 1);
    EXPECT_EQ(seen.headers.at("content-type"), "application/json");
    EXPECT_EQ(seen.headers.at("authorization"), "Bearer k");
    EXPECT_FALSE(seen.headers.contains("expect"));
  }
}

TEST(Http, AnyStatusIsAnAnswer) {
  LoopbackServer server([](const Request& request) {
    return LoopbackServer::reply(request.target.substr(1) + " Word", "location: /x\r\n", "why");
  });
  HttpClient http = client();
  for (const int status : {204, 301, 304, 401, 404, 416, 500, 599}) {
    const auto answer = http.send(get(server.url(fmt::format("/{}", status))));
    if (status == 204) {
      EXPECT_TRUE(answer) << answer.error().message;
      continue;  // has no body whatever its Content-Length says: the connection is spoilt
    }
    ASSERT_TRUE(answer) << status << answer.error().message;
    EXPECT_EQ(answer->head.status, status);
  }
}

TEST(Http, SpeaksIpv6) {
  LoopbackServer server([](const Request&) { return LoopbackServer::reply("200 OK", "", "6"); },
                        true);
  if (!server.listens()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  HttpClient http = client();
  const auto answer = http.send(get(server.url("/")));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "6");
  EXPECT_EQ(answer->head.host, server.host());
}

TEST(Http, TakesChunksAndAnInterimAnswer) {
  LoopbackServer server([](const Request&) {
    return Answer{
        "HTTP/1.1 103 Early Hints\r\nx-a: 1\r\n\r\nHTTP/1.1 200 OK\r\n"
        "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nx-late: 1\r\n\r\n",
        Then::keep, 7, 1ms};
  });
  HttpClient http = client();
  HttpRequest request = get(server.url("/"));
  const auto answer = http.send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "abcde");
  EXPECT_EQ(answer->head.status, 200);
  EXPECT_EQ(answer->head.header("x-a"), std::nullopt);
  EXPECT_EQ(answer->head.header("x-late"), std::nullopt);
  std::string streamed;
  request.on_data = [&](std::string_view bytes) -> Result<> {
    streamed += bytes;
    return {};
  };
  const auto again = http.send(request);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->body, "");
  EXPECT_EQ(streamed, "abcde");
}

// ---- Failures: a sentence that names the host.

struct BadAnswer {
  const char* what;
  Answer answer;
  ErrorKind kind;
  const char* sentence;  // "HOST" stands for the server
  // A short one only where it is what is tried: a busy machine must not fail the others.
  HttpDeadlines deadlines = {};
};

void expect_failures(const std::vector<BadAnswer>& cases) {
  for (const BadAnswer& each : cases) {
    LoopbackServer server([&](const Request&) { return each.answer; });
    HttpClient http = client();
    HttpRequest request = get(server.url("/"));
    request.max_body_bytes = 1024;
    request.deadlines = each.deadlines;
    const auto answer = http.send(request);
    ASSERT_FALSE(answer) << each.what;
    std::string wanted = each.sentence;
    wanted.replace(wanted.find("HOST"), 4, server.host());
    EXPECT_EQ(answer.error().message, wanted) << each.what;
    EXPECT_EQ(answer.error().kind, each.kind) << each.what;
  }
}

TEST(Http, BadAnswersAreSentences) {
  std::string endless = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 5000; ++i) endless += "x-header: " + std::string(90, 'y') + "\r\n";
  expect_failures({
      {"nothing",
       {"", Then::close},
       ErrorKind::failed,
       "HOST closed the connection without an answer"},
      {"garbage",
       {"\x01\x02 nonsense\n\n", Then::close},
       ErrorKind::malformed,
       "HOST does not speak HTTP"},
      {"cut body",
       {"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", Then::close},
       ErrorKind::failed,
       "HOST closed the connection in the middle of its answer"},
      {"announced too large",
       {"HTTP/1.1 200 OK\r\ncontent-length: 5368709120\r\n\r\nabc", Then::stall},
       ErrorKind::failed,
       "HOST answers with 5.00 GiB, more than the 1 KiB that are expected"},
      {"too large",
       {"HTTP/1.1 200 OK\r\n\r\n" + std::string(5000, 'x'), Then::stall},
       ErrorKind::failed,
       "HOST answers with more than the 1 KiB that are expected"},
      {"head without end",
       {endless, Then::stall},
       ErrorKind::malformed,
       "HOST sends headers without end"},
  });
}

TEST(Http, SlowAnswersAreSentences) {
  const HttpDeadlines first_byte{.first_byte = 200ms};
  const HttpDeadlines stall{.stall = 300ms};
  const HttpDeadlines overall{.overall = 400ms};
  const std::string head = "HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n";
  expect_failures({
      {"silence",
       {"", Then::stall},
       ErrorKind::timed_out,
       "HOST took the request and did not answer within 0.2 s",
       first_byte},
      {"stall",
       {head + "abc", Then::stall},
       ErrorKind::timed_out,
       "HOST stopped in the middle of its answer and sent nothing within 0.3 s",
       stall},
      {"stall in the head",
       {"HTTP/1.1 200 OK\r\n", Then::stall},
       ErrorKind::timed_out,
       "HOST stopped in the middle of its answer and sent nothing within 0.3 s",
       stall},
      {"drip",
       {head + std::string(999, 'x'), Then::keep, 1, 10ms},
       ErrorKind::timed_out,
       "HOST did not complete its answer within 0.4 s",
       overall},
  });
}

TEST(Http, OneDeadlineForAllRequestsOfAClient) {
  std::atomic<int> asked = 0;
  LoopbackServer server([&](const Request&) {
    return ++asked == 1 ? Answer{"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"}
                        : Answer{"", Then::stall};
  });
  const Micros give_up_at = monotonic_now() + 500ms;
  Result<HttpClient> http = HttpClient::open({"test", "", give_up_at}, nullptr);
  ASSERT_TRUE(http);
  EXPECT_TRUE(http->send(get(server.url("/"))));
  for (int i = 0; i < 2; ++i) {
    const auto late = http->send(get(server.url("/")));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, ErrorKind::timed_out);
    EXPECT_EQ(late.error().message, server.host() + " did not answer in time");
  }
  EXPECT_GE(monotonic_now(), give_up_at);
}

TEST(Http, AServerThatIsNotThere) {
  std::string url;
  std::string host;
  {
    LoopbackServer server([](const Request&) { return Answer{}; });
    url = server.url("/");
    host = server.host();
  }
  HttpClient http = client();
  const auto refused = http.send(get(url));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot connect to " + host + ": connection refused");
  // RFC 6761: no such name, and no resolver may ask anybody for it.
  const auto unknown = http.send(get("http://no-such-host.invalid/"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "cannot resolve the name of no-such-host.invalid");
  EXPECT_EQ(unknown.error().kind, ErrorKind::not_found);
}

TEST(Http, AListenerThatNeverAccepts) {
  // TLS needs an answer for a connection to stand; this server sends none.
  LoopbackServer server([](const Request&) { return Answer{"", Then::stall}; });
  HttpClient http = client();
  HttpRequest request = get("https://" + server.host() + "/");
  request.deadlines.connect = 200ms;
  const Micros began = monotonic_now();
  const auto answer = http.send(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, server.host() + " did not take the connection within 0.2 s");
  EXPECT_EQ(answer.error().kind, ErrorKind::timed_out);
  EXPECT_LT(monotonic_now() - began, 5s);
}

TEST(Http, TlsWithSomethingElse) {
  LoopbackServer server([](const Request&) { return Answer{"no TLS here\r\n", Then::close}; });
  HttpClient http = client();
  // The client's hello is no HTTP request, so the server waits; the deadline ends it, or the
  // library's complaint does. Either way no answer is taken.
  HttpRequest request = get("https://" + server.host() + "/");
  request.deadlines.connect = 200ms;
  EXPECT_FALSE(http.send(request));
}

TEST(Http, UrlsThatAreNone) {
  HttpClient http = client();
  for (const char* url :
       {"", "x", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http://a b/"}) {
    const auto answer = http.send(get(url));
    ASSERT_FALSE(answer) << url;
    EXPECT_EQ(answer.error().message, fmt::format("'{}' is not an http:// or https:// URL", url));
  }
  const auto port = http.send(get("http://me:pw@127.0.0.1:99999/"));
  EXPECT_EQ(port.error().message,
            "the port of '...@127.0.0.1:99999/' is not a number from 1 to 65535");
  const auto secret = http.send(get("gopher://user:pw@h/"));
  EXPECT_EQ(secret.error().message, "'...@h/' is not an http:// or https:// URL");
}

TEST(Http, AHeaderThatWouldBeTwo) {
  LoopbackServer server([](const Request&) { return LoopbackServer::reply("200 OK", "", ""); });
  HttpClient http = client();
  HttpRequest request = get(server.url("/"));
  request.headers = {{"authorization", "Bearer a\r\nx-evil: 1"}};
  const auto answer = http.send(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "the value for the header 'authorization' has a line end in it");
  EXPECT_TRUE(server.requests().empty());
}

// ---- Stopping.

TEST(Http, TheCallerStopsIt) {
  LoopbackServer server([](const Request&) { return Answer{"", Then::stall}; });
  HttpClient http = client();
  HttpRequest request = get(server.url("/"));
  std::atomic<int> asked = 0;
  request.keep_going = [&](std::int64_t received) {
    EXPECT_EQ(received, 0);
    return ++asked < 3;
  };
  const auto answer = http.send(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(asked, 3);
}

TEST(Http, ASignalStopsIt) {
  auto interrupts = Interrupts::install();
  ASSERT_TRUE(interrupts);
  LoopbackServer server([](const Request&) {
    ::raise(SIGINT);
    return Answer{"", Then::stall};
  });
  HttpClient http = client(&*interrupts);
  const auto answer = http.send(get(server.url("/")));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(answer.error().message, "interrupted while waiting for " + server.host());
}

TEST(Http, ARefusedHeadEndsItBeforeTheBody) {
  LoopbackServer server([](const Request&) {
    return Answer{"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", Then::stall};
  });
  HttpClient http = client();
  HttpRequest request = get(server.url("/"));
  request.on_head = [](const HttpHead& head) -> Result<> {
    return fail(ErrorKind::unsupported, "no {} please", head.status);
  };
  const auto answer = http.send(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "no 200 please");
  EXPECT_EQ(http.received_bytes(), 0);
}

// ---- Redirects.

struct RedirectCase {
  const char* location;  // "OTHER": a second server, "SELF": the first
  Redirects policy;
  const char* failure;  // empty: followed
};

TEST(Http, RedirectsByPolicy) {
  LoopbackServer other([](const Request&) { return LoopbackServer::reply("200 OK", "", "other"); });
  constexpr std::array kCases = {
      RedirectCase{"/there", Redirects::same_host, ""},
      RedirectCase{"there", Redirects::https_anywhere, ""},
      RedirectCase{"http://OTHER/", Redirects::same_host, ""},
      RedirectCase{"http://localhost:1/", Redirects::same_host,
                   "SELF redirects to http://localhost:1, which is not followed: it is another "
                   "host"},
      RedirectCase{"http://localhost:1/", Redirects::https_anywhere,
                   "SELF redirects to http://localhost:1, which is not followed: it is another "
                   "host"},
      RedirectCase{"https://localhost:1/", Redirects::same_host,
                   "SELF redirects to https://localhost:1, which is not followed: it is another "
                   "host"},
      RedirectCase{"https://localhost:1/", Redirects::https_anywhere,
                   "cannot connect to localhost:1: connection refused"},
      RedirectCase{"ftp://SELF/", Redirects::https_anywhere,
                   "SELF redirects to something that is no URL"},
      RedirectCase{"file:///etc/passwd", Redirects::https_anywhere,
                   "SELF redirects to something that is no URL"},
      RedirectCase{"/loop", Redirects::same_host, "SELF redirects more than 5 times"},
  };
  for (const RedirectCase& each : kCases) {
    std::string self;
    const auto named = [&](std::string text) {
      for (const auto& [word, host] : {std::pair<std::string, std::string>{"OTHER", other.host()},
                                       std::pair<std::string, std::string>{"SELF", self}}) {
        const auto at = text.find(word);
        if (at != std::string::npos) text.replace(at, word.size(), host);
      }
      return text;
    };
    LoopbackServer server([&](const Request& request) {
      if (request.target == "/there") return LoopbackServer::reply("200 OK", "", "there");
      const std::string location = "location: " + named(each.location) + "\r\nx-hop: 1\r\n";
      return LoopbackServer::reply("302 Found", location, "gone");
    });
    self = server.host();
    HttpClient http = client();
    HttpRequest request = get(server.url("/from"));
    request.redirects = each.policy;
    const auto answer = http.send(request);
    if (*each.failure != '\0') {
      ASSERT_FALSE(answer) << each.location;
      EXPECT_EQ(answer.error().message, named(each.failure));
      continue;
    }
    ASSERT_TRUE(answer) << each.location << ": " << answer.error().message;
    EXPECT_EQ(answer->redirects.size(), 1U);
    EXPECT_EQ(answer->redirects[0].header("x-hop"), "1");
    EXPECT_EQ(answer->other_origin, answer->body == "other");
  }
}

TEST(Http, ARedirectOfAPostIsTheAnswer) {
  LoopbackServer server([](const Request&) {
    return LoopbackServer::reply("307 Temporary Redirect", "location: /x\r\n", "");
  });
  HttpClient http = client();
  HttpRequest request = get(server.url("/"));
  request.post = "secret";
  request.redirects = Redirects::https_anywhere;
  const auto answer = http.send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->head.status, 307);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(Http, CredentialsStayAtTheirOrigin) {
  LoopbackServer other([](const Request&) { return LoopbackServer::reply("200 OK", "", ""); });
  LoopbackServer server([&](const Request& request) {
    if (request.target == "/a") {
      return LoopbackServer::reply("302 Found", "location: /b\r\n", "");
    }
    return LoopbackServer::reply("302 Found", "location: " + other.url("/c") + "\r\n", "");
  });
  HttpClient http = client();
  HttpRequest request = get(server.url("/a"));
  request.redirects = Redirects::same_host;
  request.headers = {
      {"Authorization", "Bearer k"}, {"COOKIE", "c"}, {"X-API-Key", "k"}, {"range", "bytes=0-1"}};
  const auto answer = http.send(request);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(server.requests().size(), 2U);
  for (const Request& seen : server.requests()) {
    EXPECT_EQ(seen.headers.at("authorization"), "Bearer k");
    EXPECT_EQ(seen.headers.at("cookie"), "c");
  }
  ASSERT_EQ(other.requests().size(), 1U);
  const Request leaked = other.requests()[0];
  for (const char* name : {"authorization", "cookie", "x-api-key"}) {
    EXPECT_FALSE(leaked.headers.contains(name)) << name;
  }
  EXPECT_EQ(leaked.headers.at("range"), "bytes=0-1");
}

// ---- Proxies.

TEST(Http, AProxyIsForOtherMachinesOnly) {
  LoopbackServer proxy(
      [](const Request&) { return LoopbackServer::reply("200 OK", "", "by proxy"); });
  LoopbackServer server(
      [](const Request&) { return LoopbackServer::reply("200 OK", "", "direct"); });
  ASSERT_EQ(::setenv("http_proxy", proxy.url("/").c_str(), 1), 0);
  ASSERT_EQ(::unsetenv("no_proxy"), 0);
  HttpClient http = client();
  const auto direct = http.send(get(server.url("/")));
  const auto by_name = http.send(get(fmt::format("http://localhost:{}/", server.port())));
  const auto elsewhere = http.send(get("http://no-such-host.invalid/x"));
  ASSERT_EQ(::unsetenv("http_proxy"), 0);
  ASSERT_TRUE(direct && by_name && elsewhere);
  EXPECT_EQ(direct->body, "direct");
  EXPECT_EQ(by_name->body, "direct");
  EXPECT_EQ(elsewhere->body, "by proxy");
  EXPECT_EQ(proxy.requests().at(0).target, "http://no-such-host.invalid/x");
}

TEST(Http, LoopbackNames) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "a.localhost", "127.0.0.1",
                           "127.255.0.9", "::1", "[::1]"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"", "localhost.example", "127.0.0.1.example", "127.0.0", "127.0.0.256",
                           "128.0.0.1", "10.0.0.1", "[::2]", "notlocalhost", "127.0.0.1x"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Http, StatusWords) {
  EXPECT_EQ(status_words(404), "404 not found");
  EXPECT_EQ(status_words(799), "799");
  EXPECT_EQ(status_failure({.status = 503, .host = "h:1", .headers = {}}).error().message,
            "h:1 answers 503 service unavailable");
}

}  // namespace
}  // namespace picchio::os
