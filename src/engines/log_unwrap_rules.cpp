// Lines that carry other lines: what is inside is read again under the same number.
#include "base/text.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

bool strip_colours(LogState& state, const LogLine& line, const Found&) {
  state.again.push_back(without_ansi(line.text));
  return true;
}

bool decode_entities(LogState& state, const LogLine& line, const Found&) {
  std::string text = without_entities(line.text);
  if (text == line.text) return false;
  state.again.push_back(std::move(text));
  return true;
}

// {"timestamp":1696624677,"level":"WARNING","function":"...","line":845,"message":"..."}     to
// 2024
// {"tid":"...","timestamp":...,"level":"INFO","function":"main","line":1,"msg":"build
// info","build":1}
// {"type":"log","time":31022,"level":"info","msg":"load_backend: ...\n"}      --log-jsonl, b11669
bool open_json(LogState& state, const LogLine& line, const Found&) {
  if (!line.text.starts_with('{')) return false;
  auto message = json_string(line.text, "message");
  if (!message) message = json_string(line.text, "msg");
  if (!message) return false;
  if (*message == "build info") {
    if (const auto build = json_number(line.text, "build")) {
      state.again.push_back("main: build = " + std::string(*build) + " (json)");
    }
  }
  for (const std::string_view part : split_lines(*message)) state.again.emplace_back(part);
  return true;
}

// "cuda driver library failed to get device context 800time=2024-05-21T... level=WARN ..."
bool split_glued(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t at = found.head.size();
  if (trim(found.head).empty() || !line.text.substr(at, 120).contains(" level=")) return false;
  state.again.emplace_back(found.head);
  state.again.emplace_back(line.text.substr(at));
  return true;
}

constexpr LineRule kRules[] = {
    {"\x1b", strip_colours},       {"&quot;", decode_entities}, {"&lt;", decode_entities},
    {"&gt;", decode_entities},     {"&amp;", decode_entities},  {"&#39;", decode_entities},
    {"\"message\":\"", open_json}, {"\"msg\":\"", open_json},   {"time=2", split_glued},
};

}  // namespace

std::span<const LineRule> unwrapping_rules() { return kRules; }

}  // namespace picchio
