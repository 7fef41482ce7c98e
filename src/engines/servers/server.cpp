#include "engines/servers/server.h"

#include "base/text.h"
#include "engines/servers/apis.h"
#include "os/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace picchio::servers {
namespace {

constexpr std::size_t kMostNamed = 8;

std::string names_of(const std::vector<ServedModel>& models) {
  std::string out;
  for (std::size_t i = 0; i < models.size() && i < kMostNamed; ++i) {
    out += (i == 0 ? "" : ", ") + fit(plain(models[i].name), 60);
  }
  if (models.size() > kMostNamed) out += fmt::format(" and {} more", models.size() - kMostNamed);
  return out;
}

}  // namespace

Result<bool> Server::unload(const Wait& /*wait*/) { return false; }

std::optional<Micros> Server::latency() const {
  const char* path = detected().kind == ServerKind::llama_server ? "/health" : "/v1/models";
  const Micros began = os::monotonic_now();
  if (!asker_.get(path)) return std::nullopt;
  return os::monotonic_now() - began;
}

std::unique_ptr<Server> open_server(DetectedServer detected, os::HttpClient& client) {
  Asker asker(client, detected.endpoint);
  switch (detected.kind) {
    case ServerKind::ollama:
      return std::make_unique<OllamaServer>(std::move(detected), std::move(asker));
    case ServerKind::llama_server:
      return std::make_unique<LlamaServer>(std::move(detected), std::move(asker));
    case ServerKind::lm_studio:
    case ServerKind::koboldcpp:
    case ServerKind::tabby_api:
    case ServerKind::vllm:
    case ServerKind::sglang:
    case ServerKind::mlx_lm:
    case ServerKind::text_generation_webui:
    case ServerKind::openai:
      break;
  }
  return std::make_unique<OpenAiServer>(std::move(detected), std::move(asker));
}

std::optional<answers::Json> document_at(const Asker& asker, std::string_view path) {
  const Result<std::string> text = asker.get_body(path);
  return text ? answers::parse_document(*text) : std::nullopt;
}

Result<ServedModel> choose_among(const std::vector<ServedModel>& models, const std::string& asked,
                                 const std::string& server) {
  if (models.empty()) {
    return with_hint(fail(ErrorKind::not_found, "{} has no model loaded", server),
                     "load one there, and try again");
  }
  if (asked.empty()) {
    if (models.size() == 1) return models.front();
    return with_hint(fail(ErrorKind::unsupported, "{} has {} models: {}", server, models.size(),
                          names_of(models)),
                     "name one of them with --model NAME");
  }
  const auto found = std::ranges::find(models, asked, &ServedModel::name);
  if (found != models.end()) return *found;
  return with_hint(
      fail(ErrorKind::not_found, "{} has no model '{}'", server, fit(plain(asked), 60)),
      fmt::format("it has {}", names_of(models)));
}

bool pause(const Wait& wait, Micros length) {
  constexpr Micros kStep{20'000};
  const Micros until = os::monotonic_now() + length;
  while (os::monotonic_now() < until && !wait.interrupts.caught()) {
    std::this_thread::sleep_for(kStep);
  }
  return !wait.interrupts.caught();
}

Error interrupted() { return {ErrorKind::interrupted, "interrupted", ""}; }

}  // namespace picchio::servers
