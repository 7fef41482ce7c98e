#include "engines/ollama/store.h"

#include "base/text.h"
#include "engines/ollama/manifest.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace picchio::ollama {
namespace {

constexpr std::int64_t kMostManifestBytes = std::int64_t{4} << 20;
constexpr std::size_t kMostTags = 10'000;  // a damaged tree must not keep us busy
constexpr std::size_t kNearest = 3;

constexpr const char* kDeniedHint =
    "it belongs to the user that the ollama service runs as: read it with sudo, or ask the running "
    "server";

std::string manifest_path(const std::string& root, const Tag& tag) {
  return fmt::format("{}/manifests/{}/{}/{}/{}", root, tag.registry, tag.space, tag.model, tag.tag);
}

std::string named(std::span<const std::string> roots) {
  return fmt::format("'{}'", fmt::join(roots, "', '"));
}

Result<Blob> blob_of(const std::string& root, const Layer& layer) {
  Blob out;
  out.digest = layer.digest;
  Result<os::FileIdentity> file = fail(ErrorKind::not_found, "");
  for (const char* form : {"sha256-", "sha256:"}) {
    out.path = fmt::format("{}/blobs/{}{}", root, form, layer.digest);
    file = os::file_identity(out.path);
    if (file || file.error().kind != ErrorKind::not_found) break;
  }
  if (!file) return std::unexpected(file.error());
  out.bytes = file->size;
  if (layer.bytes && *layer.bytes != out.bytes) {
    return fail(ErrorKind::malformed, "'{}' has {} bytes and not the {} of its manifest", out.path,
                out.bytes, *layer.bytes);
  }
  return out;
}

// A file that ollama itself could not load either.
std::unexpected<Error> unusable(const Tag& tag, const std::string& root, const Layer& layer,
                                const Error& why) {
  if (why.kind == ErrorKind::denied) return with_hint(std::unexpected(why), kDeniedHint);
  const std::string name = to_string(tag);
  std::string reason = why.message;
  if (why.kind == ErrorKind::not_found) {
    reason =
        fmt::format("its {} 'sha256-{}' is missing in '{}/blobs'", layer.kind, layer.digest, root);
  }
  return with_hint(fail(why.kind, "ollama's model '{}' is incomplete: {}", name, reason),
                   fmt::format("'ollama pull {}' fetches what is missing", name));
}

std::unexpected<Error> no_gguf(const Tag& tag, const Manifest& manifest) {
  const bool tensors =
      std::ranges::any_of(manifest.layers, [](const Layer& each) { return each.kind == "tensor"; });
  return fail(ErrorKind::unsupported, "ollama's model '{}' is no GGUF file: {}", to_string(tag),
              tensors ? "it is kept as safetensors"
                      : "no weights of it are on this machine, as of one that runs in the cloud");
}

Result<StoredModel> model_of(const Tag& tag, const std::string& root, const Manifest& manifest) {
  StoredModel out;
  out.tag = tag;
  out.store = root;
  out.manifest = manifest_path(root, tag);
  out.total_bytes = manifest.bytes;
  std::vector<Blob> models;
  const std::pair<std::string_view, std::vector<Blob>*> wanted[] = {{"model", &models},
                                                                    {"projector", &out.projectors},
                                                                    {"adapter", &out.adapters},
                                                                    {"draft", &out.drafts}};
  for (const Layer& layer : manifest.layers) {
    out.has_template = out.has_template || layer.kind == "template";
    out.has_parameters = out.has_parameters || layer.kind == "params";
    for (const auto& [kind, into] : wanted) {
      if (layer.kind != kind) continue;
      auto blob = blob_of(root, layer);
      if (!blob) return unusable(tag, root, layer, blob.error());
      into->push_back(*std::move(blob));
    }
  }
  if (models.empty()) return no_gguf(tag, manifest);
  out.model = std::move(models.front());
  return out;
}

// Absent: this store does not have it.
Result<std::optional<StoredModel>> look_in(const std::string& root, const Tag& tag) {
  const std::string path = manifest_path(root, tag);
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  // A pipe there would be waited for until somebody writes to it.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return fail(ErrorKind::malformed, "ollama's manifest '{}' is no regular file", path);
  }
  const auto text = os::read_file(path, kMostManifestBytes);
  if (!text && text.error().kind == ErrorKind::not_found) return std::nullopt;
  if (!text) {
    return with_hint(
        fail(text.error().kind, "cannot read the ollama store: {}", text.error().message),
        text.error().kind == ErrorKind::denied ? kDeniedHint : "");
  }
  const auto manifest = parse_manifest(*text);
  if (!manifest) {
    return fail(ErrorKind::malformed, "cannot read ollama's manifest '{}': {}", path,
                manifest.error().message);
  }
  auto model = model_of(tag, root, *manifest);
  if (!model) return std::unexpected(model.error());
  return *std::move(model);
}

