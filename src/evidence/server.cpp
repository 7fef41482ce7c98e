#include "evidence/server.h"

#include <algorithm>
#include <iterator>

namespace picchio {
namespace {

struct NamedKind {
  ServerKind kind;
  std::string_view name;
};

constexpr NamedKind kKinds[] = {
    {ServerKind::ollama, "ollama"},
    {ServerKind::llama_server, "llama-server"},
    {ServerKind::lm_studio, "LM Studio"},
    {ServerKind::koboldcpp, "KoboldCpp"},
    {ServerKind::tabby_api, "TabbyAPI"},
    {ServerKind::vllm, "vLLM"},
    {ServerKind::sglang, "SGLang"},
    {ServerKind::mlx_lm, "mlx-lm"},
    {ServerKind::text_generation_webui, "text-generation-webui"},
    {ServerKind::openai, "OpenAI-compatible server"},
};

}  // namespace

std::string_view name_of(ServerKind kind) {
  const auto* found = std::ranges::find(kKinds, kind, &NamedKind::kind);
  return found == std::end(kKinds) ? "server" : found->name;
}

std::optional<ServerKind> server_kind_of(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &NamedKind::name);
  return found == std::end(kKinds) ? std::nullopt : std::optional(found->kind);
}

std::string_view name_of(RateSource source) {
  switch (source) {
    case RateSource::none:
      return "nobody's";
    case RateSource::engine:
      return "its own timings";
    case RateSource::counters:
      return "its counters";
    case RateSource::clock:
      return "our clock";
  }
  return "nobody's";
}

}  // namespace picchio
