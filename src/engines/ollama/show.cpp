#include "engines/ollama/show.h"

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <limits>
#include <utility>

namespace picchio::ollama {
namespace {

using nlohmann::json;

// A vocabulary of 262,144 words with its merges and scores is 15 to 25 MB of JSON.
constexpr std::int64_t kMostAnswerBytes = std::int64_t{256} << 20;
constexpr std::size_t kMostErrorText = 200;
constexpr std::size_t kMostDimensions = 4;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Absent for what does not fit: a count from outside is never bent.
std::optional<std::int64_t> integer_of(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return value.get<std::int64_t>();
}

/// Throws array elements away while the text is parsed, so that a vocabulary never becomes a tree.
/// Depths as the parser counts them: the answer is 0, model_info 1, an array in it 2, its elements
/// 3.
class ArrayCutter {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    constexpr int kInfo = 1;
    if (event == json::parse_event_t::key && depth == kInfo) {
      in_info_ = parsed == "model_info" || parsed == "projector_info";
    }
    if (!in_info_) return true;
    if (event == json::parse_event_t::key && depth == kInfo + 1) {
      key_ = parsed.get<std::string>();
      length_ = 0;
      return true;
    }
    const bool value = event == json::parse_event_t::value;
    const bool nested =
        event == json::parse_event_t::array_start || event == json::parse_event_t::object_start;
    if (depth == kInfo + 2 && (value || nested)) {
      ++length_;
      return value && parsed.is_number() && length_ <= static_cast<std::int64_t>(kMostNumbers);
    }
    const bool array_ends = event == json::parse_event_t::array_end && depth == kInfo + 1;
    if (array_ends && static_cast<std::int64_t>(parsed.size()) != length_) cut_[key_] = length_;
    return true;
  }

  [[nodiscard]] const std::map<std::string, std::int64_t>& cut() const { return cut_; }

 private:
  bool in_info_ = false;
  std::string key_;
  std::int64_t length_ = 0;
  std::map<std::string, std::int64_t> cut_;
};

std::optional<ShownValue> array_value(const json& array) {
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  for (const json& each : array) {
    if (!each.is_number()) return LongArray{static_cast<std::int64_t>(array.size())};
    if (const auto integer = integer_of(each)) integers.push_back(*integer);
    numbers.push_back(each.get<double>());
  }
  // Without "verbose" ollama sends long arrays as empty ones: their length is not known.
  if (numbers.empty()) return std::nullopt;
  if (integers.size() == numbers.size()) return integers;
  return numbers;
}

std::optional<ShownValue> value_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (const auto integer = integer_of(value)) return *integer;
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return array_value(value);
  return std::nullopt;
}

Result<ShownTensor> tensor_of(const json& row, std::size_t number) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::malformed, "tensor {} of its table {}", number, why);
  };
  if (!row.is_object()) return refuse("is no object");
  ShownTensor out{text_of(row, "name"), text_of(row, "type"), {}};
  if (out.name.empty()) return refuse("has no name");
  if (out.type.empty()) return refuse("has no type");
  const auto shape = row.find("shape");
  if (shape == row.end() || !shape->is_array() || shape->size() > kMostDimensions) {
    return refuse("has no shape");
  }
  for (const json& each : *shape) {
    const auto size = integer_of(each);
    if (!size || *size < 0) return refuse("has a shape that is none");
    out.shape.push_back(*size);
  }
  return out;
}

// "FROM /usr/share/ollama/.ollama/models/blobs/sha256-HEX" of the Modelfile, once the file's path.
std::optional<std::string> blob_path(const std::string& modelfile) {
  for (std::string_view line : split_lines(modelfile)) {
    if (!take_prefix(line, "FROM ")) continue;
    line = trim(line);
    if (line.contains("/blobs/sha256") || line.contains("\\blobs\\sha256"))
      return std::string(line);
  }
  return std::nullopt;
}

void take_texts(const json& root, ShownModel& out) {
  if (const auto details = root.find("details"); details != root.end() && details->is_object()) {
    for (const auto& [key, value] : details->items()) {
      if (value.is_string()) out.details[key] = value.get<std::string>();
    }
  }
  if (const auto all = root.find("capabilities"); all != root.end() && all->is_array()) {
    for (const json& each : *all) {
      if (each.is_string()) out.capabilities.push_back(each.get<std::string>());
    }
  }
  out.blob = blob_path(text_of(root, "modelfile"));
  out.has_template = !text_of(root, "template").empty();
  out.has_parameters = !text_of(root, "parameters").empty();
  if (std::string host = text_of(root, "remote_host"); !host.empty()) {
    out.remote_host = std::move(host);
  }
}

std::string error_text(std::string_view body) {
  const json root = json::parse(body, nullptr, false);
  return root.is_object() ? fit(plain(text_of(root, "error")), kMostErrorText) : "";
}

}  // namespace

Result<ShownModel> parse_show(std::string_view text) {
  ArrayCutter cutter;
  const json root = json::parse(text, std::ref(cutter), false);
  if (!root.is_object()) return fail(ErrorKind::malformed, "it is no JSON object");
  if (const auto error = text_of(root, "error"); !error.empty()) {
    return fail(ErrorKind::failed, "{}", fit(plain(error), kMostErrorText));
  }
  ShownModel out;
  take_texts(root, out);
  const auto info = root.find("model_info");
  if (info == root.end() || !info->is_object()) {
    if (out.remote_host) return out;
    return fail(ErrorKind::malformed, "it has no model_info");
  }
  for (const auto& [key, value] : info->items()) {
    if (auto kept = value_of(value)) out.values.emplace(key, *std::move(kept));
  }
  for (const auto& [key, length] : cutter.cut()) {
    if (info->contains(key)) out.values.insert_or_assign(key, LongArray{length});
  }
  const auto tensors = root.find("tensors");
  if (tensors == root.end() || !tensors->is_array()) return out;
  out.tensors.reserve(tensors->size());
  for (const json& row : *tensors) {
    auto tensor = tensor_of(row, out.tensors.size() + 1);
    if (!tensor) return std::unexpected(tensor.error());
    out.tensors.push_back(*std::move(tensor));
  }
  return out;
}

Result<ShownModel> ask_show(os::HttpClient& client, const std::string& base_url,
                            const std::string& tag) {
  os::HttpRequest request;
  request.url = base_url + "/api/show";
  request.post =
      json{{"model", tag}, {"verbose", true}}.dump(-1, ' ', true, json::error_handler_t::replace);
  request.headers = {{"content-type", "application/json"}};
  request.max_body_bytes = kMostAnswerBytes;
  const auto answer = client.send(request);
  if (!answer) {
    Error error = answer.error();
    error.message = fmt::format("cannot ask ollama for '{}': {}", plain(tag), error.message);
    return std::unexpected(std::move(error));
  }
  const std::string host = plain(answer->head.host);
  if (answer->head.status != 200) {
    const std::string said = error_text(answer->body);
    const Error error = os::status_failure(answer->head).error();
    return fail(error.kind, "cannot ask ollama for '{}': {}{}{}", plain(tag), error.message,
                said.empty() ? "" : ": ", said);
  }
  auto shown = parse_show(answer->body);
  if (!shown) {
    return fail(shown.error().kind, "cannot use what {} answers about '{}': {}", host, plain(tag),
                shown.error().message);
  }
  return shown;
}

}  // namespace picchio::ollama
