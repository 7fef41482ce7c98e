// What people paste: blocks, JSON of runs, tables of llama-bench; then compared and verified.
#include "report/comparison.h"
#include "results/block_reader.h"
#include "results/compare.h"
#include "results/pasted_text.h"
#include "results/read_figures.h"
#include "results/verify.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace picchio {
namespace {

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

void read_pasted(std::string_view bytes) {
  const Result<std::string> decoded = results::text_of(std::string(bytes));
  if (!decoded) return;
  const std::string_view text = *decoded;
  for (const results::PastedBlock& block : results::find_blocks(text)) {
    for (const auto& each : results::verify(block).contradictions) {
      if (!is_plain(each.text)) std::abort();
    }
  }
  const auto runs = results::read_figures(text);
  if (!runs) return;
  if (runs->empty()) std::abort();
  for (const RunFigures& run : *runs) {
    if (!is_plain(run.model) || !is_plain(run.machine.chip)) std::abort();
    const Comparison comparison = results::compare(runs->front(), run, std::nullopt);
    for (const ComparedLane& lane : comparison.lanes) {
      if (std::isnan(lane.ratio())) std::abort();
    }
    const std::string shown = comparison_text(comparison, {"a", "b"});
    if (!std::ranges::all_of(shown, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); })) {
      std::abort();
    }
    (void)comparison_json(comparison, {"a", "b"});
  }
  // A run is as itself, whatever it says.
  const Comparison same = results::compare(runs->front(), runs->front(), std::nullopt);
  if (same.differs()) std::abort();
}

}  // namespace
}  // namespace picchio

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  picchio::read_pasted({reinterpret_cast<const char*>(data), size});
  return 0;
}
