#include "commands/read_run.h"

#include "base/text.h"
#include "engines/log_reader.h"
#include "verdict/judge.h"
#include "verdict/lanes.h"

#include <algorithm>

namespace picchio {
namespace {

EngineLog read_pass_log(const RawPass& pass) {
  const std::vector<std::string_view> lines = split_lines(pass.log);
  std::vector<StampedLine> stamped;
  stamped.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    stamped.push_back({lines[i], std::nullopt});
    if (i < pass.line_stamps.size()) stamped.back().at = pass.line_stamps[i];
  }
  return read_engine_log(stamped);
}

}  // namespace

Judged judge_recorded(RawRun raw) {
  std::vector<EngineLog> logs;
  logs.reserve(raw.passes.size());
  std::ranges::transform(raw.passes, std::back_inserter(logs), read_pass_log);
  Judged out{assemble(std::move(raw), std::move(logs)), {}};
  out.verdict = judge(out.run);
  return out;
}

}  // namespace picchio
