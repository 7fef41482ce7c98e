// What llama.cpp does for an architecture beyond the classic rule (every layer attends to the whole
// context and keeps its keys and values). One table; the numbers that a file gives are elsewhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace picchio::gguf {

/// Which layers attend to a window of the last tokens only, unless the file says it for each layer.
enum class Sliding {
  never,        // even when the file names a window
  as_told,      // where the file has a pattern; an architecture that is not in the table too
  period,       // every `period`-th layer is full: the last of each group
  dense_first,  // every `period`-th layer is full: the first of each group
  all,
};

struct SlidingRule {
  Sliding kind = Sliding::never;
  std::int64_t period = 0;
  std::int64_t window = 0;       // for a file that names none; 0: then nothing slides
  bool fixed = false;            // `window` whatever the file says, if it names one
  std::int64_t only_blocks = 0;  // the rule is for models of so many blocks; 0: for all
};

/// A state of constant size in place of, or beside, keys and values.
enum class Recurrence { none, mamba, mamba2, delta, short_conv, kda, rwkv, lightning };

enum class RecurrentLayers {
  all,
  without_kv_heads,          // head_count_kv is 0
  without_kv_heads_and_ffn,  // and feed_forward_length too
  all_but_every_nth,         // full_attention_interval, or a list in the file
  listed,                    // in the file
};

/// Caches beside the usual one.
enum class ExtraCache {
  none,
  indexer,        // keys of a sparse indexer
  indexer_pair,   // keys and values
  indexer_three,  // rows of three keys
  indexer_two,
  compressed,  // deepseek4's
};

/// What is added to the compute buffer of an architecture whose graph is not followed operation by
/// operation: numbers a token, as multiples of its widths. Measured on small models.
struct Reserve {
  std::int64_t embeddings = 0;
  std::int64_t cells = 0;
  std::int64_t head_cells = 0;  // cells for each head
  std::int64_t indexers = 0;    // of all heads of the sparse indexer
};

struct Architecture {
  std::string_view name;
  SlidingRule sliding = {};
  Recurrence recurrence = Recurrence::none;
  RecurrentLayers recurrent = RecurrentLayers::all;
  ExtraCache extra = ExtraCache::none;
  bool attends = true;                // false: no layer has keys and values
  bool attention_everywhere = false;  // recurrent layers attend too
  bool cached = true;                 // false: reads a text at once and keeps no cache
  bool flash = true;                  // false: flash attention is turned off whatever is asked
  bool turns_full = true;             // false: only sliding layers rotate by position
  bool turns = true;                  // false: no layer does
  bool weighs_before = false;         // experts are given their shares of the input, not the output
  bool routes_early = false;          // experts are chosen by what goes into the block
  Reserve reserve = {};
  std::int64_t own_cache_layers = 0;  // 0: all; further layers use the cache of an earlier one
};

/// nullptr for one that is not known.
[[nodiscard]] const Architecture* architecture(std::string_view name);

}  // namespace picchio::gguf
