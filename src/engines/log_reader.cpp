#include "engines/log_reader.h"

#include "base/text.h"
#include "engines/log_finish.h"
#include "engines/log_markers.h"
#include "engines/log_rules.h"
#include "engines/log_state.h"
#include "engines/log_text.h"

#include <cstring>
#include <limits>

namespace picchio {
namespace {

// A line inside a line inside a line: JSON of coloured text glued to slog. More is an attack.
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxLine = std::size_t{1} << 20;

std::vector<LineRule> all_rules() {
  std::vector<LineRule> rules;
  for (const auto table : {unwrapping_rules(), ollama_rules(), front_end_rules(), fit_rules(),
                           load_rules(), early_load_rules(), context_rules(), device_rules(),
                           bench_rules(), timing_rules(), event_rules()}) {
    rules.insert(rules.end(), table.begin(), table.end());
  }
  return rules;
}

std::vector<std::string_view> markers_of(const std::vector<LineRule>& rules) {
  std::vector<std::string_view> markers;
  markers.reserve(rules.size());
  for (const LineRule& rule : rules) markers.push_back(rule.marker);
  return markers;
}

class LineReader {
 public:
  LineReader() : rules_(all_rules()), index_(markers_of(rules_)) {}

  /// True: the line holds a marker.
  bool read(LogState& state, std::string_view raw, int number, int depth) const {
    raw = raw.substr(0, kMaxLine);
    std::vector<MarkerIndex::Hit> hits;  // takes no memory for the many lines without a marker
    index_.find(raw, hits);
    if (hits.empty()) return false;
    const StrippedLine stripped = strip_wrappers(raw);
    if (stripped.container) state.log.in_container = true;
    const LogLine line{stripped.text, stripped.level, number};
    const auto front = static_cast<std::size_t>(stripped.text.data() - raw.data());
    const std::size_t back = front + stripped.text.size();
    for (const MarkerIndex::Hit& hit : hits) {
      const LineRule& rule = rules_[hit.marker];
      const std::size_t begin = hit.end - rule.marker.size();
      Found where;
      where.rule = &rule;
      if (begin > front) where.head = raw.substr(front, begin - front);
      if (hit.end < back) where.rest = raw.substr(hit.end, back - hit.end);
      if (rule.read(state, line, where)) break;
    }
    if (state.again.empty()) return true;
    const std::vector<std::string> inner = std::move(state.again);
    state.again.clear();
    if (depth >= kMaxDepth) return true;
    for (const std::string& text : inner) read(state, text, number, depth + 1);
    return true;
  }

 private:
  std::vector<LineRule> rules_;
  MarkerIndex index_;
};

const LineReader& reader() {
  static const LineReader instance;
  return instance;
}

std::string_view without_line_end(std::string_view text) {
  while (text.ends_with('\r') || text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

EngineLog read_engine_log(std::span<const StampedLine> lines) {
  LogState state;
  int number = 0;
  for (const StampedLine& line : lines) {
    reader().read(state, without_line_end(line.text), ++number, 0);
  }
  finish_log(state);
  return std::move(state.log);
}

EngineLog read_engine_log(std::string_view text) {
  std::string converted;
  if (auto utf8 = utf8_of_utf16(text)) {
    converted = *std::move(utf8);
    text = converted;
  }
  take_prefix(text, "\xEF\xBB\xBF");
  LogState state;
  int number = 0;
  while (!text.empty() && number < std::numeric_limits<int>::max()) {
    const void* end = std::memchr(text.data(), '\n', text.size());
    const std::size_t length =
        end == nullptr ? text.size()
                       : static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
    reader().read(state, without_line_end(text.substr(0, length)), ++number, 0);
    text.remove_prefix(length == text.size() ? length : length + 1);
  }
  finish_log(state);
  return std::move(state.log);
}

struct LogStreamState {
  LogState log;
  int lines = 0;
};

EngineLogStream::EngineLogStream() : state_(std::make_unique<LogStreamState>()) {}
EngineLogStream::EngineLogStream(EngineLogStream&&) noexcept = default;
EngineLogStream& EngineLogStream::operator=(EngineLogStream&&) noexcept = default;
EngineLogStream::~EngineLogStream() = default;

bool EngineLogStream::add(std::string_view line) {
  // A server adds one for each request, for weeks.
  constexpr std::size_t kMostTimings = 64;
  if (state_->lines < std::numeric_limits<int>::max()) ++state_->lines;
  const bool tells = reader().read(state_->log, without_line_end(line), state_->lines, 0);
  auto& timings = state_->log.log.timings;
  if (timings.size() > kMostTimings) {
    timings.erase(timings.begin(), timings.end() - kMostTimings / 2);
  }
  return tells;
}

EngineLog EngineLogStream::so_far() const {
  LogState copy = state_->log;
  finish_log(copy);
  return std::move(copy.log);
}

}  // namespace picchio
