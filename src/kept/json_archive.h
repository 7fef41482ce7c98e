// Writing and reading a struct through one description of its fields; include only from a .cpp.
//
// `template <class Archive> void describe(Archive& archive, Ref<Archive, T> value)` calls
// archive("key", value.field) for each field; a Writer and a Reader both take it.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "evidence/run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace picchio::kept {

using Json = nlohmann::ordered_json;

/// A string as JSON without loss: {"hex": "..."} when it is no UTF-8.
[[nodiscard]] Json text_json(std::string_view text);
[[nodiscard]] std::optional<std::string> text_of(const Json& json);

/// Parses text from outside: bounded nesting, no exceptions. The error has the reason alone.
[[nodiscard]] Result<Json> parse_json(std::string_view text);

/// One line for each key of an object, values compact: readable with `less`, small with 500
/// tensors.
[[nodiscard]] std::string to_lines(const Json& object);

class Writer {
 public:
  template <class T>
  void operator()(const char* key, const T& value) {
    out_[key] = encode(value);
  }

  [[nodiscard]] Json take() { return std::move(out_); }

  [[nodiscard]] static Json encode(const std::string& value) { return text_json(value); }
  [[nodiscard]] static Json encode(bool value) { return value; }
  [[nodiscard]] static Json encode(std::int64_t value) { return value; }
  [[nodiscard]] static Json encode(int value) { return value; }
  [[nodiscard]] static Json encode(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  [[nodiscard]] static Json encode(ServerKind value) { return std::string(name_of(value)); }
  [[nodiscard]] static Json encode(Micros value) { return std::int64_t{value.count()}; }
  template <class T>
  [[nodiscard]] static Json encode(const std::optional<T>& value) {
    return value ? encode(*value) : Json(nullptr);
  }
  template <class T>
  [[nodiscard]] static Json encode(const std::vector<T>& values) {
    Json out = Json::array();
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, CpuSample>) {
        if (!std::isfinite(value.cpu_seconds)) continue;  // JSON has no word for it
      }
      out.push_back(encode(value));
    }
    return out;
  }
  [[nodiscard]] static Json encode(const std::map<std::string, std::string>& values) {
    Json out = Json::array();  // pairs: a key may be no UTF-8
    for (const auto& [name, value] : values) {
      out.push_back(Json::array({text_json(name), text_json(value)}));
    }
    return out;
  }
  // Rows of long tables: an object each would repeat its keys hundreds of times.
  [[nodiscard]] static Json encode(
      const TensorInfo& tensor);  // [name, type, elements, bytes, block]
  [[nodiscard]] static Json encode(const CpuSample& sample);  // [microseconds, seconds]
  template <class T>
    requires std::is_class_v<T>
  [[nodiscard]] static Json encode(const T& value) {
    Writer inner;
    describe(inner, value);
    return inner.take();
  }

 private:
  Json out_ = Json::object();
};

/// Reads what a Writer wrote. The first field of a wrong type is the error; others go on unread.
class Reader {
 public:
  explicit Reader(const Json& object, std::string path = {})
      : object_(object), path_(std::move(path)) {
    if (!object_.is_object()) refuse("", "an object");
  }

  template <class T>
  void operator()(const char* key, T& value) {
    if (error_ || !object_.is_object()) return;
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    decode(*found, value, key);
  }

  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  void refuse(std::string_view key, std::string_view wanted) {
    if (error_) return;
    const std::string name =
        path_.empty() || key.empty() ? path_ + std::string(key) : fmt::format("{}.{}", path_, key);
    error_ = name.empty() ? fmt::format("it is not {}", wanted)
                          : fmt::format("field '{}' is not {}", name, wanted);
  }

  void decode(const Json& json, std::string& value, std::string_view key) {
    if (auto text = text_of(json)) {
      value = *std::move(text);
    } else {
      refuse(key, "a string");
    }
  }
  void decode(const Json& json, bool& value, std::string_view key) {
    if (!json.is_boolean()) return refuse(key, "true or false");
    value = json.get<bool>();
  }
  void decode(const Json& json, std::int64_t& value, std::string_view key) {
    const bool fits = json.is_number_integer() &&
                      (!json.is_number_unsigned() ||
                       json.get<std::uint64_t>() <=
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits) return refuse(key, "a whole number");
    value = json.get<std::int64_t>();
  }
  void decode(const Json& json, int& value, std::string_view key) {
    std::int64_t wide = 0;
    decode(json, wide, key);
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
      return refuse(key, "a number of 32 bits");
    }
    value = static_cast<int>(wide);
  }
  void decode(const Json& json, double& value, std::string_view key) {
    if (!json.is_number()) return refuse(key, "a number");
    value = json.get<double>();
  }
  /// One that a later picchio knows is a server like any other to this one.
  void decode(const Json& json, ServerKind& value, std::string_view key) {
    std::string name;
    decode(json, name, key);
    value = server_kind_of(name).value_or(ServerKind::openai);
  }
  void decode(const Json& json, Micros& value, std::string_view key) {
    std::int64_t count = 0;
    decode(json, count, key);
    value = Micros(count);
  }
  template <class T>
  void decode(const Json& json, std::optional<T>& value, std::string_view key) {
    value.reset();
    if (json.is_null()) return;
    T read{};
    decode(json, read, key);
    if (!error_) value = std::move(read);
  }
  template <class T>
  void decode(const Json& json, std::vector<T>& values, std::string_view key) {
    if (!json.is_array()) return refuse(key, "an array");
    values.clear();
    for (const Json& element : json) {
      T value{};
      decode(element, value, fmt::format("{}[{}]", key, values.size()));
      if (error_) return;
      values.push_back(std::move(value));
    }
  }
  void decode(const Json& json, std::map<std::string, std::string>& values, std::string_view key) {
    if (!json.is_array()) return refuse(key, "an array of pairs");
    for (const Json& pair : json) {
      const bool two = pair.is_array() && pair.size() == 2;
      const auto name = two ? text_of(pair[0]) : std::nullopt;
      const auto value = two ? text_of(pair[1]) : std::nullopt;
      if (!name || !value) return refuse(key, "an array of pairs");
      values[*name] = *value;
    }
  }
  void decode(const Json& json, TensorInfo& value, std::string_view key);
  void decode(const Json& json, CpuSample& value, std::string_view key);
  template <class T>
    requires std::is_class_v<T>
  void decode(const Json& json, T& value, std::string_view key) {
    Reader inner(json, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
    describe(inner, value);
    if (inner.error() && !error_) error_ = inner.error();
  }

  const Json& object_;
  std::string path_;
  std::optional<std::string> error_;
};

/// What describe() takes: a const value for a Writer, a value to fill for a Reader.
template <class Archive, class T>
using Ref = std::conditional_t<std::is_same_v<Archive, Writer>, const T&, T&>;

}  // namespace picchio::kept
