#include "engines/ollama/served_tags.h"

#include "engines/answers/json_document.h"
#include "engines/ollama/tag.h"

#include <algorithm>

namespace picchio::ollama {
namespace {

using answers::Json;

constexpr std::int64_t kMostListBytes = std::int64_t{2} << 20;  // some hundred bytes a model

bool generates(const Json& row) {
  const Json* const told = answers::member(row, "capabilities");
  if (told == nullptr || !told->is_array() || told->empty()) return true;  // older servers
  return std::ranges::find(*told, Json("completion")) != told->end();
}

std::optional<ServedTag> tag_of(const Json& row) {
  std::string name = answers::text_in(row, "name");
  if (name.empty()) name = answers::text_in(row, "model");
  const auto tag = parse_tag(name);
  const bool elsewhere = !answers::text_in(row, "remote_host").empty() ||
                         !answers::text_in(row, "remote_model").empty();
  if (!tag || elsewhere || !generates(row)) return std::nullopt;
  return ServedTag{to_string(*tag), answers::count_in(row, "size")};
}

std::unexpected<Error> no_list() {
  return fail(ErrorKind::malformed, "it is no list of ollama's models");
}

}  // namespace

Result<std::vector<ServedTag>> parse_served_tags(std::string_view text) {
  const auto root = answers::parse_document(text);
  if (!root || !root->is_object() || !root->contains("models")) return no_list();
  std::vector<ServedTag> out;
  const Json& rows = (*root)["models"];
  if (rows.is_null()) return out;  // an empty store, in the words of some versions
  if (!rows.is_array()) return no_list();
  for (const Json& row : rows) {
    if (auto tag = tag_of(row)) out.push_back(*std::move(tag));
  }
  return out;
}

Result<std::vector<ServedTag>> ask_served_tags(os::HttpClient& client, const std::string& base_url,
                                               Micros patience) {
  os::HttpRequest request;
  request.url = base_url + "/api/tags";
  request.deadlines = {.connect = patience, .first_byte = patience, .stall = patience};
  request.max_body_bytes = kMostListBytes;
  const Result<os::HttpResponse> answer = client.send(request);
  if (!answer) return std::unexpected(answer.error());
  constexpr int kOk = 200;
  if (answer->head.status != kOk) return os::status_failure(answer->head);
  return parse_served_tags(answer->body);
}

}  // namespace picchio::ollama
