// What each API's messages hold. A row of the wrong type is a row that is not there.
#include "engines/answers/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace picchio::answers {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kMsPerSecond = 1000;

std::optional<double> ns_in(const Json& root, const char* key) {
  const auto ns = amount_in(root, key);
  if (!ns) return std::nullopt;
  return *ns / kNsPerMs;
}

std::optional<double> seconds_in(const Json& root, const char* key) {
  const auto value = amount_in(root, key);
  if (!value) return std::nullopt;
  return *value * kMsPerSecond;
}

/// A zero is what is written where nothing was measured.
std::optional<double> positive(std::optional<double> value) {
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> ms_of_rate(std::optional<std::int64_t> tokens, std::optional<double> rate) {
  if (!tokens || !rate || *rate <= 0 || *tokens <= 0) return std::nullopt;
  return static_cast<double>(*tokens) * kMsPerSecond / *rate;
}

void set_prompt_ms(ServerAnswer& answer, std::optional<double> ms) {
  if (!positive(ms)) return;
  answer.prompt_ms = ms;
  answer.prefill_source = RateSource::engine;
}

void set_eval_ms(ServerAnswer& answer, std::optional<double> ms) {
  if (!positive(ms)) return;
  answer.eval_ms = ms;
  answer.decode_source = RateSource::engine;
}

/// The texts of one choice's delta, thinking by any of its names.
void take_delta(const Json& delta, const Message& message, ServerAnswer& answer) {
  constexpr std::array kThinking = {"reasoning_content", "reasoning", "thinking"};
  const bool thinking =
      std::ranges::any_of(kThinking, [&](const char* key) { return !text_in(delta, key).empty(); });
  const Json* tools = member(delta, "tool_calls");
  const bool calls = tools != nullptr && tools->is_array() && !tools->empty();
  if (thinking || calls || !text_in(delta, "content").empty()) {
    note_piece(answer, message, thinking);
  }
}

void take_usage(const Json& usage, ServerAnswer& answer) {
  if (const auto tokens = count_in(usage, "prompt_tokens")) answer.prompt_tokens = tokens;
  if (const auto tokens = count_in(usage, "completion_tokens")) answer.generated_tokens = tokens;
  if (const Json* details = object_in(usage, "prompt_tokens_details")) {
    if (const auto cached = count_in(*details, "cached_tokens")) answer.cached_tokens = cached;
  }
  // TabbyAPI. Its seconds are rounded to hundredths, its rates are finer; the prompt's leaves
  // cached tokens out.
  set_prompt_ms(answer, seconds_in(usage, "prompt_time"));
  set_eval_ms(answer, seconds_in(usage, "completion_time"));
  std::optional<std::int64_t> fresh = answer.prompt_tokens;
  if (fresh) *fresh -= answer.cached_tokens.value_or(0);
  set_prompt_ms(answer, ms_of_rate(fresh, amount_in(usage, "prompt_tokens_per_sec")));
  set_eval_ms(answer,
              ms_of_rate(answer.generated_tokens, amount_in(usage, "completion_tokens_per_sec")));
}

/// vLLM with --enable-per-request-metrics.
void take_request_metrics(const Json& metrics, ServerAnswer& answer) {
  const auto first = amount_in(metrics, "time_to_first_token_ms");
  const auto queued = amount_in(metrics, "queue_time_ms");
  if (first) set_prompt_ms(answer, *first - queued.value_or(0));
  set_eval_ms(answer, amount_in(metrics, "generation_time_ms"));
  if (const Json* drafts = object_in(metrics, "speculative_decoding")) {
    answer.drafted = count_in(*drafts, "num_draft_tokens");
    answer.drafts_accepted = count_in(*drafts, "num_accepted_draft_tokens");
  }
}

/// LM Studio's older API: the usage block counts, the stats time.
void take_stats(const Json& stats, ServerAnswer& answer) {
  if (const auto tokens = count_in(stats, "input_tokens")) answer.prompt_tokens = tokens;
  if (const auto tokens = count_in(stats, "total_output_tokens")) answer.generated_tokens = tokens;
  set_prompt_ms(answer, seconds_in(stats, "time_to_first_token"));
  set_prompt_ms(answer, seconds_in(stats, "time_to_first_token_seconds"));
  if (const auto load = seconds_in(stats, "model_load_time_seconds")) answer.load_ms = load;
  if (const std::string reason = text_in(stats, "stop_reason"); !reason.empty()) {
    answer.stop = reason;
  }
  if (const auto drafts = count_in(stats, "total_draft_tokens_count")) answer.drafted = drafts;
  if (const auto accepted = count_in(stats, "accepted_draft_tokens_count")) {
    answer.drafts_accepted = accepted;
  }
  const auto rate = amount_in(stats, "tokens_per_second");
  set_eval_ms(answer, ms_of_rate(answer.generated_tokens, rate));
}

void take_choices(const Json& root, const Message& message, ServerAnswer& answer) {
  const Json* choices = member(root, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty()) return;
  const Json& choice = choices->front();
  if (!choice.is_object()) return;
  if (const Json* delta = object_in(choice, "delta")) take_delta(*delta, message, answer);
  if (const Json* whole = object_in(choice, "message")) take_delta(*whole, message, answer);
  if (!text_in(choice, "text").empty()) note_piece(answer, message, false);
  if (const std::string reason = text_in(choice, "finish_reason"); !reason.empty()) {
    answer.stop = reason;
    answer.finished = true;
  }
}

}  // namespace

