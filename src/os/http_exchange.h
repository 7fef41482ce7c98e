// One request and its answer on a connection of libcurl's. Private to os/: a redirect makes a
// second exchange, which http.cpp decides on.
#pragma once

#include "base/result.h"
#include "os/curl_library.h"
#include "os/http.h"
#include "os/http_url.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::os {

/// The handles that live as long as a client, and what is the same for each of its exchanges.
struct HttpSession {
  CurlLibrary curl;
  CURL* easy = nullptr;
  CURLM* multi = nullptr;  // keeps the connections
  HttpClientOptions options;
  const Interrupts* interrupts = nullptr;
  std::int64_t received = 0;
};

class HttpExchange {
 public:
  /// `request` with `url` in place of its own. `give_up_at`: monotonic_now() of the overall
  /// deadline.
  HttpExchange(HttpSession& session, const HttpRequest& request, HttpUrl url,
               std::optional<Micros> give_up_at);
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;
  ~HttpExchange() = default;

  /// Once.
  [[nodiscard]] Result<> run(bool with_credentials);

  [[nodiscard]] const HttpHead& head() const { return head_; }
  [[nodiscard]] HttpHead take_head() { return std::move(head_); }
  [[nodiscard]] std::string take_body() { return std::move(body_); }

  /// Where the answer sends a GET that may follow redirects; the body was thrown away then.
  [[nodiscard]] std::optional<std::string> redirect() const;

 private:
  static std::size_t header_arrived(const char* bytes, std::size_t size, std::size_t count,
                                    void* self);
  static std::size_t data_arrived(const char* bytes, std::size_t size, std::size_t count,
                                  void* self);

  Result<> set_up(bool with_credentials);
  Result<> add_headers(bool with_credentials);
  Result<> drive();
  Result<> check_limits();
  Result<> header_line(std::string_view line);
  Result<> head_complete();
  Result<> data(std::string_view bytes);
  [[nodiscard]] std::unexpected<Error> failure(CURLcode code) const;
  [[nodiscard]] std::unexpected<Error> too_late(Micros limit, std::string_view what) const;

  HttpSession& session_;
  const HttpRequest& request_;
  HttpUrl url_;
  std::optional<Micros> give_up_at_;

  std::unique_ptr<curl_slist, void (*)(curl_slist*)> header_list_;
  std::array<char, CURL_ERROR_SIZE> curl_says_{};
  HttpHead head_;
  std::size_t head_bytes_ = 0;
  bool head_done_ = false;
  std::string body_;
  std::int64_t body_bytes_ = 0;
  std::optional<Micros> sent_at_;
  std::optional<Micros> last_arrival_;
  std::optional<Error> refused_;  // by us, in a callback
};

}  // namespace picchio::os
