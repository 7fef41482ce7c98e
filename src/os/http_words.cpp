// The pure part of http.h.
#include "base/text.h"
#include "os/http.h"

#include <algorithm>
#include <array>

namespace picchio::os {
namespace {

struct StatusName {
  int status;
  std::string_view name;
  ErrorKind kind;
};

constexpr std::array kStatusNames = {
    StatusName{400, "bad request", ErrorKind::failed},
    StatusName{401, "unauthorized", ErrorKind::denied},
    StatusName{403, "forbidden", ErrorKind::denied},
    StatusName{404, "not found", ErrorKind::not_found},
    StatusName{405, "method not allowed", ErrorKind::unsupported},
    StatusName{407, "proxy authentication required", ErrorKind::denied},
    StatusName{408, "request timeout", ErrorKind::timed_out},
    StatusName{410, "gone", ErrorKind::not_found},
    StatusName{416, "range not satisfiable", ErrorKind::malformed},
    StatusName{429, "too many requests", ErrorKind::failed},
    StatusName{500, "internal server error", ErrorKind::failed},
    StatusName{501, "not implemented", ErrorKind::unsupported},
    StatusName{502, "bad gateway", ErrorKind::failed},
    StatusName{503, "service unavailable", ErrorKind::failed},
    StatusName{504, "gateway timeout", ErrorKind::timed_out},
};

const StatusName* name_of(int status) {
  const auto* const found = std::ranges::find(kStatusNames, status, &StatusName::status);
  return found == kStatusNames.end() ? nullptr : found;
}

// "127.1" and other short spellings are left out: not certain means not loopback.
bool is_127_net(std::string_view host) {
  const auto parts = split(host, '.');
  if (parts.size() != 4 || parts.front() != "127") return false;
  return std::ranges::all_of(parts, [](std::string_view part) {
    const auto number = parse_int(part);
    return number && *number >= 0 && *number <= 255 && part.size() <= 3;
  });
}

}  // namespace

std::optional<std::string_view> HttpHead::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeaders::value_type::first);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> HttpHead::content_length() const {
  const auto text = header("content-length");
  const auto number = text ? parse_int(*text) : std::nullopt;
  if (!number || *number < 0) return std::nullopt;
  return number;
}

std::string status_words(int status) {
  const StatusName* const known = name_of(status);
  return known == nullptr ? fmt::format("{}", status) : fmt::format("{} {}", status, known->name);
}

std::unexpected<Error> status_failure(const HttpHead& head) {
  const StatusName* const known = name_of(head.status);
  return fail(known == nullptr ? ErrorKind::failed : known->kind, "{} answers {}", plain(head.host),
              status_words(head.status));
}

bool is_loopback(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string name = lower(host.ends_with('.') ? host.substr(0, host.size() - 1) : host);
  return name == "localhost" || name.ends_with(".localhost") || name == "::1" || is_127_net(name);
}

}  // namespace picchio::os
