#include "commands/header_source.h"

#include "base/text.h"
#include "commands/header_ollama.h"
#include "commands/http_client.h"
#include "commands/progress.h"
#include "commands/read_header.h"
#include "engines/ollama/store.h"
#include "engines/ollama/tag.h"
#include "gguf/shards.h"
#include "os/file.h"
#include "os/http.h"
#include "os/remote_head.h"
#include "os/remote_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

namespace picchio {
namespace {

// Small models' headers fit at once; a large vocabulary takes some rounds.
// A third of a large header at the rate of a slow line; a server that drips is not waited for.
constexpr Micros kMostSecondsAPiece = std::chrono::minutes(5);
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

/// Reads standard input only as far as the header goes: what follows can be the whole model.
Result<ModelHeaders> headers_of_stream(gguf::Accept accept, os::Interrupts& interrupts) {
  std::string bytes;
  std::size_t wanted = kFirstBytes;
  bool more = true;
  for (;;) {
    const Result<bool> read = os::read_on(0, bytes, wanted, "standard input", interrupts.fd());
    if (!read) return std::unexpected(read.error());
    more = *read;
    const auto ended = static_cast<std::int64_t>(bytes.size());
    const std::span<const std::byte> view = std::as_bytes(std::span(bytes.data(), bytes.size()));
    std::int64_t needed = 0;
    Result<gguf::Header> header = gguf::read_header(view, std::nullopt, accept, &needed);
    if (header) {
      ModelHeaders out;
      out.headers.push_back(*std::move(header));
      out.paths.emplace_back("-");
      return out;
    }
    if (header.error().kind != ErrorKind::failed) {
      return cannot_read("standard input", header.error());
    }
    if (!more) {
      // The end is known now: the reader can say what is missing.
      const auto cut = gguf::read_header(view, ended, accept);
      return cannot_read("standard input", cut ? header.error() : cut.error());
    }
    wanted =
        std::max(bytes.size() * 2, static_cast<std::size_t>(std::max<std::int64_t>(needed, 0)));
  }
}

struct RemoteHeader {
  gguf::Header header;
  RemoteFile file;
  std::string shown;
};

Result<RemoteHeader> read_remote_header(const std::string& what, gguf::Accept accept,
                                        const os::Interrupts& interrupts) {
  const Result<os::RemoteName> name = os::remote_name(what, os::hub_settings());
  if (!name) return std::unexpected(name.error());
  Result<os::HttpClient> client = open_http_client(interrupts);
  if (!client) return std::unexpected(client.error());
  Result<os::RemoteHead> head =
      os::RemoteHead::open(*std::move(client), *name, {.overall = kMostSecondsAPiece});
  if (!head) return std::unexpected(head.error());
  ByteProgress progress("header of " + fit(plain(name->shown), 60), std::nullopt);
  for (;;) {
    std::int64_t needed = 0;
    Result<gguf::Header> header =
        gguf::read_header(head->bytes(), head->file_bytes(), accept, &needed);
    if (header) {
      return RemoteHeader{
          *std::move(header), {head->transferred(), head->server_digest()}, name->shown};
    }
    if (header.error().kind != ErrorKind::failed) return cannot_read(name->shown, header.error());
    const auto more = std::max(static_cast<std::size_t>(needed), head->bytes().size() + 1);
    if (const Result<> grown = head->grow(more); !grown) return std::unexpected(grown.error());
    progress.update(head->transferred());
  }
}

void take(RemoteHeader one, ModelHeaders& out) {
  out.headers.push_back(std::move(one.header));
  out.paths.push_back(std::move(one.shown));
  out.remote.push_back(std::move(one.file));
}

/// Reads as much of each file as its header takes; a split model's shards one after the other.
Result<ModelHeaders> headers_of_remote(const std::string& what, gguf::Accept accept,
                                       const os::Interrupts& interrupts) {
  Result<RemoteHeader> given = read_remote_header(what, accept, interrupts);
  if (!given) return std::unexpected(given.error());
  const std::string tail(os::behind_file_name(what));
  Result<std::vector<std::string>> names = gguf::shard_set_paths(
      std::string_view(what).substr(0, what.size() - tail.size()), given->header);
  if (!names) {
    // Its words would show the address, and in it a password or a signature.
    return fail(names.error().kind, "cannot find the other shards of '{}' by its name",
                plain(given->shown));
  }
  ModelHeaders out;
  out.label =
      base_name(os::without_secrets(std::string_view(what).substr(0, what.size() - tail.size())));
  if (names->size() == 1) {
    take(*std::move(given), out);
    return out;
  }
  for (const std::string& name : *names) {
    Result<RemoteHeader> shard = read_remote_header(name + tail, accept, interrupts);
    if (!shard) return std::unexpected(shard.error());
    take(*std::move(shard), out);
  }
  return out;
}

// A folder of that name is no model, and must not stand before one that ollama has.
bool is_file(const std::string& what) {
  std::error_code ignored;
  return os::exists(what) && !std::filesystem::is_directory(what, ignored);
}

/// Of the store; where none may be read or none has it, as a server lists it.
Result<ModelHeaders> headers_of_tag(const std::string& text, gguf::Accept accept,
                                    const os::Interrupts& interrupts) {
  const Result<ollama::Tag> tag = ollama::parse_tag(text);
  if (!tag) return std::unexpected(tag.error());
  const auto stored = ollama::find_in_store(*tag, ollama::store_roots());
  if (!stored) {
    Error error = stored.error();
    if (error.kind == ErrorKind::not_found || error.kind == ErrorKind::denied) {
      Result<gguf::Header> served = header_of_server(ollama::to_string(*tag), accept, interrupts);
      if (served) {
        ModelHeaders out;
        out.headers.push_back(*std::move(served));
        out.label = ollama::to_string(*tag);
        out.paths.push_back(out.label);
        return out;
      }
      if (served.error().kind == ErrorKind::interrupted) return std::unexpected(served.error());
      error.message += "; and " + served.error().message;
    }
    return with_hint(fail(error.kind, "'{}' is no file here, and as an ollama model: {}",
                          plain(text), error.message),
                     "set OLLAMA_MODELS to the folder that holds its manifests and blobs, or "
                     "OLLAMA_HOST to a server that has it");
  }
  Result<ModelHeaders> model = headers_of_file(stored->model.path, accept);
  if (model) model->label = ollama::to_string(*tag);
  return model;
}

}  // namespace

std::unexpected<Error> cannot_read(const std::string& what, Error error) {
  error.message = fmt::format("cannot read '{}': {}", plain(what), error.message);
  return std::unexpected(std::move(error));
}

bool names_a_tag(const std::string& what) { return !is_file(what) && ollama::is_tag(what); }

std::int64_t tensor_bytes(const ModelHeaders& model) {
  std::int64_t sum = 0;
  for (const gguf::Header& header : model.headers) {
    for (const gguf::HeaderTensor& tensor : header.tensors) sum += tensor.bytes.value_or(0);
  }
  return sum;
}

Result<ModelHeaders> headers_of_file(const std::string& path, gguf::Accept accept) {
  Result<gguf::Header> given = read_file_header(path, accept);
  if (!given) return std::unexpected(given.error());
  Result<std::vector<std::string>> paths = gguf::shard_set_paths(path, *given);
  if (!paths) return cannot_read(path, paths.error());
  ModelHeaders out;
  out.paths = *std::move(paths);
  if (out.paths.size() == 1) {
    out.headers.push_back(*std::move(given));
    return out;
  }
  for (const std::string& shard : out.paths) {
    Result<gguf::Header> header = read_file_header(shard, accept);
    if (!header) {
      return with_hint(std::unexpected(header.error()),
                       fmt::format("'{}' is one of {} shards, which lie side by side", plain(path),
                                   out.paths.size()));
    }
    out.headers.push_back(*std::move(header));
  }
  return out;
}

Result<ModelHeaders> read_headers(const std::string& what, gguf::Accept accept,
                                  os::Interrupts& interrupts) {
  if (what == "-") return headers_of_stream(accept, interrupts);
  if (os::is_remote_name(what)) return headers_of_remote(what, accept, interrupts);
  if (names_a_tag(what)) return headers_of_tag(what, accept, interrupts);
  return headers_of_file(what, accept);
}

}  // namespace picchio
