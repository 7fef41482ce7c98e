// A GGUF header, read. GGUF is llama.cpp's model file: a preamble (magic, version, two counts), the
// key/value pairs (architecture, sizes, the whole vocabulary), the tensor table, and then the
// weights. Everything up to the weights is "the header": some KiB, or some MiB where the vocabulary
// is large.
#pragma once

#include "base/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

struct HeaderTensor {
  std::string name;       // up to its first NUL byte, as the engine sees it; not escaped
  std::string_view type;  // ggml's name, "q4_K"; of static storage
  std::array<std::int64_t, 4> ne{1, 1, 1, 1};  // ne[0] is the row; dimensions not in the file are 1
  std::int64_t elements = 0;                   // product of ne; 0 where a dimension is
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // from the start of the data section
};

/// One file: a whole model or one shard of it. Texts are the file's own bytes, for `plain()` to
/// make printable. What the file does not hold is absent; shards after the first hold little but
/// `split_*`.
struct Header {
  std::uint32_t version = 0;     // 2 or 3
  std::int64_t file_bytes = 0;   // as given
  std::int64_t alignment = 32;   // of tensors in the data section
  std::int64_t data_offset = 0;  // of the data section in the file

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

  std::vector<HeaderTensor> tensors;  // in table order, which is the order of their data
};

/// No header is longer than this; a file whose header is, is refused. The largest known ones (a
/// vocabulary of 262,144 words with its merges) take about 20 MiB. The bound keeps a sparse file
/// that claims terabytes of empty strings from being walked to its end.
inline constexpr std::int64_t kMaxHeaderBytes = std::int64_t{256} << 20U;

/// Reads the header of a file of `file_bytes` bytes from `bytes`: the mapped file, or a beginning
/// of it that holds the header. Touches the header's pages only, and every allocation is paid for
/// by bytes already read, whatever the counts claim.
///
/// Refuses what llama.cpp refuses, and takes what it takes (a zero dimension, a name that is not
/// UTF-8, bytes after the last tensor). Errors say what is wrong and at which byte:
///   malformed    not a GGUF file, a broken or hostile header, data that does not fit the file
///                (with a hint where an unfinished download looks like this)
///   unsupported  a version, byte order or tensor type that engines do not read, or not yet
///   failed       `bytes` is a beginning of the file and the header goes on behind it
[[nodiscard]] Result<Header> read_header(std::span<const std::byte> bytes, std::int64_t file_bytes);

}  // namespace picchio::gguf
