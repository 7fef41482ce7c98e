// Names of ollama's models as people write them: "qwen3:8b", "qwen3", "user/model:tag",
// "registry.ollama.ai/library/qwen3:8b", "hf.co/owner/repository:Q4_K_M", "localhost:5000/a/b:c".
// Pure.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace picchio::ollama {

/// All four parts are there and fit to be names of folders: no separator, no leading dot.
struct Tag {
  std::string registry = "registry.ollama.ai";  // with its port, if it has one
  std::string space = "library";
  std::string model;
  std::string tag = "latest";
  bool operator==(const Tag&) const = default;
};

/// Whether `text` could be such a name and nothing more likely: no path ("/x", "./x", "~/x"), no
/// URL, no file's ending ".gguf". A file of that name wins where there is one; the caller looks.
[[nodiscard]] bool is_tag(std::string_view text);

/// What is left out is filled in as ollama does. The error names what cannot be part of a tag.
[[nodiscard]] Result<Tag> parse_tag(std::string_view text);

/// The shortest spelling: without the parts that are usual, always with ":tag".
[[nodiscard]] std::string to_string(const Tag& tag);

}  // namespace picchio::ollama
