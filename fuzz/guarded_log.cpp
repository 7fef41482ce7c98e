// The log of a guarded command: what is handed on of it, and what is read of it, must not hang on
// where the pipe cut it.
#include "base/text.h"
#include "engines/llama_cpp/default_view.h"
#include "engines/log_dump.h"
#include "engines/log_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace picchio {
namespace {

using llama_cpp::DefaultView;
using llama_cpp::ViewedProgram;

/// `length(i)`: of the i-th piece.
template <class Length>
std::string handed_on(ViewedProgram program, std::string_view text, Length length) {
  DefaultView view(program);
  std::string out;
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::size_t size = std::min(text.size(), length(i));
    view.feed(text.substr(0, size), out);
    text.remove_prefix(size);
  }
  view.end(out);
  return out;
}

void check_view(std::string_view text, std::string_view cuts) {
  for (const ViewedProgram program :
       {ViewedProgram::server, ViewedProgram::completion, ViewedProgram::cli}) {
    const std::string whole = handed_on(program, text, [&](std::size_t) { return text.size(); });
    const std::string cut = handed_on(program, text, [&](std::size_t i) {
      return cuts.empty()
                 ? std::size_t{1}
                 : 1 + static_cast<std::size_t>(static_cast<unsigned char>(cuts[i % cuts.size()]));
    });
    if (whole != cut) std::abort();
  }
}

void check_stream(std::string_view text) {
  // Of more the stream forgets the oldest.
  constexpr std::size_t kSurelyKept = 60;
  const EngineLog whole = read_engine_log(text);
  if (whole.timings.size() > kSurelyKept) return;
  EngineLogStream stream;
  for (const std::string_view line : split_lines(text)) stream.add(line);
  if (dump(stream.so_far()) != dump(whole)) std::abort();
}

}  // namespace
}  // namespace picchio

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  // What stands before the first NUL says where to cut.
  const std::size_t nul = all.find('\0');
  const std::string_view cuts = nul == std::string_view::npos ? "" : all.substr(0, nul);
  const std::string_view text = nul == std::string_view::npos ? all : all.substr(nul + 1);
  picchio::check_view(text, cuts);
  // UTF-16 is told by a whole file's beginning alone.
  if (text.find('\0') == std::string_view::npos) picchio::check_stream(text);
  return 0;
}
