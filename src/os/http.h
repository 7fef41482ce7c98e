// A small HTTP client on libcurl: one request at a time, answered or failed when the call returns.
//
// What it never does: speak anything but http and https, leave a TLS certificate unverified, follow
// a redirect from https to http, send credentials anywhere but to the origin they were given for,
// or ask a proxy for a server on this machine.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "os/signals.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::os {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// Which redirects of a GET are followed, five at most. One that is not allowed is an error; with
/// `none` the redirect itself is the answer, as it is for a POST always.
enum class Redirects {
  none,
  same_host,       // any port, never from https to http
  https_anywhere,  // those of same_host, and any host by https
};

/// Each stands alone: an answer of many GiB that keeps flowing is fine without `overall`.
struct HttpDeadlines {
  Micros connect = std::chrono::seconds(10);     // look-up of the name, TCP and TLS
  Micros first_byte = std::chrono::seconds(30);  // from the request on its way to the status line
  Micros stall = std::chrono::seconds(30);       // between two arrivals
  std::optional<Micros> overall = std::nullopt;  // redirects included
};

/// Status line and headers of an answer.
struct HttpHead {
  int status = 0;
  std::string host;     // who was asked: "huggingface.co", "127.0.0.1:8080", "[::1]:8080"
  HttpHeaders headers;  // names in lower case, as they came otherwise: untrusted

  /// The first of that (lower-case) name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  /// Absent: not stated, or no number.
  [[nodiscard]] std::optional<std::int64_t> content_length() const;
};

struct HttpRequest {
  std::string url;
  std::optional<std::string> post;  // a body makes it a POST, an empty one too
  /// "authorization", "cookie" and "x-api-key" go to the URL's own origin only.
  HttpHeaders headers;
  Redirects redirects = Redirects::none;
  HttpDeadlines deadlines;
  std::int64_t max_body_bytes = std::int64_t{64} << 20;  // more is an error
  /// May refuse an answer before its body is read. Not asked about a redirect that is followed.
  std::function<Result<>(const HttpHead& head)> on_head;
  /// Takes the body as it arrives; HttpResponse::body stays empty then.
  std::function<Result<>(std::string_view bytes)> on_data;
  /// About ten times a second, with the body bytes so far; false ends the request as interrupted.
  std::function<bool(std::int64_t received)> keep_going;
};

struct HttpResponse {
  HttpHead head;
  std::string body;
  std::string url;                  // who answered in the end; may hold a signature: not for show
  bool other_origin = false;        // a redirect led to another scheme, host or port
  std::vector<HttpHead> redirects;  // the heads of those that were followed, in order
};

struct HttpClientOptions {
  std::string user_agent;  // "picchio/0.1.0"
  std::string ca_file;     // certificates to trust instead of the system's; empty: the system's
  /// monotonic_now() after which no request of this client goes on: for several small questions
  /// that together must not take longer, whoever answers.
  std::optional<Micros> give_up_at = std::nullopt;
};

class HttpClient {
 public:
  /// Loads libcurl. `interrupts` may be null; it must outlive the client otherwise. SIGPIPE must be
  /// ignored, as an Interrupts does: the TLS library writes to sockets that a peer may close.
  [[nodiscard]] static Result<HttpClient> open(HttpClientOptions options,
                                               const Interrupts* interrupts);

  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// Any status is an answer, see status_failure(). Connections are kept for the next request.
  [[nodiscard]] Result<HttpResponse> send(const HttpRequest& request);

  /// Body bytes that arrived so far, of all requests, failed and redirected ones too.
  [[nodiscard]] std::int64_t received_bytes() const;

 private:
  class Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

/// "404 not found"; the number alone for one without a usual name. Pure, as are the next two.
[[nodiscard]] std::string status_words(int status);

/// What a status that is not wanted means, as a failure that names the host.
[[nodiscard]] std::unexpected<Error> status_failure(const HttpHead& head);

/// Whether a host as it stands in a URL is this machine for certain: localhost and its subdomains,
/// 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback(std::string_view host);

}  // namespace picchio::os
