#include "os/http_url.h"

#include "base/text.h"

#include <memory>
#include <optional>

namespace picchio::os {
namespace {

constexpr std::size_t kShownUrl = 100;

/// What stands before an "@" may be a password, a query a signature.
std::string for_messages(const std::string& text) {
  std::string shown = text.substr(0, text.find_first_of("?#"));
  if (const auto at = shown.rfind('@'); at != std::string::npos) shown = "..." + shown.substr(at);
  return fit(plain(shown), kShownUrl);
}

std::unexpected<Error> no_url(const std::string& text) {
  return fail(ErrorKind::malformed, "'{}' is not an http:// or https:// URL", for_messages(text));
}

std::unexpected<Error> no_port(const std::string& text) {
  return fail(ErrorKind::malformed, "the port of '{}' is not a number from 1 to 65535",
              for_messages(text));
}

std::optional<std::string> part(const CurlLibrary& curl, CURLU* url, CURLUPart which,
                                unsigned flags = 0) {
  char* text = nullptr;
  if (curl.url_get(url, which, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string out = text;
  curl.free(text);
  return out;
}

}  // namespace

std::string HttpUrl::shown() const {
  const bool usual = port == (scheme == "https" ? "443" : "80");
  return usual ? host : host + ":" + port;
}

bool HttpUrl::same_origin(const HttpUrl& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

Result<HttpUrl> read_url(const CurlLibrary& curl, const std::string& text, const HttpUrl* base) {
  const std::unique_ptr<CURLU, decltype(curl.url_cleanup)> url(curl.url(), curl.url_cleanup);
  if (!url) return fail(ErrorKind::failed, "out of memory");
  if (base != nullptr && curl.url_set(url.get(), CURLUPART_URL, base->text.c_str(), 0) != CURLUE_OK)
    return no_url(base->text);
  // A path with a blank in it is common in what people paste and what servers redirect to.
  const CURLUcode taken = curl.url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_URLENCODE);
  if (taken == CURLUE_BAD_PORT_NUMBER) return no_port(text);
  if (taken != CURLUE_OK) return no_url(text);
  if (base != nullptr) {
    (void)curl.url_set(url.get(), CURLUPART_USER, nullptr, 0);  // taking a part out cannot fail
    (void)curl.url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  }
  (void)curl.url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  auto whole = part(curl, url.get(), CURLUPART_URL);
  auto scheme = part(curl, url.get(), CURLUPART_SCHEME);
  auto host = part(curl, url.get(), CURLUPART_HOST);
  auto port = part(curl, url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const bool http = scheme && (*scheme == "http" || *scheme == "https");
  if (!whole || !http || !host || host->empty() || !port) return no_url(text);
  return HttpUrl{*std::move(whole), *std::move(scheme), lower(*host), *std::move(port)};
}

}  // namespace picchio::os
