#include "os/http.h"

#include "base/text.h"
#include "os/clock.h"
#include "os/http_exchange.h"

#include <utility>

namespace picchio::os {
namespace {

constexpr std::size_t kMostRedirects = 5;

Result<> may_follow(const HttpUrl& from, const HttpUrl& to, Redirects policy) {
  const bool downgrade = from.scheme == "https" && to.scheme != "https";
  const bool same_host = from.host == to.host;
  const bool allowed =
      !downgrade && (same_host || (policy == Redirects::https_anywhere && to.scheme == "https"));
  if (allowed) return {};
  return fail(ErrorKind::denied, "{} redirects to {}://{}, which is not followed: {}",
              plain(from.shown()), to.scheme, plain(to.shown()),
              downgrade ? "it is not encrypted" : "it is another host");
}

}  // namespace

class HttpClient::Impl {
 public:
  Impl(const CurlLibrary& curl, HttpClientOptions options, const Interrupts* interrupts) {
    session.curl = curl;
    session.options = std::move(options);
    session.interrupts = interrupts;
    session.easy = curl.easy_init();
    session.multi = curl.multi_init();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (session.easy != nullptr) session.curl.easy_cleanup(session.easy);
    if (session.multi != nullptr) session.curl.multi_cleanup(session.multi);
  }

  HttpSession session;
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::open(HttpClientOptions options, const Interrupts* interrupts) {
  const Result<CurlLibrary> curl = CurlLibrary::load();
  if (!curl) return std::unexpected(curl.error());
  auto impl = std::make_unique<Impl>(*curl, std::move(options), interrupts);
  if (impl->session.easy == nullptr || impl->session.multi == nullptr) {
    return fail(ErrorKind::failed, "libcurl cannot make a client");
  }
  return HttpClient(std::move(impl));
}

std::int64_t HttpClient::received_bytes() const { return impl_->session.received; }

Result<HttpResponse> HttpClient::send(const HttpRequest& request) {
  HttpSession& session = impl_->session;
  Result<HttpUrl> url = read_url(session.curl, request.url, nullptr);
  if (!url) return std::unexpected(url.error());
  const HttpUrl first = *url;
  std::optional<Micros> give_up_at;
  if (request.deadlines.overall) give_up_at = monotonic_now() + *request.deadlines.overall;

  HttpResponse out;
  while (true) {
    HttpExchange exchange(session, request, *url, give_up_at);
    const bool own = url->same_origin(first);
    if (const auto ran = exchange.run(own); !ran) return std::unexpected(ran.error());
    const auto location = exchange.redirect();
    if (!location) {
      out.head = exchange.take_head();
      out.body = exchange.take_body();
      out.url = url->text;
      out.other_origin = !own;
      return out;
    }
    if (out.redirects.size() == kMostRedirects) {
      return fail(ErrorKind::failed, "{} redirects more than {} times", plain(first.shown()),
                  kMostRedirects);
    }
    Result<HttpUrl> next = read_url(session.curl, *location, &*url);
    if (!next) {
      return fail(ErrorKind::malformed, "{} redirects to something that is no URL",
                  plain(url->shown()));
    }
    if (const auto allowed = may_follow(*url, *next, request.redirects); !allowed) {
      return std::unexpected(allowed.error());
    }
    out.redirects.push_back(exchange.take_head());
    url = std::move(next);
  }
}

}  // namespace picchio::os
