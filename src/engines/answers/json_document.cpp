#include "engines/answers/json_document.h"

#include <cmath>

namespace picchio::answers {
namespace {

constexpr int kDeepest = 32;
constexpr double kMostOfAnything = 1e15;

/// The library would build whatever is nested, however deep, before anybody could look.
bool is_shallow(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) return false;
  }
  return true;
}

}  // namespace

std::optional<Json> parse_document(std::string_view text) {
  if (text.size() > kMostDocumentBytes || !is_shallow(text)) return std::nullopt;
  Json out = Json::parse(text, nullptr, false);
  if (out.is_discarded()) return std::nullopt;
  return out;
}

std::string written(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json* object_in(const Json& object, const char* key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_object() ? found : nullptr;
}

const Json& rows_in(const std::optional<Json>& document, const char* key) {
  static const Json none = Json::array();
  const Json* found = document ? member(*document, key) : nullptr;
  return found != nullptr && found->is_array() ? *found : none;
}

std::string text_in(const Json& object, const char* key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

bool flag_in(const Json& object, const char* key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::optional<std::int64_t> count_in(const Json& object, const char* key) {
  const std::optional<double> amount = amount_in(object, key);
  if (!amount || *amount != std::floor(*amount)) return std::nullopt;
  return static_cast<std::int64_t>(*amount);
}

std::optional<double> amount_in(const Json& object, const char* key) {
  const Json* found = member(object, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  if (!std::isfinite(value) || value < 0 || value > kMostOfAnything) return std::nullopt;
  return value;
}

}  // namespace picchio::answers
