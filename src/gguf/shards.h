// The files of one model: which they are, and whether they are a set.
#pragma once

#include "base/result.h"
#include "evidence/shard_name.h"
#include "gguf/header.h"
#include "gguf/objections.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// Paths of all shards of the model whose first shard is `path` and whose header says
/// `split_count`, in order. A model in one file (`split_count` 0 or 1, whatever its name) is `path`
/// alone. Refused: a shard that is not the first, since engines start from the first only, and a
/// name that does not follow the pattern, since engines find the others by it.
[[nodiscard]] Result<std::vector<std::string>> shard_paths(std::string_view path,
                                                           std::int64_t split_count);
/// The same from the header read at `path`.
[[nodiscard]] Result<std::vector<std::string>> shard_paths(std::string_view path,
                                                           const Header& header);
/// The same from any shard of the set, for whoever starts no engine.
[[nodiscard]] Result<std::vector<std::string>> shard_set_paths(std::string_view path,
                                                               const Header& header);

/// Whether the headers are the shards of one model, all of them and in order, with no tensor in two
/// of them. `paths[i]` is where `shards[i]` was read, and names it in errors.
[[nodiscard]] Result<> check_set(const std::vector<Header>& shards,
                                 const std::vector<std::string>& paths);

/// What engines refuse a model's values for: no architecture, too many blocks, counts that
/// contradict each other. `first` is the first shard.
[[nodiscard]] Result<> check_values(const Header& first, Objections& objections);

}  // namespace picchio::gguf
