#include "base/text.h"
#include "engines/answers/json_document.h"
#include "engines/ollama/show.h"
#include "engines/ollama/tag.h"
#include "engines/servers/apis.h"
#include "os/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio::servers {
namespace {

using answers::Json;

// ollama itself waits five seconds for a card's memory to come back, and says so after them.
constexpr Micros kUnloadLimit = std::chrono::seconds(30);
constexpr Micros kPollEvery{100'000};

std::string model_request(const std::string& name) {
  return answers::written(Json{{"model", name}});
}

/// "34.7B", "270M"
std::optional<double> parameters_of(std::string_view text) {
  double unit = 0;
  if (text.ends_with('B')) unit = 1e9;
  if (text.ends_with('M')) unit = 1e6;
  if (text.ends_with('K')) unit = 1e3;
  if (unit == 0) return std::nullopt;
  const auto number = parse_double(text.substr(0, text.size() - 1));
  if (!number || *number <= 0) return std::nullopt;
  return *number * unit;
}

std::optional<std::int64_t> context_of(const ollama::ShownModel& shown) {
  for (const auto& [key, value] : shown.values) {
    if (!key.ends_with(".context_length")) continue;
    const auto* length = std::get_if<std::int64_t>(&value);
    if (length != nullptr && *length > 0) return *length;
  }
  return std::nullopt;
}

/// A name as ollama compares it: "TINY" and "registry.ollama.ai/library/tiny" are "tiny:latest".
std::string normal(const std::string& name) {
  const auto tag = ollama::parse_tag(name);
  return lower(tag ? ollama::to_string(*tag) : name);
}

/// Its manifest's digest tells a model under every name that it was given.
bool is_row_of(const Json& row, const std::string& name, const std::string& digest) {
  if (!digest.empty() && answers::text_in(row, "digest") == digest) return true;
  for (const char* key : {"name", "model"}) {
    const std::string told = answers::text_in(row, key);
    if (!told.empty() && normal(told) == normal(name)) return true;
  }
  return false;
}

/// The model's row in a list of models; null: it is not there.
const Json* row_of(const Json& root, const std::string& name, const std::string& digest) {
  const Json* models = answers::member(root, "models");
  if (models == nullptr || !models->is_array()) return nullptr;
  const auto found =
      std::ranges::find_if(*models, [&](const Json& row) { return is_row_of(row, name, digest); });
  return found == models->end() ? nullptr : &*found;
}

/// How the rows of a store are spelled that differ from `name` little.
std::string close_names(const Json& root, const std::string& name) {
  const Json* models = answers::member(root, "models");
  if (models == nullptr || !models->is_array()) return {};
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const Json& row : *models) {
    std::string told = answers::text_in(row, "name");
    if (!told.empty()) found.emplace_back(edit_distance(told, name), std::move(told));
  }
  std::ranges::sort(found);
  std::string out;
  constexpr std::size_t kFew = 4;
  for (std::size_t i = 0; i < found.size() && i < kFew; ++i) {
    out += (i == 0 ? "" : ", ") + fit(plain(found[i].second), 60);
  }
  return out;
}

std::vector<std::string> others_loaded(const Json& root, const std::string& name,
                                       const std::string& digest) {
  std::vector<std::string> out;
  const Json* models = answers::member(root, "models");
  if (models == nullptr || !models->is_array()) return out;
  for (const Json& row : *models) {
    const std::string told = answers::text_in(row, "name");
    if (told.empty() || is_row_of(row, name, digest)) continue;
    out.push_back(fit(plain(told), 60));
  }
  return out;
}

}  // namespace

/// The one that is loaded, else the one that is stored.
Result<std::string> OllamaServer::only_model(const std::string& server) const {
  std::vector<ServedModel> stored;
  for (const char* path : {"/api/ps", "/api/tags"}) {
    stored.clear();
    const Result<std::string> text = asker().get_body(path);
    if (!text) return std::unexpected(text.error());
    const auto root = answers::parse_document(*text);
    const Json* rows = root ? answers::member(*root, "models") : nullptr;
    if (rows == nullptr || !rows->is_array()) continue;
    for (const Json& row : *rows) {
      ServedModel model;
      model.name = answers::text_in(row, "name");
      if (!model.name.empty()) stored.push_back(std::move(model));
    }
    if (stored.size() == 1) return stored.front().name;
  }
  const Result<ServedModel> chosen = choose_among(stored, "", server);
  if (!chosen) return std::unexpected(chosen.error());
  return chosen->name;
}

