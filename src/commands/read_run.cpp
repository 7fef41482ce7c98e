#include "commands/read_run.h"

#include "base/text.h"
#include "engines/answers/answer.h"
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

/// The answer's arrivals are the pass's second clock.
ReadExchange read_exchange(ServerKind kind, RawPass& pass) {
  ReadExchange out;
  if (!pass.exchange) return out;
  out.answer = answers::read_answer(kind, *pass.exchange);
  out.claim = answers::read_claim(pass.exchange->claim);
  pass.first_token = out.answer->first_token;
  pass.last_token = out.answer->last_token;
  pass.stdout_reads = out.answer->pieces;
  return out;
}

Run read_run(RawRun raw) {
  const ServerKind kind = raw.server ? raw.server->kind : ServerKind::openai;
  std::vector<ReadExchange> exchanges;
  exchanges.reserve(raw.passes.size());
  for (RawPass& pass : raw.passes) exchanges.push_back(read_exchange(kind, pass));
  std::vector<EngineLog> logs;
  logs.reserve(raw.passes.size());
  std::ranges::transform(raw.passes, std::back_inserter(logs), read_pass_log);
  return assemble(std::move(raw), std::move(logs), std::move(exchanges));
}

}  // namespace

Judged judge_recorded(RawRun raw) {
  Judged out{read_run(std::move(raw)), {}};
  out.verdict = judge(out.run);
  return out;
}

Judged judge_loaded(RawRun raw) {
  Judged out{read_run(std::move(raw)), {}};
  out.verdict = judge_load(out.run);
  return out;
}

}  // namespace picchio
