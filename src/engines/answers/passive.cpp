#include "engines/answers/passive.h"

#include "base/text.h"
#include "engines/answers/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::answers {
namespace {

// Fewer tokens in a shorter time tell of the clock's grain; in a longer one of a slow server.
constexpr double kFewestTokens = 8;
constexpr double kShortestSeconds = 0.05;
constexpr double kLongSeconds = 5;
// A prompt of a few tokens costs what a step costs, and what it waited for others: no prefill.
constexpr double kFewestPromptTokens = 64;
constexpr double kFewestPromptTokensEach = 32;
constexpr double kShortestPromptSeconds = 0.02;
// No machine does that: counters that do not belong together.
constexpr double kFastest = 300'000;
// The digits that a counter is printed with must hold the rise.
constexpr double kCoarsest = 0.05;
// Over this many requests at a time on average one request had another beside it.
constexpr double kAlone = 1.05;
// The start of a process, as two looks print it.
constexpr double kSameStart = 1;

/// A series of that name, or of the name that it had in older versions.
using Name = std::array<std::string_view, 2>;

/// The series of one server; an empty name it does not have.
struct Names {
  Name prompt;            // tokens of prompts, live
  bool prompt_is_partly;  // without those that were cached
  Name cached;
  Name read;          // prompt tokens that `read_seconds` were spent on
  Name read_or_more;  // of the same requests, with those that were cached
  Name read_seconds;
  Name generated;  // tokens of answers
  Name ended_tokens;
  Name ended_seconds;  // from each first token to the last
  Name ended_count;
  Name gap_seconds;
  Name gap_count;
  Name first_seconds;
  Name first_count;
  Name drafted;
  // Gauges.
  Name running;
  Name waiting;
};

constexpr Names kServers[] = {
    // llama-server 0.7.0 and before; prompt_tokens_cached_total and the drafts since 2026.
    {.prompt = {"llamacpp:prompt_tokens_total"},
     .prompt_is_partly = true,
     .cached = {"llamacpp:prompt_tokens_cached_total"},
     .read = {"llamacpp:prompt_tokens_total"},
     .read_or_more = {},
     .read_seconds = {"llamacpp:prompt_seconds_total"},
     .generated = {"llamacpp:tokens_predicted_total"},
     .ended_tokens = {"llamacpp:tokens_predicted_total"},
     .ended_seconds = {"llamacpp:tokens_predicted_seconds_total"},
     .ended_count = {},
     .gap_seconds = {},
     .gap_count = {},
     .first_seconds = {},
     .first_count = {},
     .drafted = {"llamacpp:spec_decode_num_draft_tokens_total"},
     .running = {"llamacpp:requests_processing"},
     .waiting = {"llamacpp:requests_deferred"}},
    // vLLM: its requests' histograms are filled when they end, those of tokens as they come.
    {.prompt = {"vllm:prompt_tokens_total"},
     .prompt_is_partly = false,
     .cached = {"vllm:prompt_tokens_cached_total", "vllm:prefix_cache_hits_total"},
     .read = {"vllm:request_prefill_kv_computed_tokens_sum"},
     .read_or_more = {"vllm:request_prompt_tokens_sum"},
     .read_seconds = {"vllm:request_prefill_time_seconds_sum"},
     .generated = {"vllm:generation_tokens_total"},
     .ended_tokens = {"vllm:request_generation_tokens_sum"},
     .ended_seconds = {"vllm:request_decode_time_seconds_sum"},
     .ended_count = {"vllm:request_decode_time_seconds_count"},
     .gap_seconds = {"vllm:inter_token_latency_seconds_sum",
                     "vllm:time_per_output_token_seconds_sum"},
     .gap_count = {"vllm:inter_token_latency_seconds_count",
                   "vllm:time_per_output_token_seconds_count"},
     .first_seconds = {"vllm:time_to_first_token_seconds_sum"},
     .first_count = {"vllm:time_to_first_token_seconds_count"},
     .drafted = {"vllm:spec_decode_num_draft_tokens_total"},
     .running = {"vllm:num_requests_running"},
     .waiting = {"vllm:num_requests_waiting"}},
    {.prompt = {"sglang:prompt_tokens_total"},
     .prompt_is_partly = false,
     .cached = {"sglang:cached_tokens_total"},
     .read = {},
     .read_or_more = {},
     .read_seconds = {},
     .generated = {"sglang:generation_tokens_total"},
     .ended_tokens = {},
     .ended_seconds = {},
     .ended_count = {"sglang:num_requests_total"},
     .gap_seconds = {"sglang:inter_token_latency_seconds_sum",
                     "sglang:time_per_output_token_seconds_sum"},
     .gap_count = {"sglang:inter_token_latency_seconds_count",
                   "sglang:time_per_output_token_seconds_count"},
     .first_seconds = {"sglang:time_to_first_token_seconds_sum"},
     .first_count = {"sglang:time_to_first_token_seconds_count"},
     .drafted = {},
     .running = {"sglang:num_running_reqs"},
     .waiting = {"sglang:num_queue_reqs"}}};

const Metric* found(const Exposition& told, std::string_view name) {
  const auto at = told.series.find(name);
  return at == told.series.end() ? nullptr : &at->second;
}

const Metric* found(const Exposition& told, const Name& names) {
  for (const std::string_view name : names) {
    if (name.empty()) continue;
    if (const Metric* metric = found(told, name)) return metric;
  }
  return nullptr;
}

const Names* names_of(const Exposition& told) {
  const auto tells = [&](const Names& names) {
    return found(told, names.prompt) != nullptr || found(told, names.generated) != nullptr ||
           found(told, names.running) != nullptr;
  };
  const auto* const known = std::ranges::find_if(kServers, tells);
  return known == std::end(kServers) ? nullptr : known;
}

std::optional<std::int64_t> whole(std::optional<double> value) {
  // What a double counts exactly.
  constexpr double kMost = 9e15;
  if (!value || !(*value >= 0) || *value > kMost) return std::nullopt;
  return std::llround(*value);
}

/// Of a counter between two looks.
struct Rise {
  double by = 0;
  double off = 0;  // at most, for the digits that it was printed with
};

class Interval {
 public:
  Interval(const Names& names, const CounterLook& before, const CounterLook& after)
      : names_(names), before_(before), after_(after), reset_(began_anew()) {}

