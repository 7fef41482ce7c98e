#include "results/read_figures.h"

#include "base/text.h"
#include "results/bench_reader.h"
#include "results/block_reader.h"
#include "results/run_json_reader.h"

#include <utility>

namespace picchio::results {

Result<std::vector<RunFigures>> read_figures(std::string_view text) {
  if (trim(text).empty()) return fail(ErrorKind::malformed, "it is empty");
  if (is_bench(text)) return read_bench(text);
  if (trim(text).starts_with('{')) {
    Result<RunFigures> run = read_run_json(text);
    if (!run) return std::unexpected(run.error());
    return std::vector<RunFigures>{*std::move(run)};
  }
  std::vector<RunFigures> out;
  for (PastedBlock& block : find_blocks(text)) out.push_back(std::move(block.figures));
  if (!out.empty()) return out;
  return with_hint(fail(ErrorKind::malformed, "it holds no block"),
                   "a block begins with its 'model' line and ends with '-- picchio v...'");
}

}  // namespace picchio::results
