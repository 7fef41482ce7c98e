#include "commands/header_ollama.h"

#include "base/text.h"
#include "commands/http_client.h"
#include "engines/ollama/address.h"
#include "engines/ollama/show.h"
#include "gguf/header_writer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace picchio {
namespace {

// No vocabulary is longer.
constexpr std::int64_t kMostTexts = std::int64_t{1} << 24;

/// Numbers that a JSON writer cuts to whole ones though files have them with a point. No forecast
/// rests on one.
bool has_point(std::string_view key) {
  return key.ends_with("freq_base") || key.ends_with("freq_base_swa") || key.ends_with("epsilon") ||
         key.ends_with("factor") || key.ends_with("scale") || key.ends_with("softcapping");
}

void add_value(gguf::HeaderWriter& out, const std::string& key, const ollama::ShownValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    out.add(key, *truth);
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if (has_point(key)) {
      out.add(key, static_cast<double>(*whole));
    } else {
      out.add(key, *whole);
    }
  } else if (const auto* number = std::get_if<double>(&value)) {
    out.add(key, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out.add(key, std::string_view(*text));
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) {
    out.add(key, std::span(*numbers));
  } else if (const auto* array = std::get_if<ollama::LongArray>(&value)) {
    if (array->length >= 0 && array->length <= kMostTexts) out.add_texts(key, array->length);
  }
}

}  // namespace

Result<ollama::ShownModel> shown_by_server(const std::string& tag,
                                           const os::Interrupts& interrupts) {
  const Result<std::string> url = ollama::base_url();
  if (!url) return std::unexpected(url.error());
  Result<os::HttpClient> client = open_http_client(interrupts);
  if (!client) return std::unexpected(client.error());
  Result<ollama::ShownModel> shown = ollama::ask_show(*client, *url, tag);
  if (shown && shown->tensors.empty()) {
    return fail(ErrorKind::unsupported, "the ollama server lists no tensors of '{}'", plain(tag));
  }
  return shown;
}

Result<gguf::Header> header_of_server(const std::string& tag, gguf::Accept accept,
                                      const os::Interrupts& interrupts) {
  const Result<ollama::ShownModel> shown = shown_by_server(tag, interrupts);
  if (!shown) return std::unexpected(shown.error());
  gguf::HeaderWriter writer;
  for (const auto& [key, value] : shown->values) add_value(writer, key, value);
  for (const ollama::ShownTensor& tensor : shown->tensors) {
    const Result<> added = writer.add_tensor({tensor.name, tensor.type, tensor.shape});
    if (!added) return std::unexpected(added.error());
  }
  const std::string bytes = writer.bytes();
  return gguf::read_header(std::as_bytes(std::span(bytes)), writer.file_bytes(), accept);
}

}  // namespace picchio
