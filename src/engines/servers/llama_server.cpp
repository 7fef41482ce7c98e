#include "base/text.h"
#include "engines/answers/json_document.h"
#include "engines/servers/apis.h"
#include "os/clock.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::servers {
namespace {

using answers::Json;

constexpr int kOk = 200;
constexpr int kUnavailable = 503;
constexpr Micros kPollEvery{200'000};

/// How a router's row stands: "loaded", "unloaded", "sleeping" ...
std::string status_of(const Json& row) {
  const Json* status = answers::object_in(row, "status");
  return status == nullptr ? "" : answers::text_in(*status, "value");
}

}  // namespace

std::string LlamaServer::with_model(std::string path) const {
  // A question about a router's model would load it.
  return name_.empty() ? path
                       : std::move(path) + "?model=" + query_escaped(name_) + "&autoload=false";
}

Result<> LlamaServer::wait_until_ready(const Wait& wait) const {
  const Micros until = os::monotonic_now() + wait.limit;
  bool told = false;
  while (true) {
    const Result<os::HttpResponse> health = asker().get("/health");
    if (!health) return std::unexpected(health.error());
    if (health->head.status != kUnavailable) {
      if (health->head.status == kOk) return {};
      return std::unexpected(
          refusal(health->head, health->body, !asker().endpoint().api_key.empty()));
    }
    if (os::monotonic_now() >= until) {
      const double waited = seconds(wait.limit);
      return with_hint(
          fail(ErrorKind::timed_out, "{} is still loading its model{}", plain(health->head.host),
               waited < 1 ? "" : fmt::format(" after {:.0f} s", waited)),
          "wait for it, or give more time with --timeout SECONDS");
    }
    if (!told) wait.note("the server is loading its model; waiting for it");
    told = true;
    if (!pause(wait, kPollEvery)) return std::unexpected(interrupted());
  }
}

Result<std::string> LlamaServer::choose_of_router(const std::string& asked) const {
  const Result<std::string> text = asker().get_body("/models");
  if (!text) return std::unexpected(text.error());
  const auto root = answers::parse_document(*text);
  const Json* rows = root ? answers::member(*root, "data") : nullptr;
  if (rows == nullptr || !rows->is_array()) {
    return fail(ErrorKind::malformed, "the server's list of models cannot be read");
  }
  std::vector<ServedModel> all;
  std::vector<ServedModel> loaded;
  for (const Json& row : *rows) {
    ServedModel model;
    model.name = answers::text_in(row, "id");
    if (model.name.empty()) continue;
    all.push_back(model);
    if (status_of(row) == "loaded") loaded.push_back(std::move(model));
  }
  const bool obvious = asked.empty() && loaded.size() == 1;
  const Result<ServedModel> chosen =
      choose_among(obvious ? loaded : all, asked, "this llama-server");
  if (!chosen) return std::unexpected(chosen.error());
  return chosen->name;
}

void LlamaServer::take_props(std::string_view text, ServedModel& model) {
  const auto root = answers::parse_document(text);
  if (!root) return;
  const std::string build = answers::text_in(*root, "build_info");
  if (detected().version.empty()) set_version(fit(plain(build), 40));
  model.file = answers::text_in(*root, "model_path");
  const std::string alias = answers::text_in(*root, "model_alias");
  if (!model.file.empty()) {
    model.shown = file_name(model.file);
  } else if (!alias.empty()) {
    model.shown = alias;
  }
  model.slots = answers::count_in(*root, "total_slots");
  if (const Json* settings = answers::object_in(*root, "default_generation_settings")) {
    model.context = answers::count_in(*settings, "n_ctx");
  }
}

Result<ServedModel> LlamaServer::choose_model(const std::string& asked, const Wait& wait) {
  if (const Result<> ready = wait_until_ready(wait); !ready) return std::unexpected(ready.error());
  ServedModel model;
  if (detected().router) {
    Result<std::string> name = choose_of_router(asked);
    if (!name) return std::unexpected(name.error());
    name_ = model.name = model.shown = *std::move(name);
  }
  const Result<os::HttpResponse> props = asker().get(with_model("/props"));
  if (!props) return std::unexpected(props.error());
  // A router may not know the properties of a model that it has not loaded yet.
  if (props->head.status == kOk) {
    take_props(props->body, model);
  } else if (!detected().router) {
    return std::unexpected(refusal(props->head, props->body, !asker().endpoint().api_key.empty()));
  }
  const auto list = document_at(asker(), "/v1/models");
  for (const Json& row : answers::rows_in(list, "data")) {
    const Json* meta = answers::object_in(row, "meta");
    if (meta == nullptr || (!name_.empty() && answers::text_in(row, "id") != name_)) continue;
    model.weight_bytes = answers::count_in(*meta, "size");
    model.parameters = answers::amount_in(*meta, "n_params");
    if (model.shown.empty()) model.shown = file_name(answers::text_in(row, "id"));
  }
  // A server with one model answers to any name; a name that is another's would mislead.
  const bool other = !detected().router && !asked.empty() && asked != model.shown &&
                     asked != model.file && !model.shown.starts_with(asked);
  if (other) {
    return with_hint(
        fail(ErrorKind::not_found, "this llama-server has no model '{}'", fit(plain(asked), 60)),
        fmt::format("it has {}", fit(plain(model.shown), 80)));
  }
  return model;
}

Result<bool> LlamaServer::unload(const Wait& wait) {
  if (!detected().router) return false;
  const Result<os::HttpResponse> done =
      asker().post("/models/unload", answers::written(Json{{"model", name_}}));
  if (!done) return std::unexpected(done.error());
  const Micros until = os::monotonic_now() + std::min<Micros>(wait.limit, std::chrono::seconds(30));
  while (os::monotonic_now() < until) {
    const auto list = document_at(asker(), "/models");
    const Json& rows = answers::rows_in(list, "data");
    const auto row = std::ranges::find_if(
        rows, [&](const Json& each) { return answers::text_in(each, "id") == name_; });
    if (row == rows.end()) return false;
    if (status_of(*row) == "unloaded") return true;
    if (!pause(wait, kPollEvery)) return std::unexpected(interrupted());
  }
  return false;
}

std::string LlamaServer::busy() const {
  const Result<os::HttpResponse> slots = asker().get(with_model("/slots"));
  if (!slots || slots->head.status != kOk) return {};
  const auto root = answers::parse_document(slots->body);
  if (!root || !root->is_array()) return {};
  const auto working = std::ranges::count_if(
      *root, [](const Json& slot) { return answers::flag_in(slot, "is_processing"); });
  if (working == 0) return {};
  return fmt::format("{} of {} slots are at work for others", working, root->size());
}

Call LlamaServer::call(const Order& order) const {
  Json body = {{"prompt", order.prompt}, {"n_predict", order.tokens}, {"seed", order.seed},
               {"ignore_eos", true},     {"cache_prompt", false},     {"stream", true}};
  if (!name_.empty()) body["model"] = name_;
  return {"/completion", answers::written(body)};
}

}  // namespace picchio::servers
