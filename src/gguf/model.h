// From headers to a priced model: what it weighs, what of that stays on the host, what a token
// reads.
#pragma once

#include "base/result.h"
#include "evidence/model_file.h"
#include "gguf/header.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

/// The parts of a shard's file name, "PREFIX-00002-of-00005.gguf".
struct ShardName {
  std::string prefix;       // with the folder
  std::int64_t number = 0;  // from 1
  std::int64_t count = 0;
};

/// nullopt for a name that no shard has.
[[nodiscard]] std::optional<ShardName> shard_name(std::string_view path);

/// Paths of all shards of the model whose first shard is `path` and whose header says
/// `split_count`, in order. A model in one file (`split_count` 0 or 1, whatever its name) is `path`
/// alone. Refused: a shard that is not the first, since engines start from the first only, and a
/// name that does not follow the pattern, since engines find the others by it.
[[nodiscard]] Result<std::vector<std::string>> shard_paths(std::string_view path,
                                                           std::int64_t split_count);
/// The same from the header read at `path`.
[[nodiscard]] Result<std::vector<std::string>> shard_paths(std::string_view path,
                                                           const Header& header);

/// One model of its shards, in order; `paths[i]` is where `shards[i]` was read, and names it in
/// errors. Refuses what an engine refuses: shards missing, out of order, of different sets, a
/// tensor in two of them, no architecture, counts that contradict each other.
///
/// A full offload then puts this on the devices (measured on 17 architectures, llama.cpp 0.7.0):
///   tensor_bytes - always_host_bytes - skipped_bytes + (tied_output ? token_embd_bytes : 0)
/// since a tied head is a second copy of the embedding, which itself stays on the host.
///
/// Where ModelFile leaves room:
/// - file_type: with no general.file_type the engine guesses from the type that most tensors have,
///   and so does this, in its words ("(guessed) all F32"). Empty for a type that no file type
///   means.
/// - tied_output: false as well without token_embd, and in encoders (attention.causal false), which
///   have no head.
/// - bytes_per_token: one row of the other tables that are looked up by token or position
///   (position_embd, token_types, per_layer_token_embd), as of token_embd. Nothing of skipped
///   blocks.
[[nodiscard]] Result<ModelFile> price(std::vector<Header> shards, std::vector<std::string> paths);

}  // namespace picchio::gguf
