#include "engines/servers/asker.h"

#include "base/text.h"
#include "engines/answers/answer.h"

#include <fmt/format.h>

#include <utility>

namespace picchio::servers {
namespace {

// The list of a router's models or of a store's tags, some hundred bytes each.
constexpr std::int64_t kMostAnswerBytes = std::int64_t{2} << 20;

// Longer ones first: each is a whole path of some API.
constexpr std::string_view kApiPaths[] = {"/v1/chat/completions",
                                          "/v1/completions",
                                          "/api/v0/models",
                                          "/api/v1/models",
                                          "/v1/responses",
                                          "/api/generate",
                                          "/api/v1/chat",
                                          "/completions",
                                          "/v1/messages",
                                          "/completion",
                                          "/v1/models",
                                          "/api/chat",
                                          "/api/tags",
                                          "/metrics",
                                          "/api/v0",
                                          "/api/v1",
                                          "/health",
                                          "/models",
                                          "/api/ps",
                                          "/props",
                                          "/slots",
                                          "/api",
                                          "/v1"};

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Result<std::string> body_of(Result<os::HttpResponse> response, bool had_key) {
  if (!response) return std::unexpected(response.error());
  if (response->head.status == 200) return std::move(response->body);
  return std::unexpected(refusal(response->head, response->body, had_key));
}

}  // namespace

os::HttpHeaders headers_for(const Endpoint& endpoint) {
  os::HttpHeaders out;
  if (!endpoint.api_key.empty()) out.emplace_back("authorization", "Bearer " + endpoint.api_key);
  return out;
}

Result<os::HttpResponse> Asker::get(std::string_view path) const {
  os::HttpRequest request;
  request.url = endpoint_.base_url + std::string(path);
  request.headers = headers_for(endpoint_);
  request.redirects = os::Redirects::same_host;
  request.deadlines = {
      .connect = patience_, .first_byte = patience_, .stall = patience_, .overall = 2 * patience_};
  request.max_body_bytes = kMostAnswerBytes;
  return client_->send(request);
}

Result<os::HttpResponse> Asker::post(std::string_view path, std::string body) const {
  os::HttpRequest request;
  request.url = endpoint_.base_url + std::string(path);
  request.post = std::move(body);
  request.headers = headers_for(endpoint_);
  request.headers.emplace_back("content-type", "application/json");
  request.deadlines = {
      .connect = patience_, .first_byte = patience_, .stall = patience_, .overall = 2 * patience_};
  request.max_body_bytes = kMostAnswerBytes;
  return client_->send(request);
}

Result<std::string> Asker::get_body(std::string_view path) const {
  return body_of(get(path), !endpoint_.api_key.empty());
}

Result<std::string> Asker::post_body(std::string_view path, std::string body) const {
  return body_of(post(path, std::move(body)), !endpoint_.api_key.empty());
}

Error refusal(const os::HttpHead& head, std::string_view body, bool had_key) {
  Error error = os::status_failure(head).error();
  if (const std::string reason = answers::reason_in(body); !reason.empty()) {
    error.message += ": " + reason;
  }
  constexpr int kUnauthorized = 401;
  constexpr int kForbidden = 403;
  constexpr int kBusy = 503;
  if (head.status == kUnauthorized || head.status == kForbidden) {
    error.hint = had_key ? "the API key was not taken; is it this server's?"
                         : "give its API key with --api-key or PICCHIO_API_KEY";
  }
  if (head.status == kBusy) error.hint = "it is loading or full; try again in a moment";
  constexpr int kRedirect = 300;
  constexpr int kRedirectEnd = 400;
  if (head.status >= kRedirect && head.status < kRedirectEnd) {
    error.message =
        fmt::format("{} sends the request elsewhere (status {})", plain(head.host), head.status);
    error.hint = "name the server itself; a redirect is not followed with a prompt";
  }
  return error;
}

std::string query_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool as_is = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (as_is) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

std::string base_of(std::string_view url) {
  std::string_view text = url.substr(0, url.find_first_of("?#"));
  while (take_suffix(text, "/")) {
  }
  for (const std::string_view path : kApiPaths) {
    if (take_suffix(text, path)) break;
  }
  while (take_suffix(text, "/")) {
  }
  return std::string(text);
}

}  // namespace picchio::servers
