#include "commands/card_source.h"

#include "base/text.h"
#include "commands/card_ollama.h"
#include "commands/progress.h"
#include "commands/read_header.h"
#include "engines/ollama/tag.h"
#include "gguf/card.h"
#include "gguf/header.h"
#include "gguf/shards.h"
#include "history/history.h"
#include "os/file.h"
#include "os/http.h"
#include "os/remote_head.h"
#include "os/remote_name.h"
#include "version.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace picchio {
namespace {

// Small models' headers fit at once; a large vocabulary takes some rounds.
// A third of a large header at the rate of a slow line; a server that drips is not waited for.
constexpr Micros kMostSecondsAPiece = std::chrono::minutes(5);
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

std::unexpected<Error> about(const std::string& what, Error error) {
  error.message = fmt::format("cannot read '{}': {}", plain(what), error.message);
  return std::unexpected(std::move(error));
}

/// The types of the KV cache are a choice of the run: those of the last one measured here.
std::optional<LastKv> last_kv(const std::string& model) {
  const Result<std::string> folder = os::cache_dir();
  if (!folder) return std::nullopt;
  auto opened = history::History::open_existing(*folder, nullptr);
  if (!opened) return std::nullopt;  // a broken cache is no reason to print no card
  std::optional<history::History>& runs = *opened;
  if (!runs) return std::nullopt;
  const auto found = runs->newest_with_kv(os::real_path(model).value_or(model));
  if (!found) return std::nullopt;
  const std::optional<StoredRow>& row = *found;
  if (!row) return std::nullopt;
  return LastKv{row->kv_type_k, row->kv_type_v, to_rfc3339(row->at),
                fmt::format("{} {}", row->engine, row->build)};
}

/// Reads standard input only as far as the header goes: what follows can be the whole model.
Result<Card> card_of_stream(os::Interrupts& interrupts) {
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
    Result<gguf::Header> header =
        gguf::read_header(view, std::nullopt, gguf::Accept::readable, &needed);
    if (header) {
      std::vector<gguf::Header> one;
      one.push_back(*std::move(header));
      Result<Card> card = gguf::card_of(std::move(one), {"-"});
      if (!card) return about("standard input", card.error());
      return card;
    }
    if (header.error().kind != ErrorKind::failed) return about("standard input", header.error());
    if (!more) {
      // The end is known now: the reader can say what is missing.
      const auto cut = gguf::read_header(view, ended, gguf::Accept::readable);
      return about("standard input", cut ? header.error() : cut.error());
    }
    wanted =
        std::max(bytes.size() * 2, static_cast<std::size_t>(std::max<std::int64_t>(needed, 0)));
  }
}

struct RemoteHeader {
  gguf::Header header;
  std::optional<std::string> digest;
  std::int64_t transferred = 0;
  std::string shown;
};

Result<RemoteHeader> read_remote_header(const std::string& what, const os::Interrupts& interrupts) {
  const Result<os::RemoteName> name = os::remote_name(what, os::hub_settings());
  if (!name) return std::unexpected(name.error());
  Result<os::HttpClient> client =
      os::HttpClient::open({fmt::format("picchio/{}", kVersion), {}}, &interrupts);
  if (!client) return std::unexpected(client.error());
  Result<os::RemoteHead> head =
      os::RemoteHead::open(*std::move(client), *name, {.overall = kMostSecondsAPiece});
  if (!head) return std::unexpected(head.error());
  ByteProgress progress("header of " + fit(plain(name->shown), 60), std::nullopt);
  for (;;) {
    std::int64_t needed = 0;
    Result<gguf::Header> header =
        gguf::read_header(head->bytes(), head->file_bytes(), gguf::Accept::readable, &needed);
    if (header) {
      return RemoteHeader{*std::move(header), head->server_digest(), head->transferred(),
                          name->shown};
    }
    if (header.error().kind != ErrorKind::failed) return about(name->shown, header.error());
    const auto more = std::max(static_cast<std::size_t>(needed), head->bytes().size() + 1);
    if (const Result<> grown = head->grow(more); !grown) return std::unexpected(grown.error());
    progress.update(head->transferred());
  }
}

/// Reads as much of each file as its header takes; a split model's shards one after the other.
Result<Card> card_of_remote(const std::string& what, const os::Interrupts& interrupts) {
  Result<RemoteHeader> given = read_remote_header(what, interrupts);
  if (!given) return std::unexpected(given.error());
  const std::string tail(os::behind_file_name(what));
  Result<std::vector<std::string>> names = gguf::shard_set_paths(
      std::string_view(what).substr(0, what.size() - tail.size()), given->header);
  if (!names) {
    // Its words would show the address, and in it a password or a signature.
    return fail(names.error().kind, "cannot find the other shards of '{}' by its name",
                plain(given->shown));
  }
  const std::string given_name = given->shown;
  std::vector<RemoteHeader> remote;
  if (names->size() == 1) {
    remote.push_back(*std::move(given));
  } else {
    for (const std::string& name : *names) {
      Result<RemoteHeader> shard = read_remote_header(name + tail, interrupts);
      if (!shard) return std::unexpected(shard.error());
      remote.push_back(*std::move(shard));
    }
  }
  std::vector<gguf::Header> headers;
  std::vector<std::string> paths;
  for (RemoteHeader& one : remote) {
    headers.push_back(std::move(one.header));
    paths.push_back(one.shown);
  }
  Result<Card> card = gguf::card_of(std::move(headers), std::move(paths));
  if (!card) return about(given_name, card.error());
  card->label =
      base_name(os::without_secrets(std::string_view(what).substr(0, what.size() - tail.size())));
  for (std::size_t i = 0; i < remote.size(); ++i) {
    card->files[i].transferred_bytes = remote[i].transferred;
    if (const auto& hex = remote[i].digest) {
      card->files[i].digest = Digest{*hex, DigestSource::server};
    }
  }
  return card;
}

}  // namespace

Result<Card> card_of_file(const std::string& path) {
  Result<gguf::Header> given = read_file_header(path, gguf::Accept::readable);
  if (!given) return std::unexpected(given.error());
  Result<std::vector<std::string>> paths = gguf::shard_set_paths(path, *given);
  if (!paths) return about(path, paths.error());
  std::vector<gguf::Header> headers;
  for (const std::string& shard : *paths) {
    if (paths->size() == 1) {
      headers.push_back(*std::move(given));
      break;
    }
    Result<gguf::Header> header = read_file_header(shard, gguf::Accept::readable);
    if (!header) {
      return with_hint(std::unexpected(header.error()),
                       fmt::format("'{}' is one of {} shards, which lie side by side", plain(path),
                                   paths->size()));
    }
    headers.push_back(*std::move(header));
  }
  const std::string first = paths->front();
  Result<Card> card = gguf::card_of(std::move(headers), *std::move(paths));
  if (!card) return about(path, card.error());
  card->last_kv = last_kv(first);
  return card;
}

// A folder of that name is no model, and must not stand before one that ollama has.
bool is_file(const std::string& what) {
  std::error_code ignored;
  return os::exists(what) && !std::filesystem::is_directory(what, ignored);
}

Result<Card> read_card(const std::string& what, os::Interrupts& interrupts) {
  if (what == "-") return card_of_stream(interrupts);
  if (os::is_remote_name(what)) return card_of_remote(what, interrupts);
  if (!is_file(what) && ollama::is_tag(what)) return card_of_tag(what, interrupts);
  return card_of_file(what);
}

}  // namespace picchio
