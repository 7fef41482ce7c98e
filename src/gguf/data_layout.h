// Whether the data section can be what the tensor table says.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "gguf/tensor_table.h"

#include <cstdint>
#include <optional>

namespace picchio::gguf {

/// Where a file's data section lies.
struct DataSection {
  std::int64_t offset = 0;     // in the file
  std::int64_t alignment = 1;  // of tensors in it; a power of two
  std::optional<std::int64_t> file_bytes;
};

/// Lays the tensors out by the sizes that their types give, and holds that against their offsets
/// and the file's end. The engine takes one layout only: each tensor right behind the one before it
/// in the table, rounded up to the alignment. Other writers are laxer, so that files with gaps and
/// in another order do exist: errors in Accept::loadable, faults in Accept::readable. Always
/// refused are offsets that are not aligned, tensors that overlap and data past the file's end.
///
/// A tensor without a price is taken to fill its room: no gap behind it is a fault.
[[nodiscard]] Result<OffsetAudit> audit_offsets(const TensorTable& table,
                                                const DataSection& section, Accept accept);

}  // namespace picchio::gguf