  [[nodiscard]] const Names& names() const { return names_; }
  [[nodiscard]] const CounterLook& before() const { return before_; }
  [[nodiscard]] const CounterLook& after() const { return after_; }
  [[nodiscard]] bool reset() const { return reset_; }
  [[nodiscard]] Micros length() const { return after_.at - before_.at; }

  /// Absent: not told. A counter may begin to be told with its first request.
  [[nodiscard]] std::optional<Rise> of(const Name& name) const {
    const Metric* last = found(after_.told, name);
    if (last == nullptr || last->value < 0) return std::nullopt;
    const Metric* first = reset_ ? nullptr : found(before_.told, name);
    if (first == nullptr) return Rise{last->value, last->step};
    return Rise{std::max(0.0, last->value - first->value), (last->step + first->step) / 2};
  }

  [[nodiscard]] double by(const Name& name) const { return of(name).value_or(Rise()).by; }

  [[nodiscard]] std::optional<std::int64_t> gauge(const Name& name) const {
    const Metric* metric = found(after_.told, name);
    return metric == nullptr ? std::nullopt : whole(metric->value);
  }

 private:
  [[nodiscard]] bool began_anew() const {
    const Metric* start = found(after_.told, "process_start_time_seconds");
    const Metric* earlier = found(before_.told, "process_start_time_seconds");
    if (start != nullptr && earlier != nullptr &&
        std::abs(start->value - earlier->value) > kSameStart) {
      return true;
    }
    const Name counters[] = {names_.prompt,        names_.cached,      names_.read_seconds,
                             names_.generated,     names_.ended_count, names_.ended_tokens,
                             names_.ended_seconds, names_.gap_count,   names_.first_count,
                             names_.drafted};
    return std::ranges::any_of(counters, [&](const Name& name) {
      const Metric* first = found(before_.told, name);
      const Metric* last = found(after_.told, name);
      return first != nullptr && last != nullptr &&
             last->value < first->value - (first->step + last->step);
    });
  }

