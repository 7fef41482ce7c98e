// Rates, sampling, threads, builds and cached prompts.
#include "base/text.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <cmath>

namespace picchio {
namespace {

// The open perf block, or a new one where a value would be printed twice.
EngineTimings& block(LogState& state, const LogLine& line, bool starts_another) {
  auto& timings = state.log.timings;
  if (timings.empty() || starts_another) timings.emplace_back();
  timings.back().line = line.number;
  return timings.back();
}

const EngineTimings& last_block(const LogState& state) {
  static const EngineTimings none;
  return state.log.timings.empty() ? none : state.log.timings.back();
}

struct Span {
  std::optional<double> ms;
  std::optional<std::int64_t> count;
  std::optional<double> rate;
  bool counts_first = false;  // the server counts the first token, whose time is the prompt's
};

std::optional<double> rate_of(std::optional<double> ms, std::optional<std::int64_t> count) {
  if (!ms || !count || *ms <= 0 || *count <= 0) return std::nullopt;
  return static_cast<double>(*count) * 1000.0 / *ms;
}

// "  61.22 ms /    97 tokens (    0.63 ms per token,  1584.45 tokens per second)"
Span read_span(std::string_view rest) {
  Span span;
  rest = trim(rest);
  take_prefix(rest, "=");
  span.ms = take_double(rest);
  if (span.ms && *span.ms < 0) span.ms.reset();
  const std::size_t slash = rest.find(" / ");
  if (slash == std::string_view::npos) return span;
  rest.remove_prefix(slash + 3);
  span.count = take_int(rest);
  if (span.count && *span.count < 0) span.count.reset();
  span.counts_first = trim(rest).starts_with("tokens");
  const std::size_t comma = rest.find(" per token,");
  if (comma != std::string_view::npos) {
    rest.remove_prefix(comma + 11);
    span.rate = take_double(rest);
  }
  // Nothing was generated: a time without tokens is no rate, whatever was printed.
  if (span.rate && (*span.rate <= 0 || span.count == 0 || !span.ms || *span.ms <= 0)) {
    span.rate.reset();
  }
  return span;
}

// The printed rate was made of unrounded milliseconds and so is the finer figure (0.4 tok/s at 85
// ms for a prompt); one that its own time and count contradict gives way to them.
std::optional<double> settled_rate(const Span& span) {
  const auto computed = rate_of(span.ms, span.count);
  if (!computed || !span.rate || !span.ms) return computed ? computed : span.rate;
  constexpr double kRoundingMs = 0.005;
  constexpr double kRoundingRate = 0.0051;
  const double slack = *computed * kRoundingMs / *span.ms + kRoundingRate;
  return std::abs(*span.rate - *computed) <= slack * 1.01 ? span.rate : computed;
}

// Newer servers divide by one token less than they print (seen in b11669: 8 tokens, 3.32 ms,
// 2110.98 tokens per second). The printed rate tells which count it was made of.
void settle_server_count(Span& span) {
  if (!span.counts_first || !span.rate || !span.count || *span.count < 2) return;
  const auto all = rate_of(span.ms, span.count);
  const auto fewer = rate_of(span.ms, *span.count - 1);
  if (!all || !fewer) return;
  if (std::abs(*span.rate - *fewer) < std::abs(*span.rate - *all)) span.count = *span.count - 1;
}

// "llama_perf_context_print: prompt eval time =      61.22 ms /    97 tokens (...)"
// "llama_perf_context_print:        eval time =    2911.87 ms /   127 runs   (...)"
// "slot print_timing: id  0 | task 0 |        eval time =       3.32 ms /     8 tokens (...)"
// server
bool read_eval(LogState& state, const LogLine& line, const Found& found) {
  Span span = read_span(found.rest);
  if (found.head.ends_with("prompt ")) {
    EngineTimings& out =
        block(state, line, last_block(state).prompt_ms || last_block(state).eval_ms);
    out.prompt_ms = span.ms;
    out.prompt_tokens = span.count;
    out.prefill_tokens_per_second = settled_rate(span);
    return false;
  }
  settle_server_count(span);
  EngineTimings& out = block(state, line, last_block(state).eval_ms.has_value());
  out.eval_ms = span.ms;
  out.eval_runs = span.count;
  out.decode_tokens_per_second = settled_rate(span);
  state.running_rate.reset();
  return false;
}

bool read_load_time(LogState& state, const LogLine& line, const Found& found) {
  if (!contains_any(found.head, {"timings", "perf", "print"})) return false;
  const EngineTimings& last = last_block(state);
  block(state, line, last.load_ms || last.prompt_ms || last.eval_ms).load_ms =
      read_span(found.rest).ms;
  return false;
}

bool read_total_time(LogState& state, const LogLine& line, const Found& found) {
  if (state.log.timings.empty() || state.log.timings.back().total_ms) return false;
  block(state, line, false).total_ms = read_span(found.rest).ms;
  return false;
}

// "slot print_timing: id  3 | task 0 | n_decoded =   1081, tg =  12.93 t/s, tg_3s =  12.57 t/s"
// 2026
bool read_running(LogState& state, const LogLine& line, const Found& found) {
  if (const auto rate = between(found.rest, "tg = ", " t/s")) {
    state.running_rate = parse_double(*rate);
    state.running_line = line.number;
  }
  return false;
}

// "top_k = 40, top_p = 0.950, min_p = 0.050, ..., temp = 0.800", alone on its line since 2024
template <std::optional<double> Sampling::* Field>
bool read_sampler(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  if (const auto value = take_double(rest)) state.log.sampling.*Field = value;
  return false;
}

// "sampler seed: 7" / "main: seed  = 1"
bool read_seed(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  if (const auto value = take_int(rest)) state.log.sampling.seed = value;
  return false;
}

void add_backend(std::string& names, std::string_view name) {
  if (name.empty() || name.contains('=')) return;
  if (!names.empty()) names += ", ";
  names += name;
}

// "system_info: n_threads = 16 (n_threads_batch = 16) / 32 | CUDA : ARCHS = 860 | ... | CPU : SSE3
// = 1 | ..." to autumn 2024 flat: "system_info: n_threads = 4 / 8 | AVX = 1 | ... | BLAS = 1 |"
bool read_system_info(LogState& state, const LogLine& line, const Found& found) {
  const auto parts = split(found.rest, '|');
  std::string_view threads = trim(parts.front());
  if (take_prefix(threads, "n_threads = ")) {
    const auto count = take_int(threads);
    const std::size_t slash = threads.rfind("/ ");
    if (count && *count > 0 && *count < 100'000) state.log.threads = static_cast<int>(*count);
    if (slash != std::string_view::npos) {
      const auto cores = parse_int(threads.substr(slash + 2));
      if (cores && *cores > 0 && *cores < 100'000) state.log.cores = static_cast<int>(*cores);
    }
  }
  std::string names;
  std::optional<bool> blas;
  for (const std::string_view part : parts) {
    const std::string_view entry = trim(part);
    if (const std::size_t colon = entry.find(" : "); colon != std::string_view::npos) {
      add_backend(names, entry.substr(0, colon));
    }
    if (entry == "BLAS = 1" || entry == "BLAS = 0") blas = entry == "BLAS = 1";
    if (entry.contains("FA_ALL_QUANTS = 1")) state.log.all_flash_quants = true;
  }
  if (names.empty() && blas) names = *blas ? "BLAS" : "CPU";
  if (names.empty()) {
    state.note(line.number, line.text);
  } else {
    state.log.backends = names;
  }
  return false;
}

// "cmn          init: llama threadpool init, n_threads = 2": all that a server says of it at its
// usual verbosity.
bool read_thread_pool(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  const auto count = take_int(rest);
  if (count && *count > 0 && *count < 100'000) state.log.threads = static_cast<int>(*count);
  return false;
}

// "AVX = 1 | AVX2 = 1 | ... | BLAS = 0 | SSE3 = 1 |": to autumn 2024, bare under llama-cpp-python.
// Every GPU backend of those years but Metal counted as BLAS.
bool read_blas(LogState& state, const LogLine& line, const Found& found) {
  const bool blas = found.rest.starts_with('1');
  if (state.log.backends.empty()) state.log.backends = blas ? "BLAS" : "CPU";
  if (!blas) {
    state.event(LogEventKind::not_compiled_for_gpu, "CPU", "system info: BLAS = 0", line.number);
  }
  return false;
}

void set_build(LogState& state, std::int64_t build) {
  state.log.build = build;
  if (!state.ollama && state.front_end.empty()) state.log.version = "b" + std::to_string(build);
}

// "main: build = 3618 (hash)", "build: 7062 (hash) with cc ...", "build_info: b2507-0fa27bb1",
// "version: 9049 (hash)", "common_params_print_info: build 9284 (hash) with ...",
// "version: 0.3.0-dev (build 10791, commit ...)"; llama-bench: "build: 50aa9389 (6123)"
bool read_build(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = trim(found.rest);
  take_prefix(rest, "b");
  if (const std::size_t at = rest.find("(build "); at < 40) {
    rest.remove_prefix(at + 7);
  }
  std::string_view first = rest.substr(0, rest.find_first_of(" ,-"));
  constexpr std::size_t kHash = 7;  // shortest commit hash printed; some have no letter in them
  if (const auto build = parse_int(first); build && first.size() < kHash) {
    set_build(state, *build);
    return false;
  }
  if (const auto second = between(rest, "(", ")")) {
    if (const auto build = parse_int(*second)) set_build(state, *build);
  }
  return false;
}

bool read_build_at_front(LogState& state, const LogLine& line, const Found& found) {
  return trim(found.head).empty() ? read_build(state, line, found) : false;
}

// "slot   operator(): id  0 | task 9 | cached n_tokens = 17, memory_seq_rm [17, end)"     2026
// "slot update_slots: id  0 | task 0 | kv cache rm [17, end)"                        2024 - 2025
// "main: session file matches 17 / 18 tokens of prompt"                                     CLI
// A long prompt prints the line once per batch; only a request's first one speaks of the cache.
bool read_cached(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  const auto count = take_int(rest);
  if (!count || *count < 0) return false;
  if (!state.cached_request.empty() && state.cached_request == found.head) return false;
  state.cached_request = std::string(found.head);
  state.log.prompt_tokens_cached = count;
  return false;
}

constexpr LineRule kRules[] = {
    {"eval time ", read_eval},
    {"load time ", read_load_time},
    {"total time ", read_total_time},
    {"n_decoded = ", read_running},
    {"top_k = ", read_sampler<&Sampling::top_k>},
    {" top_p = ", read_sampler<&Sampling::top_p>},
    {" min_p = ", read_sampler<&Sampling::min_p>},
    {" temp = ", read_sampler<&Sampling::temperature>},
    {"sampler seed: ", read_seed},
    {"main: seed  = ", read_seed},
    {"sampling seed: ", read_seed},
    {"system_info: ", read_system_info},
    {"llama threadpool init, n_threads = ", read_thread_pool},
    {"| BLAS = ", read_blas},
    {"main: build = ", read_build},
    {"build: ", read_build_at_front},
    {"build_info: ", read_build},
    {"version: ", read_build_at_front},
    {"common_params_print_info: build ", read_build},
    {"cached n_tokens = ", read_cached},
    {"kv cache rm [", read_cached},
    {"session file matches ", read_cached},
    {"\"prompt_eval_cached_count\":", read_cached},
    {"n_drafted",
     [](LogState& state, const LogLine&, const Found&) {
       state.draft_hint = true;
       return false;
     }},
    {"draft acceptance",
     [](LogState& state, const LogLine&, const Found&) {
       state.draft_hint = true;
       return false;
     }},
};

}  // namespace

std::span<const LineRule> timing_rules() { return kRules; }

}  // namespace picchio
