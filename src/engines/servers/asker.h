// Small questions to a server beside the measurement: JSON or a short text, answered in whole.
#pragma once

#include "base/result.h"
#include "os/http.h"

#include <string>
#include <string_view>

namespace picchio::servers {

/// Where a server's API begins and what opens it.
struct Endpoint {
  std::string base_url;  // "http://127.0.0.1:8080/prefix", no slash at its end, no password
  std::string api_key;   // sent as a bearer to this origin alone; empty: none. Never to be shown
};

/// Headers of every request to it.
[[nodiscard]] os::HttpHeaders headers_for(const Endpoint& endpoint);

class Asker {
 public:
  Asker(os::HttpClient& client, Endpoint endpoint)
      : client_(&client), endpoint_(std::move(endpoint)) {}

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] os::HttpClient& client() const { return *client_; }

  /// How long a silent server is waited for.
  void set_patience(Micros patience) { patience_ = patience; }

  /// Any status is an answer. `path` begins with a slash.
  [[nodiscard]] Result<os::HttpResponse> get(std::string_view path) const;
  [[nodiscard]] Result<os::HttpResponse> post(std::string_view path, std::string body) const;

  /// The body of an answer with status 200; any other is a failure in the server's own words.
  [[nodiscard]] Result<std::string> get_body(std::string_view path) const;
  [[nodiscard]] Result<std::string> post_body(std::string_view path, std::string body) const;

 private:
  os::HttpClient* client_;
  Endpoint endpoint_;
  Micros patience_ = std::chrono::seconds(5);
};

/// What a refusal means, with the server's own reason and what may help.
[[nodiscard]] Error refusal(const os::HttpHead& head, std::string_view body, bool had_key);

/// `text` as a value of a query: what may not stand there as it is is written as %XX. Pure.
[[nodiscard]] std::string query_escaped(std::string_view text);

/// `text` without what stands behind a server's base when people paste a longer URL: a slash,
/// "/v1", "/v1/chat/completions", "/api/generate", "/completion" ... Pure.
[[nodiscard]] std::string base_of(std::string_view url);

}  // namespace picchio::servers