void take_ollama(const Json& root, const Message& message, ServerAnswer& answer) {
  // /api/chat has the same members one level down.
  const Json* chat = object_in(root, "message");
  const Json& part = chat == nullptr ? root : *chat;
  const bool thinking = !text_in(part, "thinking").empty();
  const std::string text = text_in(part, chat == nullptr ? "response" : "content");
  if (thinking || !text.empty()) note_piece(answer, message, thinking);
  if (!flag_in(root, "done")) return;
  answer.finished = true;
  answer.stop = text_in(root, "done_reason");
  answer.total_ms = ns_in(root, "total_duration");
  answer.load_ms = ns_in(root, "load_duration");
  answer.prompt_tokens = count_in(root, "prompt_eval_count");
  answer.cached_tokens = count_in(root, "prompt_eval_cached_count");
  answer.generated_tokens = count_in(root, "eval_count");
  set_prompt_ms(answer, ns_in(root, "prompt_eval_duration"));
  set_eval_ms(answer, ns_in(root, "eval_duration"));
}

void take_timings(const Json& timings, ServerAnswer& answer) {
  const auto evaluated = count_in(timings, "prompt_n");
  const auto cached = count_in(timings, "cache_n");
  answer.evaluated_tokens = evaluated;
  if (cached) answer.cached_tokens = cached;
  if (evaluated) answer.prompt_tokens = *evaluated + cached.value_or(0);
  if (const auto made = count_in(timings, "predicted_n")) answer.generated_tokens = made;
  set_prompt_ms(answer, amount_in(timings, "prompt_ms"));
  set_eval_ms(answer, amount_in(timings, "predicted_ms"));
  answer.drafted = count_in(timings, "draft_n");
  answer.drafts_accepted = count_in(timings, "draft_n_accepted");
}

void take_llama_server(const Json& root, const Message& message, ServerAnswer& answer) {
  const Json* choices = member(root, "choices");
  if (choices != nullptr) return take_openai(root, message, answer);
  if (!text_in(root, "content").empty()) note_piece(answer, message, false);
  if (!flag_in(root, "stop")) return;
  answer.finished = true;
  answer.truncated = flag_in(root, "truncated");
  answer.stop = text_in(root, "stop_type");
  if (const Json* timings = object_in(root, "timings")) take_timings(*timings, answer);
  if (const Json* settings = object_in(root, "generation_settings")) {
    answer.sampling = {.temperature = amount_in(*settings, "temperature"),
                       .top_k = amount_in(*settings, "top_k"),
                       .top_p = amount_in(*settings, "top_p"),
                       .min_p = amount_in(*settings, "min_p"),
                       .seed = count_in(*settings, "seed")};
  }
  if (!answer.prompt_tokens) answer.prompt_tokens = count_in(root, "tokens_evaluated");
  if (!answer.generated_tokens) answer.generated_tokens = count_in(root, "tokens_predicted");
}

void take_openai(const Json& root, const Message& message, ServerAnswer& answer) {
  take_choices(root, message, answer);
  if (const Json* usage = object_in(root, "usage")) take_usage(*usage, answer);
  if (const Json* timings = object_in(root, "timings")) take_timings(*timings, answer);
  if (const Json* metrics = object_in(root, "metrics")) take_request_metrics(*metrics, answer);
  if (const Json* stats = object_in(root, "stats")) take_stats(*stats, answer);
}

void take_lm_studio(const Json& root, const Message& message, ServerAnswer& answer) {
  const std::string type = text_in(root, "type");
  if (type.empty()) return take_openai(root, message, answer);
  if (type == "reasoning.delta" || type == "message.delta") {
    if (!text_in(root, "content").empty()) {
      note_piece(answer, message, type == "reasoning.delta");
    }
  } else if (type == "prompt_processing.start") {
    answer.prompt_begin = message.at;
  } else if (type == "model_load.end") {
    answer.load_ms = seconds_in(root, "load_time_seconds");
  } else if (type == "chat.end") {
    answer.finished = true;
    const Json* result = object_in(root, "result");
    const Json* stats = object_in(result == nullptr ? root : *result, "stats");
    if (stats != nullptr) take_stats(*stats, answer);
  }
}

void take_koboldcpp(const Json& root, const Message& message, ServerAnswer& answer) {
  if (member(root, "choices") != nullptr) return take_openai(root, message, answer);
  if (!text_in(root, "token").empty()) note_piece(answer, message, false);
  const std::string reason = text_in(root, "finish_reason");
  if (reason.empty() || reason == "null") return;
  answer.stop = reason;
  answer.finished = true;
}

}  // namespace picchio::answers
