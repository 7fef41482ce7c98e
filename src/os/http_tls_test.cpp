// Whom the client believes: a TLS server on 127.0.0.1 with a certificate made for the test.
#include "os/fd.h"
#include "os/http.h"
#include "os/pipe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace picchio::os {
namespace {

template <class T, void (*Free)(T*)>
struct Freer {
  void operator()(T* value) const { Free(value); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX, SSL_CTX_free>>;
using Connection = std::unique_ptr<SSL, Freer<SSL, SSL_free>>;

constexpr long kDay = 86400;

/// Signed by itself, for `name` ("IP:127.0.0.1", "DNS:x.example"), until `ends` seconds from now.
Certificate certificate(EVP_PKEY* key, const char* name, long ends) {
  Certificate out(X509_new());
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), ends);
  X509_set_pubkey(out.get(), key);
  X509_NAME* const subject = X509_get_subject_name(out.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(out.get(), subject);
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, out.get(), out.get(), nullptr, nullptr, 0);
  for (const auto& [nid, value] : {std::pair{NID_basic_constraints, "critical,CA:TRUE"},
                                   std::pair{NID_subject_alt_name, name}}) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
    X509_add_ext(out.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(out.get(), key, EVP_sha256());
  return out;
}

class TlsServer {
 public:
  TlsServer(const char* name, long ends, std::string reply) : reply_(std::move(reply)) {
    // What EVP_EC_gen() stands for, which casts a const away.
    key_.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
    certificate_ = certificate(key_.get(), name, ends);
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context_.get(), certificate_.get());
    SSL_CTX_use_PrivateKey(context_.get(), key_.get());
    auto pipe = make_pipe();
    stop_ = std::move(pipe->read_end);
    stopper_ = std::move(pipe->write_end);
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (::bind(listener_.get(), raw, size) == 0 && ::listen(listener_.get(), 4) == 0 &&
        ::getsockname(listener_.get(), raw, &size) == 0) {
      port_ = ntohs(address.sin_port);
      thread_ = std::thread([this] { serve_all(); });
    }
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    stopper_.reset();
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] std::string host() const { return fmt::format("127.0.0.1:{}", port_); }
  void write_certificate(const std::string& path) const {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    PEM_write_X509(file, certificate_.get());
    std::fclose(file);
  }

 private:
  void serve_all() {
    while (true) {
      pollfd both[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (::poll(both, 2, -1) > 0 && both[1].revents != 0) return;
      const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
      const Connection tls(SSL_new(context_.get()));
      SSL_set_fd(tls.get(), peer.get());
      char request[4096];
      if (SSL_accept(tls.get()) != 1 || SSL_read(tls.get(), request, sizeof(request)) <= 0)
        continue;
      SSL_write(tls.get(), reply_.data(), static_cast<int>(reply_.size()));
      SSL_shutdown(tls.get());
    }
  }

  std::string reply_;
  Key key_;
  Certificate certificate_;
  Context context_;
  UniqueFd stop_;
  UniqueFd stopper_;
  UniqueFd listener_;
  int port_ = 0;
  std::thread thread_;
};

class HttpTls : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "picchio_tls_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir = name;
    old_handler = std::signal(SIGPIPE, SIG_IGN);  // a client that hangs up on the server
  }
  void TearDown() override {
    std::signal(SIGPIPE, old_handler);
    std::filesystem::remove_all(dir);
  }
  [[nodiscard]] Result<HttpResponse> get(const TlsServer& server, bool trust) const {
    HttpClientOptions options{.user_agent = "picchio/test", .ca_file = ""};
    if (trust) {
      options.ca_file = dir + "/ca.pem";
      server.write_certificate(options.ca_file);
    }
    HttpRequest request;
    request.url = "https://" + server.host() + "/";
    request.redirects = Redirects::https_anywhere;
    return HttpClient::open(options, nullptr)->send(request);
  }

  std::string dir;
  void (*old_handler)(int) = nullptr;
};

constexpr const char* kHello = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

TEST_F(HttpTls, ACertificateThatIsTrusted) {
  const TlsServer server("IP:127.0.0.1", kDay, kHello);
  const auto answer = get(server, true);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "hello");
}

TEST_F(HttpTls, OthersAreRefused) {
  struct Case {
    const char* name;
    long ends;
    bool trust;
  };
  for (const Case& each : {Case{"IP:127.0.0.1", kDay, false},  // signed by nobody we know
                           Case{"DNS:x.example", kDay, true},  // for another host
                           Case{"IP:127.0.0.1", -kDay, true}}) {
    const TlsServer server(each.name, each.ends, kHello);
    const auto answer = get(server, each.trust);
    ASSERT_FALSE(answer) << each.name;
    EXPECT_EQ(answer.error().kind, ErrorKind::denied) << answer.error().message;
    EXPECT_TRUE(answer.error().message.starts_with("the TLS certificate of " + server.host() +
                                                   " cannot be trusted: "))
        << answer.error().message;
  }
}

TEST_F(HttpTls, WithoutCertificatesToCheckItWith) {
  // A container without its certificates' package.
  const TlsServer server("IP:127.0.0.1", kDay, kHello);
  HttpRequest request;
  request.url = "https://" + server.host() + "/";
  const auto answer =
      HttpClient::open({.user_agent = "t", .ca_file = dir + "/none.pem"}, nullptr)->send(request);
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.starts_with("cannot check the TLS certificate of "))
      << answer.error().message;
  EXPECT_TRUE(answer.error().hint.contains("ca-certificates"));
}

TEST_F(HttpTls, ARedirectOutOfTlsIsNotFollowed) {
  const TlsServer server("IP:127.0.0.1", kDay,
                         "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n"
                         "content-length: 0\r\n\r\n");
  const auto answer = get(server, true);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, server.host() +
                                        " redirects to http://127.0.0.1:1, which is not followed: "
                                        "it is not encrypted");
}

}  // namespace
}  // namespace picchio::os
