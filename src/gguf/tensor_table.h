// The tensor table of a header, and whether the data section can be what it says.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/header_bytes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace picchio::gguf {

/// The least that a row takes in a file: name length, dimension count, type, offset.
inline constexpr std::uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;

struct TensorTable {
  std::vector<HeaderTensor> tensors;
  std::vector<std::size_t> offset_fields;  // where in the file each tensor's offset stands
};

[[nodiscard]] Result<TensorTable> read_tensor_table(HeaderBytes& in, std::int64_t count);

/// The engine takes one layout only: each tensor right behind the one before it in the table,
/// rounded up to the alignment, which is a power of two. Other readers are laxer, so other files do
/// exist.
[[nodiscard]] Result<> check_packing(const TensorTable& table, std::int64_t alignment);

/// Of a table that packs: whether the data, which begins at `data_offset`, ends within the file.
[[nodiscard]] Result<> check_data_end(const TensorTable& table, std::int64_t data_offset,
                                      std::int64_t file_bytes);

}  // namespace picchio::gguf
