// Reads the blocks that people paste: those of this tool and of the established one of its kind,
// old and new forms, with whatever stands around them. Pure.
#pragma once

#include "evidence/figures.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::results {

struct PastedBlock {
  RunFigures figures;
  std::size_t first_line = 0;  // in the text, from 1
  /// All of it, as pasted_lines() leaves them.
  std::vector<std::string> lines;
  /// Lines inside the block that are none of a block's, as they stand there.
  std::vector<std::string> unread;
  /// What a second VERDICT line says, where it is another state than figures.state.
  std::optional<State> other_state;
};

/// In the order of the text. A block begins with its model line and holds at least a gpu line or
/// the head of its table, and one row of rates or the VERDICT.
[[nodiscard]] std::vector<PastedBlock> find_blocks(std::string_view text);

}  // namespace picchio::results
