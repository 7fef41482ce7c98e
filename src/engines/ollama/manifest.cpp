#include "engines/ollama/manifest.h"

#include "base/text.h"

#include <nlohmann/json.hpp>

namespace picchio::ollama {
namespace {

using nlohmann::json;

constexpr std::size_t kDigits = 64;
constexpr std::size_t kMostLayers = 4096;  // safetensors models have one for each tensor
constexpr std::int64_t kMostLayerBytes = std::int64_t{1} << 50;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::int64_t> size_of(const json& object) {
  const auto found = object.find("size");
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto bytes = found->get<std::int64_t>();
  if (bytes < 0 || bytes > kMostLayerBytes) return std::nullopt;
  return bytes;
}

std::optional<Layer> layer_of(const json& object) {
  if (!object.is_object()) return std::nullopt;
  Layer out;
  const std::string type = text_of(object, "mediaType");
  std::string_view kind = type;
  take_prefix(kind, "application/vnd.ollama.image.");
  out.kind = kind;
  const std::string digest = text_of(object, "digest");
  std::string_view hex = digest;
  // It becomes the name of a file.
  if (!take_prefix(hex, "sha256:") || hex.size() != kDigits ||
      hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  out.digest = hex;
  out.bytes = size_of(object);
  return out;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return fail(ErrorKind::malformed, "it is no JSON object");
  const auto layers = root.find("layers");
  if (layers == root.end() || !(layers->is_array() || layers->is_null())) {
    return fail(ErrorKind::malformed, "it has no list of layers");
  }
  Manifest out;
  if (const auto config = root.find("config"); config != root.end() && config->is_object()) {
    out.bytes = size_of(*config).value_or(0);
  }
  if (layers->size() > kMostLayers) {
    return fail(ErrorKind::malformed, "it lists {} layers", layers->size());
  }
  for (const json& each : *layers) {
    auto layer = layer_of(each);
    if (!layer) {
      return fail(ErrorKind::malformed, "layer {} has no digest of the form sha256:HEX",
                  out.layers.size() + 1);
    }
    out.bytes += layer->bytes.value_or(0);
    out.layers.push_back(*std::move(layer));
  }
  return out;
}

}  // namespace picchio::ollama
