#include "os/http_exchange.h"

#include "base/text.h"
#include "os/clock.h"
#include "os/system_error.h"

#include <algorithm>
#include <utility>

namespace picchio::os {
namespace {

// Generous: real heads take one to four KiB.
constexpr std::size_t kMostHeadBytes = std::size_t{256} << 10U;
constexpr std::int64_t kMostRedirectBody = std::int64_t{64} << 10U;

// How late a deadline or keep_going() may be. Arrivals and signals wake the loop at once.
constexpr int kTickMs = 100;

constexpr std::array<std::string_view, 4> kCredentials = {"authorization", "cookie",
                                                          "proxy-authorization", "x-api-key"};

struct CodeWords {
  CURLcode code;
  ErrorKind kind;
  std::string_view words;  // "{}" is the host
};

// What curl calls a failure, as a sentence. Others get curl's own words.
constexpr std::array kCodeWords = {
    CodeWords{CURLE_COULDNT_RESOLVE_HOST, ErrorKind::not_found, "cannot resolve the name of {}"},
    CodeWords{CURLE_COULDNT_RESOLVE_PROXY, ErrorKind::not_found,
              "cannot resolve the name of the proxy for {}"},
    CodeWords{CURLE_GOT_NOTHING, ErrorKind::failed, "{} closed the connection without an answer"},
    CodeWords{CURLE_PARTIAL_FILE, ErrorKind::failed,
              "{} closed the connection in the middle of its answer"},
    CodeWords{CURLE_RECV_ERROR, ErrorKind::failed, "the connection to {} broke"},
    CodeWords{CURLE_SEND_ERROR, ErrorKind::failed, "the connection to {} broke"},
    CodeWords{CURLE_HTTP2, ErrorKind::failed, "the connection to {} broke"},
    CodeWords{CURLE_HTTP2_STREAM, ErrorKind::failed, "the connection to {} broke"},
    // What libcurl takes of one header line; there is memory enough.
    CodeWords{CURLE_OUT_OF_MEMORY, ErrorKind::malformed, "{} sends a header that is too long"},
    CodeWords{CURLE_UNSUPPORTED_PROTOCOL, ErrorKind::malformed, "{} does not speak HTTP"},
    CodeWords{CURLE_WEIRD_SERVER_REPLY, ErrorKind::malformed, "{} does not speak HTTP"},
};

bool follows(const HttpRequest& request, const HttpHead& head) {
  constexpr std::array kMoved = {301, 302, 303, 307, 308};
  return request.redirects != Redirects::none && !request.post &&
         std::ranges::find(kMoved, head.status) != kMoved.end() && head.header("location");
}

bool has_line_end(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

}  // namespace

HttpExchange::HttpExchange(HttpSession& session, const HttpRequest& request, HttpUrl url,
                           std::optional<Micros> give_up_at)
    : session_(session),
      request_(request),
      url_(std::move(url)),
      give_up_at_(give_up_at),
      header_list_(nullptr, session.curl.slist_free_all) {
  head_.host = url_.shown();
}

std::optional<std::string> HttpExchange::redirect() const {
  if (!follows(request_, head_)) return std::nullopt;
  return std::string(head_.header("location").value_or(""));
}

Result<> HttpExchange::run(bool with_credentials) {
  session_.curl.easy_reset(session_.easy);  // keeps the connections
  Result<> done = set_up(with_credentials);
  if (done) done = drive();
  // The handle must not point into this object any longer.
  session_.curl.easy_reset(session_.easy);
  return done;
}

Result<> HttpExchange::add_headers(bool with_credentials) {
  HttpHeaders headers = request_.headers;
  // libcurl would hold a large body back for a second, waiting for "100 Continue".
  headers.emplace_back("expect", "");
  for (const auto& [name, value] : headers) {
    const bool secret = std::ranges::find(kCredentials, lower(name)) != kCredentials.end();
    if (secret && !with_credentials) continue;
    if (has_line_end(name) || has_line_end(value)) {
      return fail(ErrorKind::malformed, "the value for the header '{}' has a line end in it",
                  plain(name));
    }
    curl_slist* const longer =
        session_.curl.slist_append(header_list_.get(), fmt::format("{}: {}", name, value).c_str());
    if (longer == nullptr) return fail(ErrorKind::failed, "out of memory");
    (void)header_list_.release();  // the list's head now belongs to `longer`
    header_list_.reset(longer);
  }
  return {};
}

Result<> HttpExchange::set_up(bool with_credentials) {
  if (const auto added = add_headers(with_credentials); !added) return added;
  CURLcode bad = CURLE_OK;
  const auto set = [&](CURLoption option, auto value) {
    if (bad == CURLE_OK) bad = session_.curl.easy_setopt(session_.easy, option, value);
  };
  set(CURLOPT_URL, url_.text.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!session_.options.ca_file.empty()) set(CURLOPT_CAINFO, session_.options.ca_file.c_str());
  // Otherwise the environment's http_proxy, https_proxy and no_proxy count.
  if (is_loopback(url_.host)) set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);    // or a time-out of the look-up longjmps out of a handler
  set(CURLOPT_QUICK_EXIT, 1L);  // or an abort waits for a look-up that hangs
  using std::chrono::duration_cast;
  const auto connect = duration_cast<std::chrono::milliseconds>(request_.deadlines.connect);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(connect.count(), 1)));
  set(CURLOPT_USERAGENT, session_.options.user_agent.c_str());
  set(CURLOPT_HTTPHEADER, header_list_.get());
  if (request_.post) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.post->size()));
    set(CURLOPT_POSTFIELDS, request_.post->data());
  }
  set(CURLOPT_ERRORBUFFER, curl_says_.data());
  set(CURLOPT_HEADERFUNCTION, &header_arrived);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &data_arrived);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  if (bad == CURLE_OK) return {};
  return fail(ErrorKind::unsupported, "this libcurl is too old: 7.87 or newer is needed");
}

