// The models of ollama's stores, read from their files: the server may be down.
#pragma once

#include "models/walk.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio::models {

struct StoredTag {
  std::string tag;         // "qwen3:8b"
  std::int64_t bytes = 0;  // of all that belongs to it
  FileKey weights;
};

struct StoredTags {
  std::vector<StoredTag> tags;  // by name; of one in two stores the first
  std::vector<Error> refused;   // stores that may not be read
};

/// Left out: what another machine computes, what has no GGUF, what is not whole.
[[nodiscard]] StoredTags stored_tags(const std::vector<std::string>& stores);

}  // namespace picchio::models
