#include "commands/target.h"

#include "base/text.h"
#include "commands/watch_target.h"
#include "engines/ollama/tag.h"
#include "os/file.h"
#include "os/http.h"
#include "os/remote_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

bool is_url(std::string_view word) {
  const std::string start = lower(word.substr(0, 8));
  return start.starts_with("http://") || start.starts_with("https://");
}

bool looks_like_path(std::string_view word) {
  return word.starts_with('/') || word.starts_with("./") || word.starts_with("../") ||
         word.starts_with("~") || word.ends_with('/') || lower(word).ends_with(".gguf");
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "localhost:8080" could be a tag as well; nobody calls a model so.
bool looks_like_address(std::string_view word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || !all_digits(word.substr(colon + 1))) return false;
  const std::string_view host = word.substr(0, colon);
  if (host.empty() || host.starts_with('[') || os::is_loopback(host)) return true;
  const auto parts = split(host, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, all_digits);
}

}  // namespace

Result<Target> target_of_name(std::string_view word) {
  if (is_url(word)) {
    if (lower(word.substr(0, word.find_first_of("?#"))).ends_with(".gguf")) {
      return with_hint(fail(ErrorKind::unsupported, "'{}' is a file on another machine",
                            fit(plain(os::without_secrets(word)), 80)),
                       "download it, and name the file; 'picchio id' reads its header from there");
    }
    return Target{TargetKind::server, std::string(word)};
  }
  if (word.starts_with("hf:")) {
    return with_hint(fail(ErrorKind::unsupported, "'{}' is a file on the Hugging Face hub",
                          fit(plain(word), 80)),
                     "download it, and name the file; 'picchio id' reads its header from there");
  }
  if (looks_like_address(word)) {
    return Target{TargetKind::server,
                  fmt::format("http://{}{}", word.starts_with(':') ? "127.0.0.1" : "", word)};
  }
  if (looks_like_path(word)) return Target{TargetKind::file, std::string(word)};
  if (ollama::is_tag(word)) return Target{TargetKind::ollama, std::string(word)};
  return with_hint(fail(ErrorKind::not_found,
                        "'{}' is no file here, no address of a server and no name of an ollama "
                        "model",
                        fit(plain(word), 80)),
                   "picchio model.gguf, picchio http://127.0.0.1:8080 or picchio qwen3:8b");
}

Result<Target> resolve_target(const std::string& word) {
  if (os::exists(word)) return Target{TargetKind::file, word};
  return target_of_name(word);
}

}  // namespace picchio
