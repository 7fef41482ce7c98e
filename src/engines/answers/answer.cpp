#include "engines/answers/answer.h"

#include "base/text.h"
#include "engines/answers/shapes.h"
#include "engines/answers/stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio::answers {
namespace {

constexpr std::size_t kMostReasonColumns = 200;
constexpr double kMsPerSecond = 1000;

using TakeMessage = void (*)(const Json&, const Message&, ServerAnswer&);

TakeMessage reader_of(ServerKind kind) {
  switch (kind) {
    case ServerKind::ollama:
      return take_ollama;
    case ServerKind::llama_server:
      return take_llama_server;
    case ServerKind::lm_studio:
      return take_lm_studio;
    case ServerKind::koboldcpp:
      return take_koboldcpp;
    case ServerKind::tabby_api:
    case ServerKind::vllm:
    case ServerKind::sglang:
    case ServerKind::mlx_lm:
    case ServerKind::text_generation_webui:
    case ServerKind::openai:
      break;
  }
  return take_openai;
}

void take_counters(ServerKind kind, const RawExchange& exchange, ServerAnswer& answer) {
  if (exchange.counters_before.empty() || exchange.counters_after.empty()) return;
  if (kind == ServerKind::koboldcpp) {
    take_kobold_perf(exchange, answer);
  } else {
    take_prometheus(exchange, answer);
  }
}

/// A lane without a figure of the server's own is what our stopwatch saw.
void fill_from_clock(const RawExchange& exchange, ServerAnswer& answer) {
  if (!answer.generated_tokens && answer.pieces > 0) {
    answer.generated_tokens = answer.pieces;
    answer.generated_counted_by_us = true;
  }
  if (!answer.first_token || !answer.last_token) return;
  // Fewer pieces than half the tokens: several came at once, and their ends mean little.
  const std::int64_t tokens = answer.generated_tokens.value_or(0);
  const Micros span = *answer.last_token - *answer.first_token;
  constexpr std::int64_t kFewestPieces = 8;
  if (!answer.eval_ms && answer.pieces >= kFewestPieces && tokens > 1 &&
      answer.pieces * 2 >= tokens && span > Micros{}) {
    // The first token came with the prompt's end: over the span all but it were made.
    const double ms = seconds(span) * kMsPerSecond;
    answer.eval_ms = ms * static_cast<double>(tokens) / static_cast<double>(tokens - 1);
    answer.decode_source = RateSource::clock;
  }
  if (!answer.prompt_ms && answer.prompt_tokens) {
    const Micros begin = answer.prompt_begin.value_or(exchange.latency.value_or(Micros{}));
    const Micros took = *answer.first_token - begin;
    if (took <= Micros{}) return;
    answer.prompt_ms = seconds(took) * kMsPerSecond;
    answer.prefill_source = RateSource::clock;
  }
}

}  // namespace

ServerAnswer read_answer(ServerKind kind, const RawExchange& exchange) {
  ServerAnswer answer;
  const TakeMessage take = reader_of(kind);
  for_each_message(exchange, [&](const Message& message) {
    if (message.text == "[DONE]") {
      answer.finished = true;
      return;
    }
    if (message.event == ":") return;  // a comment: the connection is alive
    const std::optional<Json> root = parse_document(message.text);
    if (!root || !root->is_object()) {
      if (message.event == "error") answer.error = fit(plain(message.text), kMostReasonColumns);
      return;
    }
    std::string error = error_words(*root);
    if (error.empty() && message.event == "error") {
      error = fit(plain(text_in(*root, "message")), kMostReasonColumns);
      if (error.empty()) error = "an error without words";
    }
    if (!error.empty()) {
      answer.error = std::move(error);
      return;
    }
    take(*root, message, answer);
  });
  if (!answer.error.empty()) answer.finished = false;
  take_counters(kind, exchange, answer);
  fill_from_clock(exchange, answer);
  if (!answer.evaluated_tokens && answer.prompt_tokens) {
    answer.evaluated_tokens =
        std::max<std::int64_t>(0, *answer.prompt_tokens - answer.cached_tokens.value_or(0));
  }
  return answer;
}

std::optional<ServerClaim> read_claim(std::string_view row) {
  const std::optional<Json> root = parse_document(row);
  if (!root) return std::nullopt;
  const auto bytes = count_in(*root, "size");
  if (!bytes) return std::nullopt;
  // Left out where it is zero.
  const bool there = member(*root, "size_vram") != nullptr;
  const auto gpu = count_in(*root, "size_vram");
  if (there && !gpu) return std::nullopt;
  return ServerClaim{*bytes, gpu.value_or(0), count_in(*root, "context_length")};
}

std::string reason_in(std::string_view body) {
  const std::optional<Json> root = parse_document(body);
  if (!root || !root->is_object()) return {};
  std::string words = error_words(*root);
  for (const char* key : {"message", "detail", "msg"}) {
    if (words.empty()) words = text_in(*root, key);
  }
  return fit(plain(words), kMostReasonColumns);
}

bool brings_text(ServerKind kind, std::string_view line) {
  RawExchange exchange;
  exchange.body = line;
  ServerAnswer answer;
  const TakeMessage take = reader_of(kind);
  for_each_message(exchange, [&](const Message& message) {
    const std::optional<Json> root = parse_document(message.text);
    if (root && root->is_object() && error_words(*root).empty()) take(*root, message, answer);
  });
  return answer.pieces > 0;
}

void note_piece(ServerAnswer& answer, const Message& message, bool thinking) {
  ++answer.pieces;
  if (thinking) ++answer.thinking_pieces;
  if (!message.at) return;
  if (!answer.first_token) answer.first_token = message.at;
  answer.last_token = message.at;
}

std::string error_words(const Json& root) {
  const Json* error = member(root, "error");
  if (error == nullptr) return {};
  std::string words;
  if (error->is_string()) words = error->get<std::string>();
  // ollama passes its runner's refusal on as a document inside a string.
  if (words.starts_with('{')) {
    const std::optional<Json> inner = parse_document(words);
    if (inner && object_in(*inner, "error") != nullptr) {
      words = text_in(*object_in(*inner, "error"), "message");
    }
  }
  if (error->is_object()) {
    words = text_in(*error, "message");
    if (words.empty()) words = text_in(*error, "type");
  }
  if (words.empty()) words = "an error without words";
  return fit(plain(words), kMostReasonColumns);
}

}  // namespace picchio::answers
