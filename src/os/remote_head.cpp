#include "os/remote_head.h"

#include "base/text.h"

#include <algorithm>
#include <utility>

namespace picchio::os {
namespace {

constexpr std::size_t kFirstBytes = std::size_t{16} << 10U;

std::unexpected<Error> contradiction(const HttpHead& head, std::string_view why) {
  return fail(ErrorKind::malformed, "{} answers a Range request wrongly: {}", plain(head.host),
              why);
}

std::unexpected<Error> whole_files_only(const HttpHead& head) {
  return with_hint(fail(ErrorKind::unsupported,
                        "{} sends whole files only (no Range support), so the header alone cannot "
                        "be read from it",
                        plain(head.host)),
                   "download the file and name it instead");
}

// The number at the front of `text`, digits only: no sign and no blank stands in a Content-Range.
std::optional<std::int64_t> take_digits(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  return take_int(text);
}

// "bytes 0-16383/4683074240", "bytes 0-16383/*".
std::optional<RangePart> parse_content_range(std::string_view text) {
  RangePart out;
  if (!take_prefix(text, "bytes ")) return std::nullopt;
  const auto first = take_digits(text);
  if (!first || !take_prefix(text, "-")) return std::nullopt;
  const auto last = take_digits(text);
  if (!last || *last < *first || *last == INT64_MAX || !take_prefix(text, "/")) {
    return std::nullopt;
  }
  out.begin = *first;
  out.end = *last + 1;
  if (text == "*") return out;
  out.file_bytes = take_digits(text);
  if (!out.file_bytes || !text.empty()) return std::nullopt;
  return out;
}

// "bytes */0" is how 416 tells the size of an empty file.
bool says_empty(const HttpHead& head) {
  return head.status == 416 ? head.header("content-range") == "bytes */0"
                            : head.status == 200 && head.content_length() == 0;
}

Result<> check_status(const HttpHead& head) {
  if (says_empty(head)) {
    return fail(ErrorKind::malformed, "the file at {} is empty", plain(head.host));
  }
  if (head.status == 206) return {};
  if (head.status == 200) return whole_files_only(head);
  return status_failure(head);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<RangePart> read_range_head(const HttpHead& head, const RangePart& wanted) {
  if (const auto fine = check_status(head); !fine) return std::unexpected(fine.error());
  const auto encoding = head.header("content-encoding");
  if (encoding && lower(*encoding) != "identity") {
    return contradiction(head, fmt::format("it is encoded ('{}')", plain(*encoding)));
  }
  const auto text = head.header("content-range");
  if (!text) return contradiction(head, "206 without Content-Range");
  const auto part = parse_content_range(*text);
  const std::string shown = fmt::format("'{}'", fit(plain(*text), 60));
  if (!part) return contradiction(head, fmt::format("Content-Range is {}", shown));
  const std::int64_t end = part->file_bytes ? std::min(wanted.end, *part->file_bytes) : wanted.end;
  const bool right = part->begin == wanted.begin && part->end <= wanted.end &&
                     (part->end == end || !part->file_bytes) &&
                     (!part->file_bytes || part->end <= *part->file_bytes);
  if (!right) {
    return contradiction(head, fmt::format("asked for bytes {}-{}, Content-Range is {}",
                                           wanted.begin, wanted.end - 1, shown));
  }
  const auto length = head.content_length();
  if (length && *length != part->end - part->begin) {
    return contradiction(head, fmt::format("{} bytes under a Content-Range of {}", *length, shown));
  }
  return *part;
}

RemoteHead::RemoteHead(HttpClient client, RemoteName name, HttpDeadlines deadlines)
    : client_(std::move(client)), name_(std::move(name)), deadlines_(deadlines), url_(name_.url) {}

Result<RemoteHead> RemoteHead::open(HttpClient client, RemoteName name, HttpDeadlines deadlines) {
  RemoteHead out(std::move(client), std::move(name), deadlines);
  if (const auto fetched = out.fetch(kFirstBytes); !fetched) {
    return std::unexpected(fetched.error());
  }
  return out;
}

std::span<const std::byte> RemoteHead::bytes() const { return std::as_bytes(std::span(body_)); }

Result<> RemoteHead::grow(std::size_t at_least) {
  if (at_least <= body_.size()) return {};
  if (at_least > kMostBytes) {
    return fail(ErrorKind::unsupported, "the header of '{}' is larger than {}", plain(name_.shown),
                format_bytes(static_cast<std::int64_t>(kMostBytes)));
  }
  if (file_bytes_ && static_cast<std::int64_t>(at_least) > *file_bytes_) {
    return ends_early(at_least);
  }
  auto fetched = fetch(std::min(std::max(at_least, body_.size() + body_.size() / 2), kMostBytes));
  if (!fetched || at_least <= body_.size()) return fetched;
  return ends_early(at_least);
}

std::unexpected<Error> RemoteHead::ends_early(std::size_t needed) const {
  return fail(ErrorKind::malformed, "'{}' ends after {} bytes, {} are needed", plain(name_.shown),
              file_bytes_.value_or(static_cast<std::int64_t>(body_.size())), needed);
}

Result<> RemoteHead::fetch(std::size_t until) {
  RangePart wanted{.begin = static_cast<std::int64_t>(body_.size()),
                   .end = static_cast<std::int64_t>(until),
                   .file_bytes = {}};
  if (file_bytes_) wanted.end = std::min(wanted.end, *file_bytes_);
  if (wanted.end <= wanted.begin) return {};
  Result<HttpResponse> answer = ask(wanted);
  // A signed address that a redirect led to is good for minutes only.
  if (!answer && answer.error().kind == ErrorKind::denied && url_ != name_.url) {
    url_ = name_.url;
    elsewhere_ = false;
    answer = ask(wanted);
  }
  if (!answer) return std::unexpected(answer.error());
  return take(*answer, wanted);
}

Result<HttpResponse> RemoteHead::ask(const RangePart& wanted) {
  HttpRequest request;
  request.url = url_;
  request.redirects = Redirects::https_anywhere;
  request.deadlines = deadlines_;
  request.headers = {{"range", fmt::format("bytes={}-{}", wanted.begin, wanted.end - 1)},
                     {"accept-encoding", "identity"}};
  if (!name_.token.empty() && !elsewhere_) {
    request.headers.emplace_back("authorization", "Bearer " + name_.token);
  }
  request.max_body_bytes = wanted.end - wanted.begin;
  request.on_head = [&](const HttpHead& head) -> Result<> {
    const auto part = read_range_head(head, wanted);
    if (part) return {};
    const bool by_status = head.status != 200 && head.status != 206 && !says_empty(head);
    return std::unexpected(by_status ? explained(head) : part.error());
  };
  return client_.send(request);
}

Error RemoteHead::explained(const HttpHead& head) const {
  Error out = status_failure(head).error();
  out.message = fmt::format("cannot read '{}': {}", plain(name_.shown), out.message);
  if (!name_.on_hub) return out;
  if (head.status == 401 || head.status == 403) {
    out.hint = name_.token.empty()
                   ? "a gated or private repository wants a token in HF_TOKEN; a repository that "
                     "does not exist is answered the same way"
                   : "the token in HF_TOKEN gives no access to it: accept the terms on the "
                     "repository's page, or check the name";
  } else if (head.status == 404) {
    out.hint = "check the file's name on the repository's page, upper and lower case too";
  }
  return out;
}

Result<> RemoteHead::take(const HttpResponse& answer, const RangePart& wanted) {
  const HttpHead& head = answer.head;
  const Result<RangePart> part = read_range_head(head, wanted);
  if (!part) return std::unexpected(part.error());
  if (static_cast<std::int64_t>(answer.body.size()) != part->end - part->begin) {
    return contradiction(
        head, fmt::format("{} bytes instead of {}", answer.body.size(), part->end - part->begin));
  }
  for (const HttpHead& hop : answer.redirects) {
    if (auto linked = take_links(hop); !linked) return linked;
  }
  if (auto linked = take_links(head); !linked) return linked;
  const bool other_size = file_bytes_ && part->file_bytes && *file_bytes_ != *part->file_bytes;
  const auto tag = head.header("etag");
  // Another address may be another server with tags of its own kind.
  const bool other_tag = etag_ && tag && *etag_ != *tag && answer.url == url_;
  if (other_size || other_tag) {
    return fail(ErrorKind::failed, "the file at {} changed while it was read", plain(head.host));
  }
  if (part->file_bytes) file_bytes_ = part->file_bytes;
  if (tag) etag_ = std::string(*tag);
  url_ = answer.url;
  elsewhere_ = elsewhere_ || answer.other_origin;
  body_.append(answer.body);
  return {};
}

// The hub states size and SHA-256 of a large file where it redirects to its store.
Result<> RemoteHead::take_links(const HttpHead& hop) {
  const auto size = hop.header("x-linked-size");
  const auto bytes = size ? parse_int(*size) : std::nullopt;
  std::string_view tag = hop.header("x-linked-etag").value_or("");
  tag = between(tag, "\"", "\"").value_or(tag);
  std::string digest = lower(tag);
  const bool has_digest = is_sha256(digest);
  if ((bytes && file_bytes_ && *file_bytes_ != *bytes) ||
      (has_digest && digest_ && *digest_ != digest)) {
    return fail(ErrorKind::failed, "the file at {} changed while it was read", plain(hop.host));
  }
  if (bytes && *bytes >= 0) file_bytes_ = bytes;
  if (has_digest) digest_ = std::move(digest);
  return {};
}

}  // namespace picchio::os
