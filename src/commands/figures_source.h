// Where the figures of a run come from, as compare, verify and share name it.
#pragma once

#include "base/result.h"
#include "evidence/figures.h"

#include <string>
#include <vector>

namespace picchio {

/// Of a run of the history (@12, last), of a folder that --keep-logs wrote, or of a file ("-":
/// standard input) with blocks, the JSON of a run or a table of llama-bench. Never empty.
[[nodiscard]] Result<std::vector<RunFigures>> figures_from(const std::string& source);

/// The same where it has to be one run.
[[nodiscard]] Result<RunFigures> one_run_from(const std::string& source);

/// The same with the lines of its block, which a kept run, one of the history and a text with a
/// block have.
struct RunWithBlock {
  RunFigures figures;
  bool contradicted = false;  // by its block or its figures: see results/verify.h
  std::vector<std::string> block;
};
[[nodiscard]] Result<RunWithBlock> one_run_with_block_from(const std::string& source);

/// A file or standard input, whole; `-` is standard input.
[[nodiscard]] Result<std::string> pasted_text_from(const std::string& source);

}  // namespace picchio
