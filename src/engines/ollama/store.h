// ollama's store: the files behind a tag.
//
//   ROOT/manifests/REGISTRY/SPACE/MODEL/TAG     see manifest.h
//   ROOT/blobs/sha256-HEX                       the files; "sha256:HEX" in very old stores
#pragma once

#include "base/result.h"
#include "engines/ollama/tag.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace picchio::ollama {

/// A file of the store that is there.
struct Blob {
  std::string path;
  std::string digest;  // 64 hex digits: its name, and SHA-256 when the pull was not damaged
  std::int64_t bytes = 0;
};

struct StoredModel {
  Tag tag;  // as it is installed: upper and lower case may differ from what was asked for
  std::string store;
  std::string manifest;
  Blob model;  // GGUF
  std::vector<Blob> projectors;
  std::vector<Blob> adapters;
  std::vector<Blob> drafts;
  bool has_template = false;    // the store's own, in place of the one in the GGUF
  bool has_parameters = false;  // the model's own sampling settings
  std::int64_t total_bytes = 0;
};

/// Where a store may lie, the likeliest first: OLLAMA_MODELS, the user's own, those of the
/// service's user. They need not exist.
[[nodiscard]] std::vector<std::string> store_roots();

/// The model of that tag in the first of `roots` that has it. Errors: no store at all, or none with
/// such a tag, with the nearest ones as a hint (not_found); a store that may not be read, when no
/// other has the tag (denied); a damaged manifest (malformed); one whose file is missing
/// (not_found) or of another size (malformed); a model that is no GGUF (unsupported).
[[nodiscard]] Result<StoredModel> find_in_store(const Tag& tag, std::span<const std::string> roots);

/// All tags in those of `roots` that can be read, sorted by their text.
[[nodiscard]] std::vector<Tag> installed_tags(std::span<const std::string> roots);

}  // namespace picchio::ollama
