#include "base/text.h"
#include "engines/answers/json_document.h"
#include "engines/ollama/served_tags.h"
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
const Json* row_of(const std::optional<Json>& list, const std::string& name,
                   const std::string& digest) {
  const Json& rows = answers::rows_in(list, "models");
  const auto found =
      std::ranges::find_if(rows, [&](const Json& row) { return is_row_of(row, name, digest); });
  return found == rows.end() ? nullptr : &*found;
}

/// How the rows of a store are spelled that differ from `name` least.
std::string close_names(const std::optional<Json>& list, const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const Json& row : answers::rows_in(list, "models")) {
    std::string told = answers::text_in(row, "name");
    if (!told.empty()) found.emplace_back(edit_distance(told, name), std::move(told));
  }
  std::ranges::sort(found);
  std::string out;
  constexpr std::size_t kFew = 4;
  for (std::size_t each = 0; each < found.size() && each < kFew; ++each) {
    out += (each == 0 ? "" : ", ") + fit(plain(found[each].second), 60);
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
    const auto tags = ollama::parse_served_tags(*text);
    if (!tags) return std::unexpected(tags.error());
    for (const ollama::ServedTag& each : *tags) stored.emplace_back().name = each.tag;
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
    const std::string near = close_names(document_at(asker(), "/api/tags"), asked);
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
  if (const std::string elsewhere = shown->remote_host.value_or(""); !elsewhere.empty()) {
    return with_hint(fail(ErrorKind::unsupported, "'{}' is computed by {}, not by this ollama",
                          fit(plain(asked), 80), fit(plain(elsewhere), 60)),
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
  const auto tags = document_at(asker(), "/api/tags");
  if (const Json* row = row_of(tags, asked, "")) {
    model.weight_bytes = answers::count_in(*row, "size");
    digest_ = answers::text_in(*row, "digest");
  }
  return model;
}

Result<bool> OllamaServer::unload(const Wait& wait) {
  const auto is_loaded = [&]() -> Result<bool> {
    const Result<std::string> text = asker().get_body("/api/ps");
    if (!text) return std::unexpected(text.error());
    const auto list = answers::parse_document(*text);
    if (!list) return fail(ErrorKind::malformed, "ollama's list of loaded models cannot be read");
    return row_of(list, name_, digest_) != nullptr;
  };
  const auto loaded = document_at(asker(), "/api/ps");
  for (const Json& row : answers::rows_in(loaded, "models")) {
    const std::string other = answers::text_in(row, "name");
    if (other.empty() || is_row_of(row, name_, digest_)) continue;
    wait.note(fmt::format("{} is loaded as well and may take memory from this one",
                          fit(plain(other), 60)));
  }
  Result<bool> there = is_loaded();
  if (!there || !*there) return there ? Result<bool>(true) : there;
  const Result<std::string> done = asker().post_body(
      "/api/generate", answers::written(Json{{"model", name_}, {"keep_alive", 0}}));
  if (!done) return std::unexpected(done.error());
  // The call returns before the runner has ended.
  const Micros limit = std::min(kUnloadLimit, wait.limit);
  const Micros until = os::monotonic_now() + limit;
  while (os::monotonic_now() < until) {
    if (!pause(wait, kPollEvery)) return std::unexpected(interrupted());
    there = is_loaded();
    if (!there) return there;
    if (!*there) return true;
  }
  wait.note(
      fmt::format("ollama still has it loaded after {:.0f} s; no pass is cold", seconds(limit)));
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
  const auto loaded = document_at(asker(), "/api/ps");
  const Json* row = row_of(loaded, name_, digest_);
  return row == nullptr ? "" : answers::written(*row);
}

}  // namespace picchio::servers