Result<ServedModel> OllamaServer::choose_model(const std::string& asked, const Wait& wait) {
  const std::string server = fmt::format("ollama at {}", plain(asker().endpoint().base_url));
  if (asked.empty()) {
    const Result<std::string> name = only_model(server);
    if (!name) return std::unexpected(name.error());
    return choose_model(*name, wait);
  }
  const Result<std::string> text = asker().post_body("/api/show", model_request(asked));
  if (!text) {
    if (text.error().kind != ErrorKind::not_found) return std::unexpected(text.error());
    const Result<std::string> tags = asker().get_body("/api/tags");
    const auto root = tags ? answers::parse_document(*tags) : std::nullopt;
    const std::string near = root ? close_names(*root, asked) : "";
    return with_hint(
        fail(ErrorKind::not_found, "{} has no model '{}'", server, fit(plain(asked), 80)),
        near.empty() ? fmt::format("ollama pull {}", fit(plain(asked), 80))
                     : fmt::format("it has {}", near));
  }
  const Result<ollama::ShownModel> shown = ollama::parse_show(*text);
  if (!shown) {
    return fail(shown.error().kind, "what {} tells of '{}' cannot be read: {}", server,
                fit(plain(asked), 60), shown.error().message);
  }
  if (shown->remote_host && !shown->remote_host->empty()) {
    return with_hint(fail(ErrorKind::unsupported, "'{}' is computed by {}, not by this ollama",
                          fit(plain(asked), 80), fit(plain(*shown->remote_host), 60)),
                     "name a model that is stored here; 'ollama list' shows them");
  }
  const bool told = !shown->capabilities.empty();
  if (told && std::ranges::find(shown->capabilities, "completion") == shown->capabilities.end()) {
    return fail(ErrorKind::unsupported, "'{}' does not generate text: it is a model for {}",
                fit(plain(asked), 80), fit(plain(shown->capabilities.front()), 40));
  }
  ServedModel model;
  name_ = model.name = asked;
  model.shown = asked;
  model.file = shown->blob.value_or("");
  model.context = context_of(*shown);
  if (const auto level = shown->details.find("quantization_level"); level != shown->details.end()) {
    model.quant = level->second;
  }
  if (const auto size = shown->details.find("parameter_size"); size != shown->details.end()) {
    model.parameters = parameters_of(size->second);
  }
  const Result<std::string> tags = asker().get_body("/api/tags");
  if (const auto root = tags ? answers::parse_document(*tags) : std::nullopt) {
    if (const Json* row = row_of(*root, asked, "")) {
      model.weight_bytes = answers::count_in(*row, "size");
      digest_ = answers::text_in(*row, "digest");
    }
  }
  return model;
}

Result<bool> OllamaServer::unload(const Wait& wait) {
  const auto look = [&]() -> Result<Json> {
    const Result<std::string> text = asker().get_body("/api/ps");
    if (!text) return std::unexpected(text.error());
    auto root = answers::parse_document(*text);
    if (!root) return fail(ErrorKind::malformed, "ollama's list of loaded models cannot be read");
    return *std::move(root);
  };
  Result<Json> loaded = look();
  if (!loaded) return std::unexpected(loaded.error());
  for (const std::string& other : others_loaded(*loaded, name_, digest_)) {
    wait.note(fmt::format("{} is loaded as well and may take memory from this one", other));
  }
  if (row_of(*loaded, name_, digest_) == nullptr) return true;
  const Result<std::string> done = asker().post_body(
      "/api/generate", answers::written(Json{{"model", name_}, {"keep_alive", 0}}));
  if (!done) return std::unexpected(done.error());
  // The call returns before the runner has ended.
  const Micros until = os::monotonic_now() + kUnloadLimit;
  while (os::monotonic_now() < until) {
    if (!pause(wait, kPollEvery)) return std::unexpected(interrupted());
    loaded = look();
    if (!loaded) return std::unexpected(loaded.error());
    if (row_of(*loaded, name_, digest_) == nullptr) return true;
  }
  wait.note(fmt::format("ollama still has it loaded after {:.0f} s; no pass is cold",
                        seconds(kUnloadLimit)));
  return false;
}

Call OllamaServer::call(const Order& order) const {
  const Json body = {
      {"model", name_},
      {"prompt", order.prompt},
      {"stream", true},
      {"options",
       {{"num_predict", order.tokens}, {"num_ctx", order.context}, {"seed", order.seed}}}};
  return {"/api/generate", answers::written(body)};
}

std::string OllamaServer::claim() const {
  const Result<std::string> text = asker().get_body("/api/ps");
  const auto root = text ? answers::parse_document(*text) : std::nullopt;
  const Json* row = root ? row_of(*root, name_, digest_) : nullptr;
  return row == nullptr ? "" : answers::written(*row);
}

}  // namespace picchio::servers