  const Names& names_;
  const CounterLook& before_;
  const CounterLook& after_;
  bool reset_;
};

/// llama-server tells no number of requests. But it tells the mean rate of decode since somebody
/// last looked, and counts there one token less for each request: when nobody else looks, what is
/// missing is their number.
std::optional<double> requests_ended(const Interval& interval) {
  if (const auto count = interval.of(interval.names().ended_count)) return count->by;
  const Metric* rate = found(interval.after().told, "llamacpp:predicted_tokens_seconds");
  const auto tokens = interval.of(interval.names().ended_tokens);
  const auto time = interval.of(interval.names().ended_seconds);
  if (!tokens || !time || tokens->by <= 0) return std::nullopt;
  if (rate == nullptr || rate->value < 0) return std::nullopt;
  // Somebody else looked a moment ago, and it has begun its mean anew.
  constexpr double kNothing = 0.01;
  if (rate->value == 0 && time->by > kNothing) return std::nullopt;
  constexpr double kSurely = 0.25;
  const double missing = tokens->by - rate->value * time->by;
  const double off = tokens->off + rate->value * time->off + rate->step * time->by;
  const double count = std::round(missing);
  const bool fits = off < kSurely && std::abs(missing - count) <= std::max(off, 0.02);
  return fits && count >= 1 && count <= tokens->by ? std::optional(count) : std::nullopt;
}

struct Rate {
  std::optional<double> value;
  std::string abstain;
};

Rate rate_of(double tokens, const Rise& time) {
  Rate out;
  const double value = tokens / time.by;
  if (!std::isfinite(value) || value > kFastest) {
    out.abstain = "its counters do not belong together";
  } else if (time.off > kCoarsest * time.by) {
    out.abstain = "its counters are printed with too few digits for so short a time";
  } else {
    out.value = value;
  }
  return out;
}

bool tells_rate(double tokens, double seconds) {
  if (seconds >= kLongSeconds) return tokens >= 1;
  return tokens >= kFewestTokens && seconds >= kShortestSeconds;
}

/// Requests that were at their answer at both looks, and so all the time between.
bool take_under_way(const Interval& interval, PassiveReading& out) {
  const auto& first = interval.before().slots;
  const auto& last = interval.after().slots;
  if (!first || !last || interval.reset()) return false;
  const double length = seconds(interval.after().slots_at - interval.before().slots_at);
  double tokens = 0;
  double requests = 0;
  for (const BusySlot& now : *last) {
    const auto same = std::ranges::find_if(*first, [&](const BusySlot& then) {
      return then.slot == now.slot && then.task == now.task;
    });
    if (same == first->end() || same->decoded <= 0 || now.decoded < same->decoded) continue;
    tokens += static_cast<double>(now.decoded - same->decoded);
    requests += 1;
  }
  if (requests == 0 || !tells_rate(tokens, length)) return false;
  const Rate rate = rate_of(tokens, {length * requests, 0});
  if (!rate.value) return false;
  out.decode = rate.value;
  out.decode_basis = DecodeBasis::under_way;
  return true;
}

/// With drafts one step brings several tokens, and the gaps are those of steps.
bool take_gaps(const Interval& interval, PassiveReading& out) {
  const auto count = interval.of(interval.names().gap_count);
  const auto time = interval.of(interval.names().gap_seconds);
  if (out.drafts || !count || !time || !tells_rate(count->by, time->by)) return false;
  const Rate rate = rate_of(count->by, *time);
  if (!rate.value) return false;
  out.decode = rate.value;
  out.decode_basis = DecodeBasis::gaps;
  return true;
}

void take_ended(const Interval& interval, PassiveReading& out) {
  const auto tokens = interval.of(interval.names().ended_tokens);
  const auto time = interval.of(interval.names().ended_seconds);
  if (!tokens || !time) {
    out.decode_abstain = "it does not tell how long its answers took";
    return;
  }
  const double first_tokens = out.ended ? static_cast<double>(*out.ended) : 0;
  const double later = tokens->by - first_tokens;
  if (tokens->by <= 0) {
    out.decode_abstain = "no request ended, and none can be followed";
  } else if (!tells_rate(later, time->by)) {
    out.decode_abstain =
        fmt::format("{:.0f} tokens in {:.2f} s are too few to tell a rate", tokens->by, time->by);
  } else {
    Rate rate = rate_of(later, *time);
    out.decode = rate.value;
    out.decode_abstain = std::move(rate.abstain);
    out.decode_basis = out.decode ? DecodeBasis::ended : DecodeBasis::none;
    out.decode_at_most = out.decode && !out.ended;
  }
}

/// Prompt tokens that the seconds of prefill were spent on; absent: they are mixed with cached
/// ones.
std::optional<Rise> tokens_read(const Interval& interval) {
  if (auto read = interval.of(interval.names().read)) return read;
  const auto all = interval.of(interval.names().read_or_more);
  const auto cached = interval.of(interval.names().cached);
  return all && cached && cached->by == 0 ? all : std::nullopt;
}

void take_prefill(const Interval& interval, PassiveReading& out) {
  const auto time = interval.of(interval.names().read_seconds);
  if (!time) {
    out.prefill_abstain = "it does not tell how long it reads prompts";
    return;
  }
  const auto tokens = tokens_read(interval);
  if (!tokens) {
    out.prefill_abstain = "it does not tell how many of the prompts' tokens were cached";
    return;
  }
  const double each = out.ended
                          ? tokens->by / static_cast<double>(std::max<std::int64_t>(*out.ended, 1))
                          : tokens->by;
  if (tokens->by <= 0) {
    out.prefill_abstain = "no prompt was read to its end";
  } else if (tokens->by < kFewestPromptTokens || time->by < kShortestPromptSeconds) {
    out.prefill_abstain = fmt::format(
        "{:.0f} prompt tokens that were not cached, in {:.3f} s, are "
        "too few to tell a rate",
        tokens->by, time->by);
  } else if (each < kFewestPromptTokensEach) {
    out.prefill_abstain = fmt::format(
        "prompts of {:.0f} tokens that were not cached are too short to tell a rate", each);
  } else {
    Rate rate = rate_of(tokens->by, *time);
    out.prefill = rate.value;
    out.prefill_abstain = std::move(rate.abstain);
  }
}

/// llama-server's calls of decode, and how many slots each had work for, a mean over its life.
std::optional<double> slot_steps(const Exposition& told) {
  const Metric* steps = found(told, "llamacpp:n_decode_total");
  const Metric* slots = found(told, "llamacpp:n_busy_slots_per_decode");
  if (steps == nullptr || slots == nullptr) return std::nullopt;
  return steps->value * slots->value;
}

void take_load(const Interval& interval, PassiveReading& out) {
  out.under_way = interval.gauge(interval.names().running);
  out.waiting = interval.gauge(interval.names().waiting);
  const auto last = slot_steps(interval.after().told);
  const auto first = interval.reset() ? std::optional(0.0) : slot_steps(interval.before().told);
  const Name steps_name = {"llamacpp:n_decode_total"};
  const double steps = interval.by(steps_name);
  std::optional<double> made = interval.of(interval.names().generated).value_or(Rise()).by;
  if (last && first && steps > 0) {
    const Metric* mean = found(interval.after().told, "llamacpp:n_busy_slots_per_decode");
    const Metric* all = found(interval.after().told, "llamacpp:n_decode_total");
    const double at_once = (*last - *first) / steps;
    if (mean->step * all->value < kCoarsest * steps && at_once >= 0 && std::isfinite(at_once)) {
      out.at_once = at_once;
      // Answers are counted when they end, steps as they come; a draft's tokens are not steps.
      if (!out.drafts) made = *last - *first;
    }
  }
  const double length = seconds(interval.length());
  if (!interval.reset() && length > 0 && made) out.throughput = *made / length;
  const Metric* earlier = found(interval.before().told, interval.names().running);
  const double running = std::max(earlier == nullptr ? 0.0 : earlier->value,
                                  static_cast<double>(out.under_way.value_or(0)));
  if (out.at_once.value_or(0) > kAlone) {
    out.contended = fmt::format("{:.1f} requests were at work at a time", *out.at_once);
  } else if (running > 1) {
    out.contended = fmt::format("{:.0f} requests were at work at a time", running);
  }
  if (out.waiting.value_or(0) > 0) {
    out.contended += fmt::format("{}{} waited", out.contended.empty() ? "" : ", ", *out.waiting);
  }
}

void take_counts(const Interval& interval, PassiveReading& out) {
  const Names& names = interval.names();
  const auto count = [&](const Name& name) {
    const auto rise = interval.of(name);
    return rise ? whole(rise->by) : std::nullopt;
  };
  out.generated_tokens = count(names.generated);
  out.cached_tokens = count(names.cached);
  out.prompt_tokens = count(names.prompt);
  if (names.prompt_is_partly && out.prompt_tokens) {
    if (out.cached_tokens) {
      *out.prompt_tokens += *out.cached_tokens;
    } else {
      out.prompt_tokens.reset();
    }
  }
  out.ended = whole(requests_ended(interval));
  out.drafts = interval.by(names.drafted) > 0;
  const auto firsts = interval.of(names.first_count);
  const auto waited = interval.of(names.first_seconds);
  if (firsts && waited && firsts->by >= 1) {
    const double mean = waited->by / firsts->by;
    if (std::isfinite(mean)) out.first_token_seconds = mean;
  }
}

bool moved(const Interval& interval) {
  const Names& names = interval.names();
  const Name live[] = {names.prompt,    names.cached,       names.generated,
                       names.gap_count, names.ended_tokens, Name{"llamacpp:n_decode_total"}};
  return std::ranges::any_of(live, [&](const Name& name) { return interval.by(name) > 0; });
}

void take_end(const Interval& interval, PassiveReading& out) {
  if (out.prefill || out.decode) {
    out.end = ProbeEnd::answered;
  } else if (out.under_way.value_or(0) > 0) {
    out.end = ProbeEnd::busy;
    out.why = *out.under_way == 1
                  ? "a request of somebody else is under way and tells no rate yet"
                  : fmt::format("{} requests of others are under way and tell no rate yet",
                                *out.under_way);
  } else if (!moved(interval)) {
    out.end = ProbeEnd::idle;
    out.why = "nobody asked it for anything";
  } else {
    out.end = ProbeEnd::answered;
  }
}

}  // namespace

