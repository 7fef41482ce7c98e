// A GGUF header, read. GGUF is llama.cpp's model file: a preamble (magic, version, two counts), the
// key/value pairs (architecture, sizes, the whole vocabulary), the tensor table, and then the
// weights. Everything up to the weights is "the header": some KiB, or some MiB where the vocabulary
// is large.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "gguf/hyper_parameters.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace picchio::gguf {

struct HeaderTensor {
  std::string name;  // up to its first NUL byte, as the engine sees it; not escaped
  std::string type;  // ggml's name, "q4_K"; "type 57" for a number that is not in the table
  std::array<std::int64_t, 4> ne{1, 1, 1, 1};  // ne[0] is the row; dimensions not in the file are 1
  std::uint32_t dimensions = 0;                // how many of `ne` are in the file
  std::int64_t elements = 0;                   // product of ne; 0 where a dimension is
  std::optional<std::int64_t> bytes;           // absent: nobody knows the block size of its type
  std::int64_t offset = 0;                     // from the start of the data section
};

/// One file: a whole model or one shard of it. Texts are the file's own bytes, for `plain()` to
/// make printable. What the file does not hold is absent; shards after the first hold little but
/// `split_*`.
struct Header {
  std::uint32_t version = 0;  // 1 to 3
  bool big_endian = false;
  std::optional<std::int64_t> file_bytes;  // as given
  std::int64_t keys = 0;
  std::int64_t alignment = 32;    // of tensors in the data section
  std::int64_t header_bytes = 0;  // up to the end of the tensor table
  std::int64_t data_offset = 0;   // of the data section in the file: header_bytes, padded

  std::optional<std::string> architecture;          // general.architecture
  std::optional<std::string> name;                  // general.name
  std::optional<std::int64_t> file_type;            // general.file_type
  std::optional<std::int64_t> split_no;             // from 0
  std::optional<std::int64_t> split_count;          // 0 in a file merged from shards
  std::optional<std::int64_t> split_tensors_count;  // over all shards

  // Of ARCHITECTURE.*
  std::optional<std::int64_t> block_count;  // with the blocks of next-token prediction
  std::optional<std::int64_t> context_length;
  std::optional<std::int64_t> expert_count;
  std::optional<std::int64_t> expert_used_count;
  std::optional<std::int64_t> nextn_predict_layers;
  std::optional<bool> causal_attention;  // attention.causal; false in encoders

  // For the card only. No engine minds their types, so a value of another type than the usual one
  // is absent as well.
  std::optional<std::string> type;          // general.type: "model", "adapter", "mmproj", "imatrix"
  std::optional<std::string> adapter_type;  // adapter.type: "lora"
  std::optional<std::string> size_label;    // general.size_label
  std::optional<std::int64_t> expert_shared_count;
  std::optional<std::int64_t> embedding_length;
  bool clip_keys = false;            // any clip.*: an encoder of pictures or sound
  std::vector<SourceClaim> sources;  // at most kMaxSources, those that tell most first
  TokenizerLine tokenizer;           // at most kMaxTemplates templates

  HyperParameters hyper;

  std::vector<HeaderTensor>
      tensors;  // in table order; that of their data too, if an engine loads it
  OffsetAudit audit;

  /// What an engine refuses this file for, but for `audit.faults`: the first of each kind in a
  /// sentence with its place, and how many more there are. Always empty in Accept::loadable.
  std::vector<std::string> objections;
};

/// No header is longer than this; a file whose header is, is refused. The largest known ones (a
/// vocabulary of 262,144 words with its merges) take about 20 MiB. The bound keeps a sparse file
/// that claims terabytes of empty strings from being walked to its end.
inline constexpr std::int64_t kMaxHeaderBytes = std::int64_t{256} << 20U;

/// What a header may keep of texts whose number and length are the file's to choose.
inline constexpr std::size_t kMaxSources = 64;
inline constexpr std::size_t kMaxSourceBytes = 512;  // of a value; the rest is cut off
inline constexpr std::size_t kMaxTemplates = 64;

/// Which files are taken.
enum class Accept {
  /// What llama.cpp loads, a zero dimension, a name that is not UTF-8 and bytes after the last
  /// tensor among it; everything else is an error.
  loadable,
  /// Besides these what can be read without doubt though no engine loads it: version 1, big-endian
  /// numbers, arrays of arrays, tensor types that are gone or not known, long tensor names, gaps
  /// between tensors and tensors out of order, keys of another type than theirs. Each of them is
  /// told in Header::objections or in Header::audit.faults.
  readable,
};

/// Reads the header of a file of `file_bytes` bytes from `bytes`: the mapped file, or a beginning
/// of it that holds the header. Without `file_bytes` (a stream) the data's end is not checked.
/// Touches the header's pages only, and every allocation is paid for by bytes already read,
/// whatever the counts claim.
///
/// Errors say what is wrong and at which byte:
///   malformed    not a GGUF file, a broken or hostile header, data that does not fit the file
///                (with a hint where an unfinished download looks like this)
///   unsupported  a version, byte order or tensor type that engines do not read, or not yet
///   failed       `bytes` is a beginning of the file and the header goes on behind it. Then
///                `*needed`, where asked for, is what the header takes at least, from the file's
///                start: more than bytes.size(), at most kMaxHeaderBytes
[[nodiscard]] Result<Header> read_header(std::span<const std::byte> bytes,
                                         std::optional<std::int64_t> file_bytes,
                                         Accept accept = Accept::loadable,
                                         std::int64_t* needed = nullptr);

}  // namespace picchio::gguf
