#include "engines/ollama/show.h"

#include "base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace picchio::ollama {
namespace {

using nlohmann::json;

// A vocabulary of 262,144 words with its merges and scores is 15 to 25 MB of JSON.
constexpr std::int64_t kMostAnswerBytes = std::int64_t{64} << 20;
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

// The root's members that are read; what else a server sends is passed over.
constexpr std::array<std::string_view, 10> kWanted = {
    "error",      "details",     "capabilities", "modelfile",      "template",
    "model_info", "remote_host", "parameters",   "projector_info", "tensors"};
constexpr std::int64_t kMostTensors = std::int64_t{1} << 18U;  // as of a file's header

/// Builds the tree of the members that are read, without the elements of long arrays: a vocabulary
/// never becomes one. The library's own filter looks at all of an array again for each element that
/// is an object.
class AnswerReader : public nlohmann::json_sax<json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (skipped_ == 0) stack_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const json::exception& /*why*/) override {
    return false;
  }

  [[nodiscard]] const json& root() const { return root_; }
  [[nodiscard]] const std::map<std::string, std::int64_t>& cut() const { return cut_; }

 private:
  struct Level {
    json* at = nullptr;
    std::string key;          // of the member that comes next, in an object
    bool counted = false;     // a long array: its length is wanted, and few of its elements
    std::int64_t length = 0;  // of an array
  };

  [[nodiscard]] bool unwanted() const {
    return stack_.size() == 1 && std::ranges::find(kWanted, stack_[0].key) == kWanted.end();
  }

  [[nodiscard]] bool in_info() const {
    return stack_.size() == 2 &&
           (stack_[0].key == "model_info" || stack_[0].key == "projector_info");
  }

  json* add(json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& top = stack_.back();
    if (top.at->is_array()) {
      top.at->push_back(std::move(value));
      return &top.at->back();
    }
    return &((*top.at)[top.key] = std::move(value));
  }

  // False ends the parse: nobody's table is that long.
  bool count() {
    if (stack_.empty() || !stack_.back().at->is_array()) return true;
    return ++stack_.back().length <= kMostTensors || stack_.back().counted;
  }

  bool put(json value) {
    if (skipped_ > 0 || unwanted()) return true;
    if (!count()) return false;
    if (!stack_.empty() && stack_.back().counted) {
      const bool few = stack_.back().length <= static_cast<std::int64_t>(kMostNumbers);
      if (!(value.is_number() || value.is_boolean()) || !few) return true;
    }
    add(std::move(value));
    return true;
  }

  bool open(json value) {
    const bool inside_long = !stack_.empty() && stack_.back().counted;
    if (skipped_ == 0 && !count()) return false;
    if (skipped_ > 0 || inside_long || unwanted() || stack_.size() == kMostDepth) {
      ++skipped_;
      return true;
    }
    const bool counted = value.is_array() && in_info();
    stack_.push_back({add(std::move(value)), {}, counted, 0});
    return true;
  }

  bool close() {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    const Level done = std::move(stack_.back());
    stack_.pop_back();
    if (done.counted && static_cast<std::int64_t>(done.at->size()) != done.length) {
      cut_[stack_.back().key] = done.length;
    }
    return true;
  }

  static constexpr std::size_t kMostDepth = 16;

  json root_;
  std::vector<Level> stack_;
  std::size_t skipped_ = 0;  // open containers of a part that is passed over
  std::map<std::string, std::int64_t> cut_;
};

std::optional<ShownValue> array_value(const json& array) {
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  for (const json& each : array) {
    if (each.is_boolean()) {
      integers.push_back(each.get<bool>() ? 1 : 0);
      numbers.push_back(static_cast<double>(integers.back()));
      continue;
    }
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
  AnswerReader reader;
  const bool whole = json::sax_parse(text, &reader);
  const json& root = reader.root();
  if (!whole || !root.is_object()) return fail(ErrorKind::malformed, "it is no JSON object");
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
  for (const auto& [key, length] : reader.cut()) {
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
