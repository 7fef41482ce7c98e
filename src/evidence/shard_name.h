// The names that a split model's files have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// "dir/name-00002-of-00003.gguf", as gguf-split writes it: {"dir/name", 2, 3}.
struct ShardName {
  std::string prefix;
  std::int64_t number = 0;  // from 1
  std::int64_t count = 0;
};

/// Nullopt for a name that no shard of a set has.
[[nodiscard]] std::optional<ShardName> shard_name(std::string_view path);

}  // namespace picchio