Result<> HttpExchange::drive() {
  const CurlLibrary& curl = session_.curl;
  if (curl.multi_add_handle(session_.multi, session_.easy) != CURLM_OK) {
    return fail(ErrorKind::failed, "libcurl refuses the request");
  }
  Result<> done;
  int running = 1;
  while (true) {
    const CURLMcode went = curl.multi_perform(session_.multi, &running);
    if (went != CURLM_OK) done = fail(ErrorKind::failed, "libcurl fails with code {}", int{went});
    if (running == 0 || !done) break;
    done = check_limits();
    if (!done) break;
    curl_waitfd interrupt{};
    interrupt.events = CURL_WAIT_POLLIN;
    if (session_.interrupts != nullptr) interrupt.fd = session_.interrupts->fd();
    const unsigned extra = session_.interrupts != nullptr ? 1 : 0;
    (void)curl.multi_poll(session_.multi, &interrupt, extra, kTickMs, nullptr);  // perform tells
  }
  int left = 0;
  const CURLMsg* const message = done ? curl.multi_info_read(session_.multi, &left) : nullptr;
  if (done) {
    const CURLcode code = message != nullptr ? message->data.result : CURLE_FAILED_INIT;
    if (code != CURLE_OK) done = failure(code);
  }
  curl.multi_remove_handle(session_.multi, session_.easy);
  return done;
}

Result<> HttpExchange::check_limits() {
  if (session_.interrupts != nullptr && session_.interrupts->caught()) {
    return fail(ErrorKind::interrupted, "interrupted while waiting for {}", plain(head_.host));
  }
  if (request_.keep_going && !request_.keep_going(body_bytes_)) {
    return fail(ErrorKind::interrupted, "stopped while waiting for {}", plain(head_.host));
  }
  const Micros now = monotonic_now();
  if (session_.options.give_up_at && now >= *session_.options.give_up_at) {
    return fail(ErrorKind::timed_out, "{} did not answer in time", plain(head_.host));
  }
  const HttpDeadlines& limits = request_.deadlines;
  if (give_up_at_ && now >= *give_up_at_) {
    return too_late(limits.overall.value_or(Micros{}), "did not complete its answer");
  }
  if (last_arrival_) {
    if (now - *last_arrival_ < limits.stall) return {};
    return too_late(limits.stall, "stopped in the middle of its answer and sent nothing");
  }
  if (!sent_at_) {
    // Zero until the connection stands. Before that libcurl watches its own deadline.
    curl_off_t until_request = 0;
    session_.curl.easy_getinfo(session_.easy, CURLINFO_PRETRANSFER_TIME_T, &until_request);
    if (until_request > 0) sent_at_ = now;
  }
  if (!sent_at_ || now - *sent_at_ < limits.first_byte) return {};
  return too_late(limits.first_byte, "took the request and did not answer");
}

