// Answers, claims and counters of servers, whatever they send. The first byte chooses the kind of
// server and what the rest is.
#include "engines/answers/answer.h"
#include "engines/ollama/show.h"
#include "report/block.h"
#include "verdict/judge.h"
#include "verdict/lanes.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace picchio {
namespace {

void judge_answer(ServerKind kind, std::string_view text) {
  RawRun raw;
  raw.server.emplace().kind = kind;
  raw.tokens_asked = 128;
  raw.passes.resize(2);
  std::vector<ReadExchange> exchanges;
  for (RawPass& pass : raw.passes) {
    RawExchange& exchange = pass.exchange.emplace();
    exchange.body = text;
    exchange.claim = text.substr(0, text.find('\n'));
    exchange.counters_after = text;
    exchange.counters_before = text.substr(text.size() / 2);
    for (std::size_t i = 0; i < 64; ++i) exchange.line_stamps.emplace_back(i * 10'000);
    exchange.prompt_bytes = 4000;
    const ServerAnswer answer = answers::read_answer(kind, exchange);
    if (answer.prompt_ms && !(*answer.prompt_ms > 0)) std::abort();
    if (answer.eval_ms && !(*answer.eval_ms > 0)) std::abort();
    pass.first_token = answer.first_token;
    pass.last_token = answer.last_token;
    pass.stdout_reads = answer.pieces;
    exchanges.push_back({answer, answers::read_claim(exchange.claim)});
  }
  (void)answers::reason_in(text);
  (void)answers::brings_text(kind, text);
  (void)ollama::parse_show(text);
  const Run run = assemble(std::move(raw), {}, std::move(exchanges));
  const Verdict verdict = judge(run);
  // Nothing that a server says makes a run healthy without a meter.
  if (verdict.state == State::healthy) std::abort();
  if (block(run, verdict).empty()) std::abort();
}

}  // namespace
}  // namespace picchio

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using picchio::ServerKind;
  if (size == 0) return 0;
  const auto kind =
      static_cast<ServerKind>(data[0] % (static_cast<unsigned>(ServerKind::openai) + 1));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  picchio::judge_answer(kind, {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
