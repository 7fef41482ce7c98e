#include "engines/ollama/tag.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio::ollama {
namespace {

// What ollama allows: names of its registry are at most 80 bytes a part, 350 a host.
constexpr std::size_t kMostPart = 80;
constexpr std::size_t kMostHost = 350;

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A leading dot would make "." and "..", a leading dash an option of some program.
bool is_part(std::string_view text, std::string_view extra, std::size_t most) {
  if (text.empty() || text.size() > most || !(is_alnum(text.front()) || text.front() == '_')) {
    return false;
  }
  return std::ranges::all_of(
      text, [&](char c) { return is_alnum(c) || c == '_' || c == '-' || extra.contains(c); });
}

bool is_host(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 ||
        port.find_first_not_of("0123456789") != std::string_view::npos) {
      return false;
    }
  }
  return is_part(text.substr(0, colon), ".", kMostHost);
}

}  // namespace

bool is_tag(std::string_view text) {
  return !lower(text).ends_with(".gguf") && parse_tag(text).has_value();
}

Result<Tag> parse_tag(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorKind::malformed, "'{}' is no name of an ollama model", fit(plain(text), 80));
  };
  auto parts = split(text, '/');
  if (parts.empty() || parts.size() > 3) return refuse();
  Tag out;
  std::string_view model = parts.back();
  // The colon of a host's port stands before a slash.
  if (const auto colon = model.rfind(':'); colon != std::string_view::npos) {
    out.tag = model.substr(colon + 1);
    model = model.substr(0, colon);
  }
  out.model = model;
  if (parts.size() >= 2) out.space = parts[parts.size() - 2];
  if (parts.size() == 3) out.registry = parts.front();
  const bool good = is_host(out.registry) && is_part(out.space, "", kMostPart) &&
                    is_part(out.model, ".", kMostPart) && is_part(out.tag, ".", kMostPart);
  if (!good) return refuse();
  return out;
}

std::string to_string(const Tag& tag) {
  const Tag usual;
  std::string out;
  if (tag.registry != usual.registry) out = tag.registry + "/";
  if (!out.empty() || tag.space != usual.space) out += tag.space + "/";
  return out + tag.model + ":" + tag.tag;
}

}  // namespace picchio::ollama