std::unexpected<Error> HttpExchange::too_late(Micros limit, std::string_view what) const {
  return fail(ErrorKind::timed_out, "{} {} within {:g} s", plain(head_.host), what, seconds(limit));
}

std::unexpected<Error> HttpExchange::failure(CURLcode code) const {
  const std::string host = plain(head_.host);
  if (refused_) return std::unexpected(*refused_);
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return too_late(request_.deadlines.connect, "did not take the connection");
  }
  if (code == CURLE_COULDNT_CONNECT) {
    long error = 0;
    session_.curl.easy_getinfo(session_.easy, CURLINFO_OS_ERRNO, &error);
    return fail(errno_kind(static_cast<int>(error)), "cannot connect to {}: {}", host,
                error != 0 ? errno_text(static_cast<int>(error)) : "no address of it answers");
  }
  std::string said = plain(curl_says_.data());
  if (said.empty()) said = plain(session_.curl.easy_strerror(code));
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    return fail(ErrorKind::denied, "the TLS certificate of {} cannot be trusted: {}", host, said);
  }
  if (code == CURLE_SSL_CACERT_BADFILE) {
    return with_hint(
        fail(ErrorKind::unsupported, "cannot check the TLS certificate of {}: {}", host, said),
        "install your system's package of certificates: 'apt install ca-certificates'");
  }
  const auto* const known = std::ranges::find(kCodeWords, code, &CodeWords::code);
  if (known != kCodeWords.end()) {
    return fail(known->kind, "{}", fmt::format(fmt::runtime(known->words), host));
  }
  return fail(ErrorKind::failed, "the request to {} failed: {}", host, said);
}

std::size_t HttpExchange::header_arrived(const char* bytes, std::size_t size, std::size_t count,
                                         void* self) {
  auto& exchange = *static_cast<HttpExchange*>(self);
  const Result<> taken = exchange.header_line({bytes, size * count});
  if (taken) return size * count;
  exchange.refused_ = taken.error();
  return 0;
}

std::size_t HttpExchange::data_arrived(const char* bytes, std::size_t size, std::size_t count,
                                       void* self) {
  auto& exchange = *static_cast<HttpExchange*>(self);
  const Result<> taken = exchange.data({bytes, size * count});
  if (taken) return size * count;
  exchange.refused_ = taken.error();
  return 0;
}

Result<> HttpExchange::header_line(std::string_view line) {
  last_arrival_ = monotonic_now();
  head_bytes_ += line.size();
  if (head_bytes_ > kMostHeadBytes) {
    return fail(ErrorKind::malformed, "{} sends headers without end", plain(head_.host));
  }
  line = trim(line);
  if (line.starts_with("HTTP/")) {
    // The final answer's head follows an interim one's (1xx).
    const auto words = split_blanks(line);
    const auto status = words.size() > 1 ? parse_int(words[1]) : std::nullopt;
    head_.status = static_cast<int>(status.value_or(0));
    head_.headers.clear();
    return {};
  }
  if (line.empty()) return head_.status >= 200 && !head_done_ ? head_complete() : Result<>{};
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || head_done_) return {};  // a trailer counts for nothing
  head_.headers.emplace_back(lower(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
  return {};
}

Result<> HttpExchange::head_complete() {
  head_done_ = true;
  if (follows(request_, head_)) return {};
  if (request_.on_head) {
    if (auto accepted = request_.on_head(head_); !accepted) return accepted;
  }
  const auto length = head_.content_length();
  if (length && *length > request_.max_body_bytes) {
    return fail(ErrorKind::failed, "{} answers with {}, more than the {} that are expected",
                plain(head_.host), format_bytes(*length), format_bytes(request_.max_body_bytes));
  }
  return {};
}

Result<> HttpExchange::data(std::string_view bytes) {
  last_arrival_ = monotonic_now();
  const auto size = static_cast<std::int64_t>(bytes.size());
  session_.received += size;
  body_bytes_ += size;
  const bool thrown_away = follows(request_, head_);
  const std::int64_t most = thrown_away ? kMostRedirectBody : request_.max_body_bytes;
  if (body_bytes_ > most) {
    return fail(ErrorKind::failed, "{} answers with more than the {} that are expected",
                plain(head_.host), format_bytes(most));
  }
  if (thrown_away) return {};
  if (request_.on_data) return request_.on_data(bytes);
  body_.append(bytes);
  return {};
}

}  // namespace picchio::os