std::string_view name_of(DecodeBasis basis) {
  switch (basis) {
    case DecodeBasis::none:
      return "none";
    case DecodeBasis::under_way:
      return "requests under way";
    case DecodeBasis::gaps:
      return "gaps between tokens";
    case DecodeBasis::ended:
      return "requests that ended";
  }
  return "none";
}

std::optional<std::vector<BusySlot>> read_slots(std::string_view text) {
  const auto root = parse_document(text);
  if (!root || !root->is_array()) return std::nullopt;
  std::vector<BusySlot> out;
  for (const Json& row : *root) {
    const auto slot = count_in(row, "id");
    const auto task = count_in(row, "id_task");
    if (!slot || !task || !flag_in(row, "is_processing")) continue;
    const Json* next = member(row, "next_token");
    // A list of one since 2025, an object before.
    if (next != nullptr && next->is_array()) next = next->empty() ? nullptr : &next->front();
    const auto decoded = next == nullptr ? std::nullopt : count_in(*next, "n_decoded");
    if (decoded) out.push_back({*slot, *task, *decoded});
  }
  return out;
}

bool tells_counters(const Exposition& told) { return names_of(told) != nullptr; }

PassiveReading first_look(const CounterLook& look) {
  PassiveReading out;
  out.first = true;
  out.end = ProbeEnd::idle;
  out.why = "it is the first look, with nothing to compare with";
  const Names* names = names_of(look.told);
  if (names == nullptr) return out;
  const Interval same(*names, look, look);
  out.under_way = same.gauge(names->running);
  out.waiting = same.gauge(names->waiting);
  return out;
}

