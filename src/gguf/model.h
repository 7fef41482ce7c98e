// From headers to a priced model: what it weighs, what of that stays on the host, what a token
// reads.
#pragma once

#include "base/result.h"
#include "evidence/model_file.h"
#include "gguf/header.h"
#include "gguf/shards.h"

#include <string>
#include <vector>

namespace picchio::gguf {

/// One model of its shards, in order; `paths[i]` is where `shards[i]` was read, and names it in
/// errors. Refuses what an engine refuses: shards missing, out of order, of different sets, a
/// tensor in two of them, no architecture, counts that contradict each other, and headers that were
/// read with Accept::readable and raised objections or without a file's size.
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
