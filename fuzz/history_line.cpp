// A line of another machine's export. What is read is written again, and then it is a fixed point.
#include "history/record_json.h"
#include "report/history.h"
#include "report/run_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace picchio {
namespace {

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); });
}

void read_line(std::string_view line) {
  const auto read = history::record_of_export_line(line);
  if (!read) return;
  // What was stored can be read back, and exported to where it is read again.
  const auto stored = history::record_from_json(read->record);
  if (!stored) std::abort();
  // Who imports a line without an id gives it one.
  const std::string content =
      read->content.empty() ? "0123456789abcdef0123456789abcdef" : read->content;
  const auto again = history::record_of_export_line(history::export_line(content, read->record));
  if (!again || again->record != read->record) std::abort();
  const StoredRun run{1, content, read->run};
  if (!is_plain(stored_run_text(run, to_rfc3339))) std::abort();
  const StoredRow row = stored_row(run.id, run.content, run.run);
  for (const RowFormat format :
       {RowFormat::csv, RowFormat::json, RowFormat::jsonl, RowFormat::md, RowFormat::sql}) {
    if (!is_plain(run_rows(format, std::span(&row, 1)))) std::abort();
  }
}

}  // namespace
}  // namespace picchio

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  picchio::read_line({reinterpret_cast<const char*>(data), size});
  return 0;
}
