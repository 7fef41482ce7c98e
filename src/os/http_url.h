// URLs as libcurl itself reads them, so that a rule about hosts and the connection that is made can
// never be about two different hosts. Private to os/.
#pragma once

#include "base/result.h"
#include "os/curl_library.h"

#include <string>

namespace picchio::os {

struct HttpUrl {
  std::string text;    // whole, normalized
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case, IPv6 in brackets
  std::string port;

  /// The host, with the port when it is not the scheme's own.
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] bool same_origin(const HttpUrl& other) const;
};

/// `base` may be null; otherwise `text` may be relative to it, and a user or password in it is
/// taken out: a redirect has no say in them.
[[nodiscard]] Result<HttpUrl> read_url(const CurlLibrary& curl, const std::string& text,
                                       const HttpUrl* base);

}  // namespace picchio::os
