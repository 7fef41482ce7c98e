// Any bytes must read as a log: no crash, no endless loop, and every line number inside the text.
#include "engines/log_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const picchio::EngineLog log = picchio::read_engine_log(text);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  for (const picchio::Load& load : log.loads) {
    if (load.first_line < 1 || load.last_line < load.first_line) std::abort();
    if (static_cast<std::size_t>(load.last_line) > lines) std::abort();
    for (const picchio::BufferLine& buffer : load.buffers) {
      if (buffer.bytes < 0 || buffer.line < 1) std::abort();
    }
  }
  for (const picchio::LogEvent& event : log.events) {
    if (static_cast<std::size_t>(event.line) > lines) std::abort();
  }
  return 0;
}
