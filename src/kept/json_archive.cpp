#include "kept/json_archive.h"

#include <array>

namespace picchio::kept {
namespace {

// A kept file nests five deep; a hostile one would cost memory out of proportion to its size.
constexpr int kDeepest = 32;

struct Utf8Class {
  unsigned char first_low, first_high;  // of the first byte
  unsigned char second_low,
      second_high;  // of the second: no overlong forms, surrogates, > U+10FFFF
  std::size_t length;
};

constexpr std::array<Utf8Class, 8> kUtf8 = {{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                             {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                             {0xE1, 0xEC, 0x80, 0xBF, 3},
                                             {0xED, 0xED, 0x80, 0x9F, 3},
                                             {0xEE, 0xEF, 0x80, 0xBF, 3},
                                             {0xF0, 0xF0, 0x90, 0xBF, 4},
                                             {0xF1, 0xF3, 0x80, 0xBF, 4},
                                             {0xF4, 0xF4, 0x80, 0x8F, 4}}};

bool in(char c, unsigned char low, unsigned char high) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= low && byte <= high;
}

// Length of the well-formed UTF-8 character at the front of `text`, or 0.
std::size_t character_length(std::string_view text) {
  if (in(text[0], 0x00, 0x7F)) return 1;
  for (const Utf8Class& each : kUtf8) {
    if (!in(text[0], each.first_low, each.first_high)) continue;
    if (text.size() < each.length || !in(text[1], each.second_low, each.second_high)) return 0;
    for (std::size_t i = 2; i < each.length; ++i) {
      if (!in(text[i], 0x80, 0xBF)) return 0;
    }
    return each.length;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> from_hex(const std::string& hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = hex_digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    in_string = c == '"';
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

}  // namespace

Json text_json(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string hex;
  hex.reserve(text.size() * 2);
  for (const char c : text)
    fmt::format_to(std::back_inserter(hex), "{:02x}", static_cast<unsigned char>(c));
  return Json{{"hex", hex}};
}

std::optional<std::string> text_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || json.size() != 1) return std::nullopt;
  const auto hex = json.find("hex");
  if (hex == json.end() || !hex->is_string()) return std::nullopt;
  return from_hex(hex->get<std::string>());
}

Result<Json> parse_json(std::string_view text) {
  if (nests_too_deep(text)) {
    return fail(ErrorKind::malformed, "it nests deeper than {} levels", kDeepest);
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::malformed, "it is not JSON");
  return json;
}

std::string to_lines(const Json& object) {
  std::string out = "{";
  for (const auto& [key, value] : object.items()) {
    out += fmt::format("{}\n {}: {}", out.size() > 1 ? "," : "", Json(key).dump(-1, ' ', true),
                       value.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  return out + "\n}\n";
}

Json Writer::encode(const TensorInfo& tensor) {
  return Json::array({text_json(tensor.name), text_json(tensor.type), tensor.elements, tensor.bytes,
                      tensor.block});
}

Json Writer::encode(const CpuSample& sample) {
  return Json::array({encode(sample.at), encode(sample.cpu_seconds)});
}

void Reader::decode(const Json& json, TensorInfo& value, std::string_view key) {
  if (!json.is_array() || json.size() != 5) return refuse(key, "an array of 5");
  decode(json[0], value.name, key);
  decode(json[1], value.type, key);
  decode(json[2], value.elements, key);
  decode(json[3], value.bytes, key);
  decode(json[4], value.block, key);
}

void Reader::decode(const Json& json, CpuSample& value, std::string_view key) {
  if (!json.is_array() || json.size() != 2) return refuse(key, "an array of 2");
  decode(json[0], value.at, key);
  decode(json[1], value.cpu_seconds, key);
}

}  // namespace picchio::kept
