// What a tensor is for, by its name.
#pragma once

#include "evidence/card.h"

#include <string_view>

namespace picchio::gguf {

/// `next_token_block`: its block is one of next-token prediction.
[[nodiscard]] TensorPart part_of(std::string_view name, bool next_token_block);

}  // namespace picchio::gguf
