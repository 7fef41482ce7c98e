#include "base/text.h"
#include "engines/answers/json_document.h"
#include "engines/answers/prometheus.h"
#include "engines/servers/apis.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::servers {
namespace {

using answers::Json;

}  // namespace

std::vector<ServedModel> OpenAiServer::models() const {
  std::vector<ServedModel> out;
  const auto root = document_at(asker(), "/v1/models");
  for (const Json& row : answers::rows_in(root, "data")) {
    ServedModel model;
    model.name = model.shown = answers::text_in(row, "id");
    model.context = answers::count_in(row, "max_model_len");
    if (!model.name.empty()) out.push_back(std::move(model));
  }
  return out;
}

std::vector<ServedModel> OpenAiServer::lm_studio_models() {
  const auto newer = document_at(asker(), "/api/v1/models");
  has_v1_api_ = newer && answers::member(*newer, "models") != nullptr;
  std::vector<ServedModel> out;
  // The older list tells which are loaded in both versions.
  const auto root = document_at(asker(), "/api/v0/models");
  for (const Json& row : answers::rows_in(root, "data")) {
    if (answers::text_in(row, "state") != "loaded") continue;
    ServedModel model;
    model.name = model.shown = answers::text_in(row, "id");
    model.quant = answers::text_in(row, "quantization");
    model.context = answers::count_in(row, "loaded_context_length");
    if (!model.name.empty() && answers::text_in(row, "type") != "embeddings") {
      out.push_back(std::move(model));
    }
  }
  return out;
}

Result<ServedModel> OpenAiServer::choose_model(const std::string& asked, const Wait& /*wait*/) {
  const std::string server =
      fmt::format("{} at {}", name_of(detected().kind), plain(asker().endpoint().base_url));
  std::vector<ServedModel> found;
  if (detected().kind == ServerKind::lm_studio) found = lm_studio_models();
  if (found.empty() && (detected().kind != ServerKind::lm_studio || !asked.empty())) {
    found = models();
  }
  Result<ServedModel> model = choose_among(found, asked, server);
  if (model) name_ = model->name;
  return model;
}

std::string OpenAiServer::busy() const {
  if (detected().kind == ServerKind::koboldcpp) {
    const auto root = document_at(asker(), "/api/extra/perf");
    if (!root) return {};
    const auto queued = answers::count_in(*root, "queue").value_or(0);
    const auto idle = answers::count_in(*root, "idle");
    if (queued > 0 || idle == 0) return "it is at work for others";
    return {};
  }
  const answers::Counters metrics = answers::read_prometheus(counters());
  for (const std::string_view name : {"vllm:num_requests_running", "sglang:num_running_reqs"}) {
    const auto running = metrics.find(name);
    if (running != metrics.end() && running->second > 0) {
      return fmt::format("it is at work on {:.0f} requests of others", running->second);
    }
  }
  return {};
}

std::string OpenAiServer::counters() const {
  const char* path = nullptr;
  if (detected().kind == ServerKind::koboldcpp) path = "/api/extra/perf";
  if (detected().kind == ServerKind::vllm || detected().kind == ServerKind::sglang) {
    path = "/metrics";
  }
  if (path == nullptr) return {};
  return asker().get_body(path).value_or("");
}

Call OpenAiServer::call(const Order& order) const {
  const ServerKind kind = detected().kind;
  if (kind == ServerKind::koboldcpp) {
    const Json body = {{"prompt", order.prompt},
                       {"max_length", order.tokens},
                       {"max_context_length", order.context},
                       {"ban_eos_token", true},
                       {"sampler_seed", order.seed}};
    return {"/api/extra/generate/stream", answers::written(body)};
  }
  if (kind == ServerKind::lm_studio && has_v1_api_ && !plain_) {
    const Json body = {{"model", name_},
                       {"input", order.prompt},
                       {"max_output_tokens", order.tokens},
                       {"stream", true}};
    return {"/api/v1/chat", answers::written(body)};
  }
  const Json messages = Json::array({{{"role", "user"}, {"content", order.prompt}}});
  Json body = {
      {"model", name_}, {"messages", messages}, {"max_tokens", order.tokens}, {"stream", true}};
  if (!plain_) {
    body["stream_options"] = {{"include_usage", true}};
    body["seed"] = order.seed;
    if (kind == ServerKind::vllm || kind == ServerKind::sglang) body["ignore_eos"] = true;
  }
  return {kind == ServerKind::lm_studio ? "/api/v0/chat/completions" : "/v1/chat/completions",
          answers::written(body)};
}

bool OpenAiServer::simplify() {
  if (plain_) return false;
  plain_ = true;
  return true;
}

}  // namespace picchio::servers
