// A model file's header, priced. Made by gguf/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

struct TensorInfo {
  std::string name;
  std::string type;  // ggml's name: "q4_K", "f32"
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  int block = -1;  // N of "blk.N.", -1 for the others
};

/// All shards of a split model count as one file.
struct ModelFile {
  std::string path;
  std::string name;  // general.name
  std::string architecture;
  std::string file_type;          // general.file_type in words: "Q4_K - Medium"
  std::int64_t file_bytes = 0;    // on disk, all shards
  std::int64_t tensor_bytes = 0;  // sum over the tensor table
  std::int64_t parameters = 0;    // sum of elements of all tensors
  std::vector<TensorInfo> tensors;
  std::vector<std::string> shards;  // paths, the given file first
  std::optional<std::int64_t> block_count;
  std::optional<std::int64_t> context_length;
  std::optional<std::int64_t> expert_count;
  std::optional<std::int64_t> expert_used_count;
  std::optional<std::int64_t> nextn_predict_layers;
  bool tied_output = false;  // no output.weight: token_embd serves as the head too

  /// What the engine keeps in host memory by design: token_embd, token_embd_norm, position_embd,
  /// token_types, per_layer_token_embd.
  std::int64_t always_host_bytes = 0;
  /// Blocks of next-token prediction that the engine does not load unless asked.
  std::int64_t skipped_bytes = 0;
  std::int64_t token_embd_bytes = 0;
  /// Bytes that one decoded token reads: every tensor once, of experts the share in use, of the
  /// embedding one row (all of it when it serves as the head too).
  std::int64_t bytes_per_token = 0;
};

}  // namespace picchio
