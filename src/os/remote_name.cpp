#include "os/remote_name.h"

#include "base/text.h"
#include "os/file.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace picchio::os {
namespace {

constexpr std::string_view kHub = "https://huggingface.co";
constexpr std::string_view kForm = "hf:owner/repository/file.gguf, with @revision if need be";

bool same_start(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && lower(text.substr(0, start.size())) == start;
}

// "/" stays, what could end a path or begin a query does not.
std::string as_path(std::string_view text) {
  constexpr std::string_view kPlain = "-._~/";
  std::string out;
  for (const char c : text) {
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (alnum || kPlain.contains(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool climbs(std::string_view path) {
  return std::ranges::any_of(split(path, '/'), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

Result<RemoteName> on_hub(std::string_view text, const HubSettings& hub) {
  std::string_view path = text.substr(std::string_view("hf:").size());
  std::string_view revision = "main";
  if (const auto at = path.rfind('@'); at != std::string_view::npos) {
    revision = path.substr(at + 1);
    path = path.substr(0, at);
  }
  const auto owner = path.find('/');
  const auto repository = owner == std::string_view::npos ? owner : path.find('/', owner + 1);
  if (repository == std::string_view::npos || climbs(path) || revision.empty() ||
      climbs(revision)) {
    return with_hint(fail(ErrorKind::malformed, "'{}' names no file on the hub", plain(text)),
                     fmt::format("write {}", kForm));
  }
  // A revision is one part of the path there: "refs/pr/1" has its slashes encoded.
  std::string one_part;
  for (const char c : as_path(revision)) {
    if (c == '/') {
      one_part += "%2F";
    } else {
      one_part += c;
    }
  }
  RemoteName out;
  out.url = fmt::format("{}/{}/resolve/{}/{}", hub.endpoint, as_path(path.substr(0, repository)),
                        one_part, as_path(path.substr(repository + 1)));
  out.shown = text;
  out.on_hub = true;
  return out;
}

RemoteName from_url(std::string_view text) {
  RemoteName out;
  out.url = text;
  out.shown = without_secrets(text);
  out.on_hub = same_start(text, std::string(kHub) + "/");
  constexpr std::string_view kPage = "/blob/";
  // https://huggingface.co/owner/repository/blob/revision/file
  const auto page = out.url.find(kPage);
  if (out.on_hub && page != std::string::npos &&
      std::ranges::count(out.url.substr(0, page), '/') == 4) {
    out.url.replace(page, kPage.size(), "/resolve/");
  }
  return out;
}

}  // namespace

HubSettings hub_settings() {
  HubSettings out;
  out.endpoint = env("HF_ENDPOINT").value_or("");
  if (out.endpoint.empty()) out.endpoint = kHub;
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  out.token = trim(env("HF_TOKEN").value_or(""));
  return out;
}

bool is_remote_name(std::string_view text) {
  return same_start(text, "hf:") || same_start(text, "http://") || same_start(text, "https://");
}

std::string_view behind_file_name(std::string_view text) {
  // Where on_hub() and a URL end it.
  const std::size_t at = same_start(text, "hf:") ? text.rfind('@') : text.find_first_of("?#");
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

std::string without_secrets(std::string_view text) {
  const std::size_t slashes = text.find("//");
  if (slashes == std::string_view::npos) return std::string(text);
  text = text.substr(0, text.find_first_of("?#"));
  const std::size_t host = slashes + 2;
  if (host > text.size()) return std::string(text);
  // The last one: a password that should have been encoded may hold another.
  const auto at = text.substr(host, text.find('/', host) - host).rfind('@');
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, host)) + std::string(text.substr(host + at + 1));
}

Result<RemoteName> remote_name(std::string_view text, const HubSettings& hub) {
  Result<RemoteName> out = same_start(text, "hf:") ? on_hub(text, hub) : from_url(text);
  if (out && same_start(out->url, std::string(kHub) + "/")) out->token = hub.token;
  return out;
}

}  // namespace picchio::os
