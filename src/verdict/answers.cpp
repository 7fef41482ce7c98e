#include "verdict/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace picchio {
namespace {

// A template's opening before our own is 3 to 40 tokens of 750.
constexpr double kTemplateShare = 0.06;
// English takes 4 to 5.5 bytes a token, with a vocabulary of a few hundred words still below 7. An
// ollama that cuts a prompt leaves half of its context.
constexpr double kMostBytesPerToken = 10;

// Tokens a second. The prompt of mp1 in 2.4 ms, which is about what launching the kernels of a
// small model takes; the fastest cards read models of 0.3 B at half of it.
constexpr double kFastestPrefill = 300'000;

bool drafts(const ServerAnswer& answer) { return answer.drafted.value_or(0) > 0; }

std::string draft_text(const ServerAnswer& answer) {
  std::string out = fmt::format("speculative: {} of {} drafted tokens accepted",
                                answer.drafts_accepted.value_or(0), answer.drafted.value_or(0));
  if (const auto steps = steps_per_second(answer)) {
    out += fmt::format(", {:.1f} steps/s", *steps);
  }
  return out;
}

}  // namespace

EngineTimings timings_of(const ServerAnswer& answer) {
  EngineTimings out;
  out.load_ms = answer.load_ms;
  out.prompt_ms = answer.prompt_ms;
  out.prompt_tokens = answer.evaluated_tokens;
  out.eval_ms = answer.eval_ms;
  out.eval_runs = answer.generated_tokens;
  out.eval_counts_first = true;
  out.total_ms = answer.total_ms;
  return out;
}

std::optional<std::int64_t> reused_tokens(const Pass& pass) {
  if (!pass.answer || !pass.answer->prompt_tokens) return std::nullopt;
  const std::int64_t prompt = *pass.answer->prompt_tokens;
  std::optional<std::int64_t> reused = pass.answer->cached_tokens;
  if (!reused && !pass.log.timings.empty()) {
    // The runner's own lines, when they were of this request.
    const auto computed = pass.log.timings.back().prompt_tokens;
    if (computed && *computed <= prompt) reused = prompt - *computed;
  }
  if (!reused) return std::nullopt;
  return static_cast<double>(*reused) <= kTemplateShare * static_cast<double>(prompt) ? 0 : *reused;
}

std::optional<double> steps_per_second(const ServerAnswer& answer) {
  if (!drafts(answer) || !answer.generated_tokens || !answer.eval_ms) return std::nullopt;
  const std::int64_t steps = *answer.generated_tokens - answer.drafts_accepted.value_or(0);
  if (steps <= 0 || *answer.eval_ms <= 0) return std::nullopt;
  return static_cast<double>(steps) * 1000 / *answer.eval_ms;
}

void remark_answer(Pass& pass, const ServerAnswer& answer, const RawPass& raw) {
  if (const auto reused = reused_tokens(pass); reused && *reused > 0) {
    pass.lanes.prefill_abstain = fmt::format("{} prompt tokens came from a cache", *reused);
    pass.remarks.push_back(pass.lanes.prefill_abstain);
  }
  const std::int64_t prompt = answer.prompt_tokens.value_or(0);
  const auto bytes = raw.exchange ? raw.exchange->prompt_bytes : std::nullopt;
  const bool too_few =
      bytes && prompt > 0 &&
      static_cast<double>(*bytes) > kMostBytesPerToken * static_cast<double>(prompt);
  if (answer.truncated || too_few) {
    pass.lanes.prefill_abstain = fmt::format("the server cut the prompt to {} tokens", prompt);
    pass.remarks.push_back(pass.lanes.prefill_abstain);
  }
  const double prefill = pass.lanes.prefill.value_or(0);
  if (prefill > kFastestPrefill && pass.lanes.prefill_abstain.empty()) {
    pass.lanes.prefill_abstain =
        fmt::format("no device reads {:.0f} tok/s: the prompt came from a cache", prefill);
    pass.remarks.push_back(pass.lanes.prefill_abstain);
  }
  if (answer.generated_tokens.value_or(0) == 0 && answer.pieces == 0) {
    pass.lanes.decode_abstain = pass.lanes.wallclock_abstain = "no token was generated";
    pass.remarks.push_back(pass.lanes.decode_abstain);
  }
  if (drafts(answer)) pass.remarks.push_back(draft_text(answer));
  if (answer.generated_counted_by_us) {
    pass.remarks.emplace_back("tokens counted by the pieces of the stream");
  }
  std::ranges::copy(answer.notes, std::back_inserter(pass.remarks));
}

}  // namespace picchio