// Names below `folder`; of a plain file among folders, and of what may not be read, nothing.
std::vector<std::string> names_in(const std::string& folder) {
  return os::list_dir(folder).value_or(std::vector<std::string>{});
}

void add_tags(const std::string& root, std::vector<Tag>& tags) {
  const std::string top = root + "/manifests";
  for (const std::string& registry : names_in(top)) {
    for (const std::string& space : names_in(fmt::format("{}/{}", top, registry))) {
      for (const std::string& model : names_in(fmt::format("{}/{}/{}", top, registry, space))) {
        const std::string folder = fmt::format("{}/{}/{}/{}", top, registry, space, model);
        for (const std::string& tag : names_in(folder)) {
          // Names that ollama would not make (".DS_Store") are none of its tags.
          auto parsed = parse_tag(fmt::format("{}/{}/{}:{}", registry, space, model, tag));
          if (parsed && tags.size() < kMostTags) tags.push_back(*std::move(parsed));
        }
      }
    }
  }
}

// Words of `names` nearest to `wanted`: those that begin alike come first.
std::string nearest(const Tag& wanted, const std::vector<Tag>& tags) {
  const std::string name = to_string(wanted);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const Tag& each : tags) {
    std::string text = to_string(each);
    const std::size_t distance = edit_distance(lower(text), lower(name));
    ranked.emplace_back(lower(each.model) == lower(wanted.model) ? 0 : 1 + distance,
                        std::move(text));
  }
  std::ranges::sort(ranked);
  if (ranked.size() > kNearest) ranked.resize(kNearest);
  std::string out;
  for (const auto& [distance, text] : ranked) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::unexpected<Error> no_such_tag(const Tag& tag, std::span<const std::string> roots,
                                   const std::vector<Tag>& tags) {
  const std::string name = to_string(tag);
  std::vector<std::string> there;
  std::ranges::copy_if(roots, std::back_inserter(there), &os::exists);
  if (there.empty()) {
    return with_hint(
        fail(ErrorKind::not_found, "no ollama store for '{}': looked for {}", name, named(roots)),
        "set OLLAMA_MODELS if it lies elsewhere");
  }
  const std::string near = nearest(tag, tags);
  return with_hint(fail(ErrorKind::not_found, "no ollama model '{}' in {}", name, named(there)),
                   near.empty() ? "no model is installed there"
                                : fmt::format("the nearest that are installed: {}", near));
}

}  // namespace

std::vector<std::string> store_roots() {
  std::vector<std::string> out;
  if (const auto own = os::env("OLLAMA_MODELS"); own && !own->empty()) out.push_back(*own);
  if (const auto home = os::env("HOME"); home && home->starts_with('/')) {
    out.push_back(*home + "/.ollama/models");
  }
  // The home of user "ollama": of ollama's own installer, and of distributions' packages.
  out.emplace_back("/usr/share/ollama/.ollama/models");
  out.emplace_back("/var/lib/ollama/.ollama/models");
  out.emplace_back("/var/lib/ollama/models");
  return out;
}

std::vector<Tag> installed_tags(std::span<const std::string> roots) {
  std::vector<Tag> out;
  for (const std::string& root : roots) add_tags(root, out);
  std::ranges::sort(out, {}, to_string);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

Result<StoredModel> find_in_store(const Tag& tag, std::span<const std::string> roots) {
  std::optional<Error> refused;
  const auto look = [&](const Tag& wanted) -> Result<std::optional<StoredModel>> {
    for (const std::string& root : roots) {
      auto found = look_in(root, wanted);
      if (found && *found) return found;
      if (found) continue;
      if (found.error().kind != ErrorKind::denied) return found;
      if (!refused) refused = found.error();
    }
    return std::nullopt;
  };
  auto found = look(tag);
  if (!found) return std::unexpected(found.error());
  if (*found) return **std::move(found);
  // ollama itself does not tell upper from lower case in names.
  const std::vector<Tag> tags = installed_tags(roots);
  const auto alike = std::ranges::find(tags, lower(to_string(tag)),
                                       [](const Tag& each) { return lower(to_string(each)); });
  if (alike != tags.end()) {
    found = look(*alike);
    if (!found) return std::unexpected(found.error());
    if (*found) return **std::move(found);
  }
  if (refused) return std::unexpected(*refused);
  return no_such_tag(tag, roots, tags);
}

}  // namespace picchio::ollama
