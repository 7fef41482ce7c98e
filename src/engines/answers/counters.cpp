// Counters that a server keeps over all requests, read before and after ours.
#include "base/text.h"
#include "engines/answers/prometheus.h"
#include "engines/answers/shapes.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

namespace picchio::answers {
namespace {

constexpr double kMsPerSecond = 1000;

class Rises {
 public:
  explicit Rises(const RawExchange& exchange)
      : before_(read_prometheus(exchange.counters_before)),
        after_(read_prometheus(exchange.counters_after)) {}

  /// Absent: not told at both ends, or it fell.
  [[nodiscard]] std::optional<double> of(std::string_view name) const {
    const auto before = before_.find(name);
    const auto after = after_.find(name);
    if (after == after_.end()) return std::nullopt;
    // A counter begins to be told with its first request.
    const double rise = after->second - (before == before_.end() ? 0 : before->second);
    return rise >= 0 ? std::optional(rise) : std::nullopt;
  }

 private:
  Counters before_;
  Counters after_;
};

/// The names of one server's counters; an empty one it does not have.
struct CounterNames {
  std::string_view prompt_tokens;
  std::string_view generated_tokens;
  std::string_view prefill_seconds;
  std::string_view decode_seconds;
  std::string_view drafted;
  std::string_view accepted;
};

constexpr CounterNames kNames[] = {
    {"vllm:prompt_tokens_total", "vllm:generation_tokens_total",
     "vllm:request_prefill_time_seconds_sum", "vllm:request_decode_time_seconds_sum",
     "vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_accepted_tokens_total"},
    {"llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total",
     "llamacpp:prompt_seconds_total", "llamacpp:tokens_predicted_seconds_total", "", ""},
};

/// Somebody else's request between the two looks shows as more tokens than ours.
bool are_ours(const Rises& rises, const CounterNames& names, const ServerAnswer& answer) {
  const auto prompt = rises.of(names.prompt_tokens);
  const auto made = rises.of(names.generated_tokens);
  if (!prompt || !made || !answer.generated_tokens) return false;
  return std::llround(*made) == *answer.generated_tokens &&
         (!answer.prompt_tokens || std::llround(*prompt) <= *answer.prompt_tokens);
}

std::optional<std::int64_t> whole(std::optional<double> value) {
  if (!value) return std::nullopt;
  return std::llround(*value);
}

}  // namespace

void take_prometheus(const RawExchange& exchange, ServerAnswer& answer) {
  const Rises rises(exchange);
  for (const CounterNames& names : kNames) {
    const auto made = rises.of(names.generated_tokens);
    if (!made || *made <= 0) continue;
    // Without a count of our own the pieces are one: a draft's several tokens a piece are not seen.
    const bool ours = answer.generated_tokens ? are_ours(rises, names, answer)
                                              : std::llround(*made) == answer.pieces;
    if (ours && !answer.generated_tokens) answer.generated_tokens = whole(made);
    if (!ours) {
      answer.notes.push_back(fmt::format(
          "the server's counters rose by {:.0f} tokens, so somebody else was served meanwhile",
          *made));
      return;
    }
    const auto prefill = rises.of(names.prefill_seconds);
    const auto decode = rises.of(names.decode_seconds);
    if (!answer.prompt_ms && prefill && *prefill > 0) {
      answer.prompt_tokens = whole(rises.of(names.prompt_tokens));
      answer.prompt_ms = *prefill * kMsPerSecond;
      answer.prefill_source = RateSource::counters;
    }
    if (!answer.eval_ms && decode && *decode > 0) {
      answer.eval_ms = *decode * kMsPerSecond;
      answer.decode_source = RateSource::counters;
    }
    if (const auto drafted = whole(rises.of(names.drafted)); drafted && *drafted > 0) {
      answer.drafted = drafted;
      answer.drafts_accepted = whole(rises.of(names.accepted));
    }
    return;
  }
}

void take_kobold_perf(const RawExchange& exchange, ServerAnswer& answer) {
  const auto before = parse_document(exchange.counters_before);
  const auto after = parse_document(exchange.counters_after);
  if (!before || !after) return;
  const auto first = count_in(*before, "total_gens");
  const auto last = count_in(*after, "total_gens");
  // It tells of the last request of anybody.
  if (!first || !last || *last != *first + 1) {
    answer.notes.emplace_back(
        "KoboldCpp served somebody else meanwhile, so its times are not ours");
    return;
  }
  if (const auto tokens = count_in(*after, "last_token_count")) answer.generated_tokens = tokens;
  if (const auto tokens = count_in(*after, "last_input_count")) answer.prompt_tokens = tokens;
  const auto take = [&](const char* key, std::optional<double>& ms, RateSource& source) {
    const auto took = amount_in(*after, key);
    if (!took || *took <= 0) return;
    ms = *took * kMsPerSecond;
    source = RateSource::engine;
  };
  take("last_process_time", answer.prompt_ms, answer.prefill_source);
  take("last_eval_time", answer.eval_ms, answer.decode_source);
  if (const auto accepted = count_in(*after, "last_draft_success")) {
    const auto failed = count_in(*after, "last_draft_failed").value_or(0);
    if (*accepted + failed > 0) {
      answer.drafts_accepted = accepted;
      answer.drafted = *accepted + failed;
    }
  }
}

}  // namespace picchio::answers
