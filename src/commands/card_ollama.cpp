#include "commands/card_ollama.h"

#include "base/text.h"
#include "commands/card_source.h"
#include "commands/header_ollama.h"
#include "engines/ollama/address.h"
#include "engines/ollama/show.h"
#include "engines/ollama/store.h"
#include "engines/ollama/tag.h"
#include "gguf/card.h"
#include "os/http.h"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

namespace picchio {
namespace {

using ollama::ShownModel;

template <class T>
std::optional<T> value_of(const ShownModel& model, const std::string& key) {
  const auto found = model.values.find(key);
  if (found == model.values.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

/// Counts and sizes: what is negative was not told.
std::optional<std::int64_t> count_of(const ShownModel& model, const std::string& key) {
  const auto value = value_of<std::int64_t>(model, key);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int64_t> length_of(const ShownModel& model, const std::string& key) {
  const auto list = value_of<ollama::LongArray>(model, key);
  return list ? std::optional<std::int64_t>(list->length) : std::nullopt;
}

/// The header's values as far as the server tells them.
gguf::Header values_of(const ShownModel& model) {
  gguf::Header header;
  header.version = 3;
  header.architecture = value_of<std::string>(model, "general.architecture");
  header.name = value_of<std::string>(model, "general.name");
  header.type = value_of<std::string>(model, "general.type");
  header.file_type = count_of(model, "general.file_type");
  header.size_label = value_of<std::string>(model, "general.size_label");
  const std::string prefix = header.architecture.value_or("") + '.';
  header.block_count = count_of(model, prefix + "block_count");
  header.context_length = count_of(model, prefix + "context_length");
  header.embedding_length = count_of(model, prefix + "embedding_length");
  header.expert_count = count_of(model, prefix + "expert_count");
  header.expert_used_count = count_of(model, prefix + "expert_used_count");
  header.expert_shared_count = count_of(model, prefix + "expert_shared_count");
  header.nextn_predict_layers = count_of(model, prefix + "nextn_predict_layers");
  header.causal_attention = value_of<bool>(model, prefix + "attention.causal");
  header.tokenizer.model = value_of<std::string>(model, "tokenizer.ggml.model").value_or("");
  header.tokenizer.pre = value_of<std::string>(model, "tokenizer.ggml.pre").value_or("");
  header.tokenizer.vocabulary = length_of(model, "tokenizer.ggml.tokens");
  header.tokenizer.merges = length_of(model, "tokenizer.ggml.merges");
  for (const auto& [key, value] : model.values) {
    const auto* text = std::get_if<std::string>(&value);
    const bool source = key.starts_with("general.") && key != "general.architecture";
    if (text != nullptr && source && header.sources.size() < gguf::kMaxSources) {
      header.sources.push_back({key, text->substr(0, gguf::kMaxSourceBytes)});
    }
  }
  return header;
}

Result<Card> card_of_server(const std::string& tag, const os::Interrupts& interrupts) {
  const Result<ShownModel> shown = shown_by_server(tag, interrupts);
  if (!shown) return std::unexpected(shown.error());
  std::vector<gguf::TableRow> rows;
  for (const ollama::ShownTensor& tensor : shown->tensors) {
    rows.push_back({tensor.name, tensor.type, tensor.shape});
  }
  return gguf::card_of_table(values_of(*shown), rows, tag);
}

}  // namespace

Result<Card> card_of_tag(const std::string& text, const os::Interrupts& interrupts) {
  const Result<ollama::Tag> tag = ollama::parse_tag(text);
  if (!tag) return std::unexpected(tag.error());
  const std::string label = ollama::to_string(*tag);
  const std::vector<std::string> roots = ollama::store_roots();
  const Result<ollama::StoredModel> stored = ollama::find_in_store(*tag, roots);
  if (stored) {
    Result<Card> card = card_of_file(stored->model.path);
    if (card) card->label = label;
    return card;
  }
  const bool elsewhere =
      stored.error().kind == ErrorKind::not_found || stored.error().kind == ErrorKind::denied;
  std::string asked;
  if (elsewhere) {
    Result<Card> card = card_of_server(label, interrupts);
    if (card) {
      card->label = label;
      return card;
    }
    if (card.error().kind == ErrorKind::interrupted) return card;
    asked = card.error().message;
  }
  if (stored.error().kind == ErrorKind::not_found && ollama::installed_tags(roots).empty()) {
    return with_hint(
        fail(ErrorKind::not_found,
             "'{}' is no file here, and there is no ollama store or server that "
             "knows a model of that name",
             plain(text)),
        fmt::format("set OLLAMA_MODELS or OLLAMA_HOST if ollama lies elsewhere; {}", asked));
  }
  Error error = stored.error();
  error.message =
      fmt::format("'{}' is no file here, and as an ollama model: {}", plain(text), error.message);
  return std::unexpected(std::move(error));
}

}  // namespace picchio
