// What is inside a model file, whatever its label says: the card that `picchio id` prints. Made by
// gguf/ from headers alone. Texts are the file's own claims and its own bytes, for plain() to make
// printable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {

enum class CardKind {
  model,
  adapter,            // a LoRA: general.type "adapter"
  projector,          // mmproj: the picture or sound encoder of a multimodal model
  importance_matrix,  // what a quantizer was guided by
  other,              // a GGUF file that says it is something else
};
[[nodiscard]] std::string_view name_of(CardKind kind);  // "model", "LoRA adapter", ...

/// What a tensor is for, by its name. Order is the order of printing.
enum class TensorPart {
  embedding,       // token_embd, position_embd, token_types, per_layer_token_embd
  attention,       // of the blocks, norms and biases included
  recurrent,       // ssm, rwkv time mix, short convolution, linear attention
  ffn,             // dense feed-forward
  experts,         // *_exps, *_chexps: of which a token uses some
  shared_experts,  // *_shexp: used by every token
  router,          // ffn_gate_inp and its bias
  norm,            // norms that belong to no part above
  residual,        // hyper connections, AltUp, LAuReL: how blocks hand their sums on
  output,          // output, output_norm, cls
  next_token,      // MTP / nextn heads and the blocks that hold them: not loaded unless asked
  vision,          // v.*, a.*, mm.*, resampler.*: an encoder's or a projector's
  adapter,         // *.lora_a, *.lora_b
  other,
};
[[nodiscard]] std::string_view name_of(TensorPart part);  // "attention", "shared experts", ...

struct CardTensor {
  std::string name;
  std::string type;              // ggml's name, "q4_K"; of an unknown number "type 57"
  std::vector<std::int64_t> ne;  // as in the file; ne[0] is the row
  std::int64_t elements = 0;
  std::optional<std::int64_t> bytes;  // absent: nobody knows the block size of its type
  std::size_t file = 0;               // index into Card::files
  int block = -1;                     // N of "blk.N.", -1 for the others
  TensorPart part = TensorPart::other;
};

/// Where a SHA-256 comes from. Only `computed` and `remembered` were made from the bytes.
enum class DigestSource { computed, remembered, blob_name, server };

struct Digest {
  std::string hex;  // 64 digits, lower case
  DigestSource source = DigestSource::computed;
};

/// One file of the model: the whole, or a shard.
struct CardFile {
  std::string path;                   // or the URL, or "-"
  std::optional<std::int64_t> bytes;  // absent: a stream, or a server that does not say
  std::optional<Digest> digest;
  std::int64_t header_bytes = 0;  // up to and without the padding before the data section
  std::int64_t data_offset = 0;
  /// The digest of the bytes is not the one that the file's store names it by: how they differ.
  std::optional<std::string> digest_fault = std::nullopt;
  /// Of a remote file: what reading its header took.
  std::optional<std::int64_t> transferred_bytes = std::nullopt;
};

/// Of the tensors of one type.
struct TypeRow {
  std::string type;
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::optional<std::int64_t> bytes;  // absent: see CardTensor
};

/// The sizes that the types give against the offsets that the header states, and against the end of
/// the file. `faults` are what an engine would refuse the file for.
struct OffsetAudit {
  std::int64_t typed_bytes = 0;    // of all tensors that have a price
  std::int64_t padding_bytes = 0;  // between tensors, to the alignment
  /// Behind the last tensor; absent where the file's size is not known. Some writers pad there.
  std::optional<std::int64_t> trailing_bytes;
  std::vector<std::string> faults;  // "a gap of 64 bytes before tensor 'x' (byte 1234)"
  /// Why no audit was made: "a server's table has no offsets". Empty: it was made.
  std::string none_because;
};

/// A string key of the header that tells where the file comes from.
struct SourceClaim {
  std::string key;  // "general.quantized_by"
  std::string value;
};

struct TokenizerLine {
  std::string model;  // "gpt2", "llama", "bert"; empty: not told
  std::string pre;    // "qwen2"; empty: not told
  std::optional<std::int64_t> vocabulary;
  std::optional<std::int64_t> merges;
  std::vector<std::pair<std::string, std::int64_t>> templates;  // name ("" the default), bytes
};

struct Experts {
  std::int64_t count = 0;
  std::int64_t used = 0;
  std::optional<std::int64_t> shared;
};

/// How the KV cache was stored when this model was last measured on this machine.
struct LastKv {
  std::string k;  // "f16"
  std::string v;
  std::string time;    // RFC 3339, UTC
  std::string engine;  // "llama.cpp b11669"
};

struct Card {
  std::string label;  // what the user called it, "qwen3:8b"; empty: the first file's base name
  CardKind kind = CardKind::model;
  std::vector<CardFile> files;  // all shards, in order
  std::uint32_t version = 3;
  bool big_endian = false;
  std::int64_t alignment = 32;
  std::int64_t keys = 0;     // of the first file
  std::string architecture;  // empty: not told
  std::string name;          // general.name; empty: not told
  std::string size_label;    // general.size_label: "8B"; empty: not told
  std::optional<std::int64_t> file_type;
  std::string claimed;  // general.file_type in the engine's words: "Q4_K - Medium"; empty: none
  std::vector<SourceClaim> sources;
  TokenizerLine tokenizer;
  std::optional<std::int64_t> block_count;
  std::optional<std::int64_t> context_length;
  std::optional<std::int64_t> embedding_length;
  std::optional<Experts> experts;
  std::optional<std::int64_t> next_token_blocks;

  std::vector<CardTensor> tensors;  // in table order, shard by shard
  std::vector<TypeRow> types;       // by bytes, most first; those without a price last
  OffsetAudit audit;
  /// What an engine refuses this file for although it can be read: "version 1, which ...".
  std::vector<std::string> objections;

  // Sums over the tensors that have a price; `unpriced` counts the others.
  std::int64_t tensor_bytes = 0;
  std::int64_t elements = 0;
  std::int64_t unpriced = 0;
  std::int64_t unpriced_elements = 0;
  /// Of a model only: parameters that one token uses, and the bytes that reading them takes.
  std::optional<std::int64_t> active_parameters;
  std::optional<std::int64_t> bytes_per_token;
  /// From the cache of runs, never from the file. Absent: this model was not measured here.
  std::optional<LastKv> last_kv;
};

/// Tensors that a file of this kind usually does not hold: next-token heads, an encoder inside a
/// language model, second output layers, names that no part claims. Indices into Card::tensors.
[[nodiscard]] std::vector<std::size_t> unusual_tensors(const Card& card);

/// 8 x bytes / elements of the priced tensors; absent when there are none.
[[nodiscard]] std::optional<double> bits_per_weight(const Card& card);
/// "Q4_K_M" of "Q4_K - Medium", "Q4_K_M" of a file name that holds such a label; empty: none.
[[nodiscard]] std::string label_of_file_type(std::string_view words);
[[nodiscard]] std::string label_in_name(std::string_view file_name);

/// Where that label stands in the name.
struct LabelPlace {
  std::size_t begin = 0;
  std::size_t size = 0;  // 0: the name holds none
};
[[nodiscard]] LabelPlace label_place(std::string_view file_name);

}  // namespace picchio
