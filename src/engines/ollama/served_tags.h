// What a running ollama has: GET /api/tags. For a store that may not be read.
#pragma once

#include "base/result.h"
#include "os/http.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::ollama {

struct ServedTag {
  std::string tag;                    // in its shortest spelling, see tag.h
  std::optional<std::int64_t> bytes;  // of all layers
};

/// Left out: what another machine computes, what is said not to generate text, and names that are
/// no tags. Pure.
[[nodiscard]] Result<std::vector<ServedTag>> parse_served_tags(std::string_view text);

/// Asks `base_url` (see address.h) and waits for `patience` at most for each step of the answer.
[[nodiscard]] Result<std::vector<ServedTag>> ask_served_tags(os::HttpClient& client,
                                                             const std::string& base_url,
                                                             Micros patience);

}  // namespace picchio::ollama
