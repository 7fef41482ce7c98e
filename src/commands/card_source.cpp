#include "commands/card_source.h"

#include "base/text.h"
#include "commands/card_ollama.h"
#include "commands/header_source.h"
#include "gguf/card.h"
#include "history/history.h"
#include "os/file.h"
#include "os/remote_name.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace picchio {
namespace {

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

Result<Card> card_of_headers(const std::string& what, ModelHeaders model) {
  const std::string name =
      model.remote.empty() ? (what == "-" ? "standard input" : what) : model.paths.front();
  Result<Card> card = gguf::card_of(std::move(model.headers), std::move(model.paths));
  if (!card) return cannot_read(name, card.error());
  if (!model.label.empty()) card->label = std::move(model.label);
  for (std::size_t i = 0; i < model.remote.size(); ++i) {
    card->files[i].transferred_bytes = model.remote[i].transferred;
    if (const auto& hex = model.remote[i].digest) {
      card->files[i].digest = Digest{*hex, DigestSource::server};
    }
  }
  return card;
}

}  // namespace

Result<Card> card_of_file(const std::string& path) {
  Result<ModelHeaders> model = headers_of_file(path, gguf::Accept::readable);
  if (!model) return std::unexpected(model.error());
  const std::string first = model->paths.front();
  Result<Card> card = card_of_headers(path, *std::move(model));
  if (card) card->last_kv = last_kv(first);
  return card;
}

Result<Card> read_card(const std::string& what, os::Interrupts& interrupts) {
  if (what != "-" && !os::is_remote_name(what)) {
    return names_a_tag(what) ? card_of_tag(what, interrupts) : card_of_file(what);
  }
  Result<ModelHeaders> model = read_headers(what, gguf::Accept::readable, interrupts);
  if (!model) return std::unexpected(model.error());
  return card_of_headers(what, *std::move(model));
}

}  // namespace picchio