PassiveReading compare_looks(const CounterLook& before, const CounterLook& after) {
  PassiveReading out;
  const Names* names = names_of(after.told);
  if (names == nullptr) {
    out.why = "it tells no counters that are known";
    return out;
  }
  const Interval interval(*names, before, after);
  out.reset = interval.reset();
  if (!out.reset) out.interval = interval.length();
  take_counts(interval, out);
  take_load(interval, out);
  if (after.told.models.size() > 1 && !after.of_one_model) {
    out.prefill_abstain = out.decode_abstain =
        fmt::format("it serves {} models and their figures are mixed", after.told.models.size());
  } else {
    if (!take_under_way(interval, out) && !take_gaps(interval, out)) take_ended(interval, out);
    take_prefill(interval, out);
  }
  take_end(interval, out);
  return out;
}

void take_reading(const PassiveReading& reading, Probe& probe) {
  probe.passive = true;
  probe.end = reading.end;
  probe.why = reading.why;
  probe.prompt_tokens = reading.prompt_tokens;
  probe.cached_tokens = reading.cached_tokens;
  probe.generated_tokens = reading.generated_tokens;
  probe.prefill = reading.prefill;
  probe.decode = reading.decode;
  probe.prefill_abstain = reading.prefill_abstain;
  probe.decode_abstain = reading.decode_abstain;
  probe.first_token_seconds = reading.first_token_seconds;
  probe.contended = reading.contended;
}

}  // namespace picchio::answers
