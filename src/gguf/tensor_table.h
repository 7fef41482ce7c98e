// The tensor table of a header.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/header_bytes.h"
#include "gguf/objections.h"
#include "gguf/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace picchio::gguf {

struct TensorTable {
  std::vector<HeaderTensor> tensors;
  std::vector<std::size_t> offset_fields;  // where in the file each tensor's offset stands
};

[[nodiscard]] Result<TensorTable> read_tensor_table(HeaderBytes& in, std::int64_t count,
                                                    Objections& objections);

/// Gives a tensor whose shape is known its type and its price. `type` is nullptr for one that is
/// not in the table, `spelled` how it stands where it was read ("57", "Q9_K"), at byte `at` if that
/// is a file.
[[nodiscard]] Result<> set_type(HeaderTensor& tensor, const TensorType* type,
                                std::string_view spelled, std::optional<std::size_t> at,
                                Objections& objections);

}  // namespace picchio::gguf
