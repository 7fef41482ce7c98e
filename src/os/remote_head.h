// The beginning of a file on a web server, as much of it as a reader asks for.
//
// By HTTP Range requests: 16 KiB first, then each time half as much again, so that a reader who
// needs N bytes makes about log(N / 16 KiB) / log(1.5) requests on one connection and transfers
// less than 1.5 N + 16 KiB. No byte is asked for twice, nothing is written to a disk.
#pragma once

#include "base/result.h"
#include "os/http.h"
#include "os/remote_name.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace picchio::os {

/// What an answer to a Range request holds. Bytes count from 0, `end` is behind the last.
struct RangePart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::optional<std::int64_t> file_bytes;  // absent: the server does not tell ("*")
};

/// Pure: whether `head` answers a request for the bytes `wanted.begin` to `wanted.end`. An end
/// before the wanted one is right at the file's end only.
[[nodiscard]] Result<RangePart> read_range_head(const HttpHead& head, const RangePart& wanted);

class RemoteHead {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

  /// Fetches the first piece. Redirects go to any host by https. `deadlines` for each request.
  [[nodiscard]] static Result<RemoteHead> open(HttpClient client, RemoteName name,
                                               HttpDeadlines deadlines = {});

  /// What is here so far; valid until the next grow().
  [[nodiscard]] std::span<const std::byte> bytes() const;

  /// Fetches more until at least so many bytes are here. Asking for more than the file has is an
  /// error (malformed), as is asking for more than kMostBytes.
  [[nodiscard]] Result<> grow(std::size_t at_least);

  /// Absent: no server told.
  [[nodiscard]] std::optional<std::int64_t> file_bytes() const { return file_bytes_; }

  /// Bytes of bodies that came over the network, error pages included.
  [[nodiscard]] std::int64_t transferred() const { return client_.received_bytes(); }

  /// SHA-256 of the whole file as the hub states it ("x-linked-etag"): 64 lower-case hex digits.
  /// Its claim; nothing was computed.
  [[nodiscard]] std::optional<std::string> server_digest() const { return digest_; }

 private:
  RemoteHead(HttpClient client, RemoteName name, HttpDeadlines deadlines);

  Result<> fetch(std::size_t until);
  Result<HttpResponse> ask(const RangePart& wanted);
  Result<> take(const HttpResponse& answer, const RangePart& wanted);
  Result<> take_links(const HttpHead& hop);
  [[nodiscard]] std::unexpected<Error> ends_early(std::size_t needed) const;
  [[nodiscard]] Error explained(const HttpHead& head) const;

  HttpClient client_;
  RemoteName name_;
  HttpDeadlines deadlines_;
  std::string url_;         // where the redirects of the first request led
  bool elsewhere_ = false;  // another origin than name_.url's: no token for it
  std::string body_;
  std::optional<std::int64_t> file_bytes_;
  std::optional<std::string> etag_;  // of the first piece's answer
  std::optional<std::string> digest_;
};

}  // namespace picchio::os
