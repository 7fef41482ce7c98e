// What a user asks of a context, and what the engine makes of it.
#pragma once

#include "base/result.h"
#include "gguf/memory/layers.h"
#include "gguf/types.h"

#include <cstdint>
#include <optional>
#include <string>

namespace picchio::gguf {

/// They reserve different numbers of output rows, and have different defaults.
enum class Program {
  one_shot,  // llama-completion, llama-bench, llama-batched-bench
  server,    // llama-server, llama-cli
};

enum class FlashAttention { automatic, on, off };

/// As on the command line; absent is not given.
struct ContextSettings {
  Program program = Program::one_shot;
  std::int64_t n_ctx = 0;  // 0: what the model was trained on
  std::int64_t n_batch = 2048;
  std::int64_t n_ubatch = 512;
  std::optional<std::int64_t> n_parallel = std::nullopt;
  std::optional<bool> kv_unified = std::nullopt;
  std::string cache_type_k = "f16";
  std::string cache_type_v = "f16";
  FlashAttention flash_attention = FlashAttention::automatic;
  bool swa_full = false;
};

struct Context {
  std::int64_t n_ctx = 0;          // over all sequences; may be more than asked
  std::int64_t cells = 0;          // of the cache, for each stream
  std::int64_t cells_sliding = 0;  // the same of the cache of sliding layers
  std::int64_t streams = 1;        // copies of the cache
  std::int64_t sequences = 1;
  std::int64_t tokens = 0;   // in the largest micro-batch
  std::int64_t outputs = 0;  // rows of logits reserved for it
  bool flash_attention = true;
  const TensorType* key_type = nullptr;
  const TensorType* value_type = nullptr;
};

/// Errors are the engine's refusals: a cache type whose blocks do not divide a head, quantized
/// values without flash attention, keys and values of two types where there are only keys; and
/// numbers that no engine takes.
[[nodiscard]] Result<Context> context_of(const ModelLayers& model,
                                         std::optional<std::int64_t> trained_context,
                                         const ContextSettings& settings);

}  // namespace picchio::gguf
