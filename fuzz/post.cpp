// Posts and quoted numbers from strangers: vetted, and every word that is shown again is printable.
#include "results/block_reader.h"
#include "results/number.h"
#include "results/share.h"
#include "results/verify.h"
#include "results/vet.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {
namespace {

void expect_printable(std::string_view text) {
  const bool good =
      std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); });
  if (!good) std::abort();
}

void read_text(std::string_view text) {
  if (const auto vetting = results::vet(text)) {
    if (vetting->figures.empty() || vetting->figures.size() > vetting->figure_count) std::abort();
    expect_printable(results::vetting_text(*vetting));
    expect_printable(results::vetting_json(*vetting));
  }
  std::vector<results::NumberedRun> runs;
  for (results::PastedBlock& block : results::find_blocks(text)) {
    runs.push_back({block.figures, ""});
    const bool contradicted = !results::verify(block).contradictions.empty();
    const results::SharedRun run{std::move(block.figures), std::nullopt, contradicted,
                                 std::move(block.lines)};
    expect_printable(results::share_line(run));
    expect_printable(results::share_row(run, true));
    expect_printable(results::share_post(run));
  }
  constexpr std::size_t kLongestNumber = 40;
  const auto number = results::read_number(text.substr(0, kLongestNumber));
  if (!number) return;
  if (!(number->value > 0)) std::abort();
  const auto matches = results::explain_number(*number, runs);
  expect_printable(results::number_text(*number, runs, matches));
  expect_printable(results::number_json(*number, runs, matches));
}

}  // namespace
}  // namespace picchio

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  picchio::read_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
