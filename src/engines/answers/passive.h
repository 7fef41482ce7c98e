// What a server did for others between two looks at its counters. Pure.
//
// The counters are the server's own and differ in what they count. llama-server adds a prompt when
// it has read all of it, without what its cache held, and an answer when its request ends, with the
// seconds of each request summed: so decode is of one request, slower when others run beside it.
// Prompts that share a batch share its seconds: prefill is then the batch's. A request that lasts
// over several looks shows in its slots only. vLLM and SGLang tell the gap between two tokens as
// they come. (Measured with llama-server 0.7.0.)
//
// A look is not without a trace: llama-server begins its gauges of mean rates, and n_tokens_max,
// anew at each, so whoever else draws them sees the time since our look.
#pragma once

#include "base/time.h"
#include "engines/answers/prometheus.h"
#include "evidence/monitored.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::answers {

/// A row of llama-server's /slots that is at a request.
struct BusySlot {
  std::int64_t slot = 0;
  std::int64_t task = 0;     // of the request: another number is another request
  std::int64_t decoded = 0;  // tokens of its answer so far
};

/// Absent: no such list.
[[nodiscard]] std::optional<std::vector<BusySlot>> read_slots(std::string_view text);

struct CounterLook {
  Exposition told;
  Micros at{};                // of a clock that never jumps
  bool of_one_model = false;  // the series of a model that was named
  std::optional<std::vector<BusySlot>> slots;
  Micros slots_at{};
};

/// Whether it tells the counters of a server that is known here.
[[nodiscard]] bool tells_counters(const Exposition& told);

/// Whose the rate of decode is.
enum class DecodeBasis {
  none,
  under_way,  // requests that made tokens all the time between the looks
  gaps,       // the time from each token to the next
  ended,      // requests that ended, all of their answers
};
[[nodiscard]] std::string_view name_of(DecodeBasis basis);  // "requests under way"

/// Absent: not told. Rates are tokens per second of one request.
struct PassiveReading {
  ProbeEnd end = ProbeEnd::failed;
  std::string why;     // a sentence for all but answered; untrusted
  bool first = false;  // the first look, or the first after forget(): nothing to compare with
  bool reset = false;  // the counters began anew: the server was restarted; figures are since then
  std::optional<Micros> interval;  // between the looks; absent after a reset

  std::optional<std::int64_t> prompt_tokens;     // of whole prompts
  std::optional<std::int64_t> cached_tokens;     // of those, reused
  std::optional<std::int64_t> generated_tokens;  // told so far of answers
  std::optional<std::int64_t> ended;             // requests

  std::optional<double> prefill;  // of what was not cached
  std::optional<double> decode;
  std::string prefill_abstain;  // why it is absent, or empty
  std::string decode_abstain;
  DecodeBasis decode_basis = DecodeBasis::none;
  /// A first token counts but its time does not, and how many requests ended is not told: `decode`
  /// is at most that, and short answers make it much too high.
  bool decode_at_most = false;
  bool drafts = false;  // a draft model proposed tokens: decode is not the model's alone

  std::optional<double> throughput;           // tokens per second of the whole server
  std::optional<double> first_token_seconds;  // TTFT in the server, its queue included; a mean
  std::optional<double> at_once;              // requests at work at a time, a mean
  std::optional<std::int64_t> under_way;      // requests, at the second look
  std::optional<std::int64_t> waiting;
  std::string
      contended;  // others beside it: the rates are not the server's alone; empty: none seen
};

/// What happened from `before` to `after`, both of the same server.
[[nodiscard]] PassiveReading compare_looks(const CounterLook& before, const CounterLook& after);

/// At a first look: what is under way, and nothing else.
[[nodiscard]] PassiveReading first_look(const CounterLook& look);

/// The fields that a probe has.
void take_reading(const PassiveReading& reading, Probe& probe);

}  // namespace picchio::answers
