#include "engines/answers/answer.h"

#include "engines/answers/json_document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace picchio::answers {
namespace {

/// Lines that arrived `step` milliseconds apart, the first after `first`.
RawExchange stream(const std::vector<std::string>& lines, int first = 100, int step = 10) {
  RawExchange out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    out.body += lines[i] + "\n";
    out.line_stamps.emplace_back(1000 * (first + step * static_cast<int>(i)));
  }
  return out;
}

std::string delta(std::string_view text) {
  return fmt::format(R"(data: {{"choices":[{{"index":0,"delta":{{"content":"{}"}}}}]}})", text);
}

TEST(Answer, OllamaStream) {
  const ServerAnswer answer = read_answer(
      ServerKind::ollama,
      stream(
          {R"({"model":"m","response":" a","done":false})",
           R"({"model":"m","response":"","thinking":" b","done":false})",
           R"({"model":"m","response":" c","done":false})",
           R"({"model":"m","response":"","done":true,"done_reason":"length",)"
           R"("total_duration":6000000000,"load_duration":1500000000,"prompt_eval_count":750,)"
           R"("prompt_eval_duration":2500000000,"eval_count":128,"eval_duration":2000000000})"}));
  EXPECT_TRUE(answer.finished);
  EXPECT_EQ(answer.stop, "length");
  EXPECT_EQ(answer.prompt_tokens, 750);
  EXPECT_EQ(answer.evaluated_tokens, 750);
  EXPECT_EQ(answer.generated_tokens, 128);
  EXPECT_FALSE(answer.cached_tokens);
  EXPECT_DOUBLE_EQ(answer.load_ms.value(), 1500);
  EXPECT_DOUBLE_EQ(answer.prompt_ms.value(), 2500);
  EXPECT_DOUBLE_EQ(answer.eval_ms.value(), 2000);
  EXPECT_EQ(answer.prefill_source, RateSource::engine);
  EXPECT_EQ(answer.decode_source, RateSource::engine);
  EXPECT_EQ(answer.pieces, 3);
  EXPECT_EQ(answer.thinking_pieces, 1);
  EXPECT_EQ(answer.first_token, Micros(100'000));
  EXPECT_EQ(answer.last_token, Micros(120'000));
}

TEST(Answer, CachedTokensOfNewerOllamaAreNotEvaluated) {
  const ServerAnswer answer =
      read_answer(ServerKind::ollama,
                  stream({R"({"response":"a","done":true,"prompt_eval_count":750,)"
                          R"("prompt_eval_cached_count":700,"prompt_eval_duration":50000000})"}));
  EXPECT_EQ(answer.cached_tokens, 700);
  EXPECT_EQ(answer.evaluated_tokens, 50);
}

TEST(Answer, ErrorInTheMiddleOfAStream) {
  for (const auto& [kind, line, words] :
       std::vector<std::tuple<ServerKind, std::string, std::string>>{
           {ServerKind::ollama, R"({"error":"unexpected EOF"})", "unexpected EOF"},
           {ServerKind::llama_server,
            R"(error: {"code":500,"message":"Compute error.","type":"server_error"})",
            "Compute error."},
           {ServerKind::llama_server, R"(data: {"error":{"code":500,"message":"Compute error."}})",
            "Compute error."},
           {ServerKind::openai, R"(data: {"error":"overloaded"})", "overloaded"},
           {ServerKind::openai, R"(data: {"error":{}})", "an error without words"},
           {ServerKind::ollama, "{\"error\":\"a\\u001b[31mb\\nc\"}", "ab c"}}) {
    const ServerAnswer answer =
        read_answer(kind, stream({R"({"response":"a","done":false})", delta("a"), line}));
    EXPECT_FALSE(answer.finished) << line;
    EXPECT_EQ(answer.error, words) << line;
  }
}

TEST(Answer, LlamaServerStream) {
  const std::string last =
      R"(data: {"content":"","stop":true,"stop_type":"limit","truncated":false,)"
      R"("generation_settings":{"temperature":0.8,"top_k":40,"top_p":0.95,"min_p":0.05,"seed":7},)"
      R"("timings":{"cache_n":6,"prompt_n":744,"prompt_ms":1860.0,"predicted_n":128,)"
      R"("predicted_ms":4000.0,"draft_n":120,"draft_n_accepted":96}})";
  const ServerAnswer answer = read_answer(
      ServerKind::llama_server, stream({R"(data: {"content":" a","stop":false})", "",
                                        R"(data: {"content":" b","stop":false})", "", last, ""}));
  EXPECT_TRUE(answer.finished);
  EXPECT_EQ(answer.prompt_tokens, 750);
  EXPECT_EQ(answer.cached_tokens, 6);
  EXPECT_EQ(answer.evaluated_tokens, 744);
  EXPECT_EQ(answer.generated_tokens, 128);
  EXPECT_EQ(answer.drafted, 120);
  EXPECT_EQ(answer.drafts_accepted, 96);
  EXPECT_EQ(answer.sampling.seed, 7);
  EXPECT_DOUBLE_EQ(answer.sampling.top_p.value(), 0.95);
  EXPECT_EQ(answer.last_token, Micros(120'000));
}

TEST(Answer, WholeDocumentOfSeveralLines) {
  RawExchange exchange;
  exchange.body =
      "{\n \"response\": \"\",\n \"thinking\": \"x\",\n \"done\": true,\n"
      " \"eval_count\": 128,\n \"eval_duration\": 4000000000\n}\n";
  const ServerAnswer answer = read_answer(ServerKind::ollama, exchange);
  EXPECT_TRUE(answer.finished);
  EXPECT_EQ(answer.generated_tokens, 128);
  EXPECT_EQ(answer.pieces, 1);
  EXPECT_FALSE(answer.first_token);
}

TEST(Answer, ClockFillsWhatAServerDoesNotTell) {
  std::vector<std::string> lines = {R"(data: {"choices":[{"delta":{"role":"assistant"}}]})"};
  for (int i = 0; i < 101; ++i) lines.push_back(delta("x"));
  lines.emplace_back(R"(data: {"choices":[{"delta":{},"finish_reason":"length"}]})");
  std::vector<std::string> with_usage = lines;
  with_usage.emplace_back(
      R"(data: {"choices":[],"usage":{"prompt_tokens":750,"completion_tokens":101,)"
      R"("prompt_tokens_details":{"cached_tokens":250}}})");
  with_usage.emplace_back("data: [DONE]");
  RawExchange exchange = stream(with_usage, 990, 10);
  exchange.latency = Micros(0);
  const ServerAnswer answer = read_answer(ServerKind::openai, exchange);
  EXPECT_TRUE(answer.finished);
  EXPECT_EQ(answer.generated_tokens, 101);
  EXPECT_FALSE(answer.generated_counted_by_us);
  // The role alone is no token: 101 pieces, the first at 1000 ms, in 1000 ms to the last.
  EXPECT_EQ(answer.first_token, Micros(1'000'000));
  EXPECT_EQ(answer.decode_source, RateSource::clock);
  EXPECT_DOUBLE_EQ(answer.eval_ms.value(), 1010);
  EXPECT_EQ(answer.prefill_source, RateSource::clock);
  EXPECT_DOUBLE_EQ(answer.prompt_ms.value(), 1000);
  EXPECT_EQ(answer.evaluated_tokens, 500);

  const ServerAnswer untold = read_answer(ServerKind::openai, stream(lines, 990, 10));
  EXPECT_EQ(untold.generated_tokens, 101);
  EXPECT_TRUE(untold.generated_counted_by_us);
  EXPECT_FALSE(untold.prompt_ms) << "without the prompt's tokens there is no rate";
}

TEST(Answer, SeveralTokensAPieceMakeNoClock) {
  std::vector<std::string> lines(20, delta("x"));
  lines.emplace_back(
      R"(data: {"choices":[],"usage":{"prompt_tokens":750,"completion_tokens":128}})");
  lines.emplace_back("data: [DONE]");
  const ServerAnswer answer = read_answer(ServerKind::openai, stream(lines));
  EXPECT_EQ(answer.generated_tokens, 128);
  EXPECT_FALSE(answer.eval_ms);
}

TEST(Answer, ThinkingByAnyNameIsText) {
  for (const char* key : {"reasoning_content", "reasoning", "thinking"}) {
    const ServerAnswer answer = read_answer(
        ServerKind::openai,
        stream({fmt::format(R"(data: {{"choices":[{{"delta":{{"{}":"hm"}}}}]}})", key)}));
    EXPECT_EQ(answer.pieces, 1) << key;
    EXPECT_EQ(answer.thinking_pieces, 1) << key;
  }
}

TEST(Answer, LmStudioEvents) {
  const std::string end = R"(data: {"type":"chat.end","result":{"stats":{"input_tokens":750,)"
                          R"("total_output_tokens":128,"tokens_per_second":64,)"
                          R"("time_to_first_token_seconds":1.5}}})";
  const ServerAnswer answer = read_answer(
      ServerKind::lm_studio,
      stream({"event: model_load.end", R"(data: {"type":"model_load.end","load_time_seconds":2.5})",
              "", "event: prompt_processing.start", R"(data: {"type":"prompt_processing.start"})",
              "", "event: message.delta", R"(data: {"type":"message.delta","content":"a"})", "",
              "event: chat.end", end, ""}));
  EXPECT_TRUE(answer.finished);
  EXPECT_EQ(answer.prompt_tokens, 750);
  EXPECT_EQ(answer.generated_tokens, 128);
  EXPECT_DOUBLE_EQ(answer.load_ms.value(), 2500);
  EXPECT_DOUBLE_EQ(answer.prompt_ms.value(), 1500);
  EXPECT_DOUBLE_EQ(answer.eval_ms.value(), 2000);
}

TEST(Answer, TabbyUsage) {
  const ServerAnswer answer = read_answer(
      ServerKind::tabby_api, stream({delta("a"),
                                     R"(data: {"choices":[],"usage":{"prompt_tokens":750,)"
                                     R"("completion_tokens":128,"prompt_time":0.5,)"
                                     R"("completion_time":"Indeterminate"}})",
                                     "data: [DONE]"}));
  EXPECT_DOUBLE_EQ(answer.prompt_ms.value(), 500);
  EXPECT_EQ(answer.prefill_source, RateSource::engine);
  EXPECT_FALSE(answer.eval_ms);
  // Seconds rounded to hundredths, and the rates they were made from.
  const ServerAnswer finer = read_answer(
      ServerKind::tabby_api,
      stream({delta("a"),
              R"(data: {"choices":[],"usage":{"prompt_tokens":750,"completion_tokens":128,)"
              R"("prompt_time":0.5,"prompt_tokens_per_sec":1507.0,"completion_time":0.08,)"
              R"("completion_tokens_per_sec":1507.0}})",
              "data: [DONE]"}));
  EXPECT_NEAR(finer.eval_ms.value(), 128.0 / 1.507, 0.01);
  EXPECT_NEAR(finer.prompt_ms.value(), 750 / 1.507, 0.01);
}

RawExchange with_counters(RawExchange exchange, int prompt, int made, double prefill,
                          double decode) {
  const auto text = [](double p, double m, double pre, double dec) {
    return fmt::format(
        "# HELP x\nvllm:prompt_tokens_total{{model_name=\"a b\"}} {}\n"
        "vllm:generation_tokens_total{{model_name=\"a b\"}} {}\n"
        "vllm:request_prefill_time_seconds_bucket{{le=\"0.3\"}} 7\n"
        "vllm:request_prefill_time_seconds_sum{{model_name=\"a b\"}} {}\n"
        "vllm:request_decode_time_seconds_sum{{model_name=\"a b\"}} {}\n",
        p, m, pre, dec);
  };
  exchange.counters_before = text(1000, 500, 10, 20);
  exchange.counters_after = text(1000 + prompt, 500 + made, 10 + prefill, 20 + decode);
  return exchange;
}

TEST(Answer, CountersOfVllm) {
  const std::vector<std::string> lines = {
      delta("a"), R"(data: {"choices":[],"usage":{"prompt_tokens":750,"completion_tokens":128}})",
      "data: [DONE]"};
  const ServerAnswer answer =
      read_answer(ServerKind::vllm, with_counters(stream(lines), 750, 128, 0.25, 2));
  EXPECT_DOUBLE_EQ(answer.prompt_ms.value(), 250);
  EXPECT_DOUBLE_EQ(answer.eval_ms.value(), 2000);
  EXPECT_EQ(answer.prefill_source, RateSource::counters);
  EXPECT_TRUE(answer.notes.empty());

  const ServerAnswer shared =
      read_answer(ServerKind::vllm, with_counters(stream(lines), 1500, 256, 0.5, 4));
  EXPECT_NE(shared.prefill_source, RateSource::counters);
  EXPECT_EQ(shared.notes.size(), 1U);
}

TEST(Answer, KoboldPerfOfTheLastRequestAlone) {
  RawExchange exchange =
      stream({"event: message", R"(data: {"token":"a","finish_reason":null})", "", "event: message",
              R"(data: {"token":"b","finish_reason":"length"})", ""});
  exchange.counters_before = R"({"total_gens":7})";
  exchange.counters_after =
      R"({"total_gens":8,"last_token_count":128,"last_input_count":750,)"
      R"("last_process_time":1.5,"last_eval_time":4.0,"last_draft_success":0})";
  const ServerAnswer answer = read_answer(ServerKind::koboldcpp, exchange);
  EXPECT_TRUE(answer.finished);
  EXPECT_EQ(answer.pieces, 2);
  EXPECT_EQ(answer.generated_tokens, 128);
  EXPECT_DOUBLE_EQ(answer.prompt_ms.value(), 1500);
  EXPECT_DOUBLE_EQ(answer.eval_ms.value(), 4000);
  EXPECT_FALSE(answer.drafted);

  exchange.counters_after = R"({"total_gens":9,"last_process_time":1.5})";
  EXPECT_EQ(read_answer(ServerKind::koboldcpp, exchange).notes.size(), 1U);
}

/// Every kind on bytes that no server should send: nothing is believed, nothing breaks.
TEST(Answer, HostileBodies) {
  const std::string deep(100'000, '[');
  const std::vector<std::string> bodies = {
      "",
      "\n\n\n",
      "{",
      "null",
      "[]",
      deep,
      "data: " + deep,
      "data:",
      "event:",
      std::string(9, '\0'),
      "\xff\xfe{\"done\":true}",
      "data: {\"choices\":{}}",
      "data: {\"choices\":[1]}",
      R"({"done":1,"eval_count":"128","eval_duration":[]})",
      R"({"done":true,"eval_count":-5,"eval_duration":1e999})",
      R"({"done":true,"eval_count":9007199254740993e9,"prompt_eval_count":1.5})",
      R"(data: {"stop":true,"timings":{"prompt_n":"x","prompt_ms":-1,"predicted_n":null}})",
      R"(data: {"usage":[],"timings":"none","stats":3,"metrics":{}})",
      "<html><body>502</body></html>"};
  for (int kind = 0; kind <= static_cast<int>(ServerKind::openai); ++kind) {
    for (const std::string& body : bodies) {
      RawExchange exchange;
      exchange.body = body;
      exchange.claim = body;
      const ServerAnswer answer = read_answer(static_cast<ServerKind>(kind), exchange);
      EXPECT_FALSE(answer.eval_ms) << body.substr(0, 80);
      EXPECT_FALSE(answer.prompt_ms) << body.substr(0, 80);
      EXPECT_FALSE(answer.generated_tokens) << body.substr(0, 80);
      EXPECT_FALSE(read_claim(body)) << body.substr(0, 80);
    }
  }
}

TEST(Answer, LongDocumentsAreNotTakenApart) {
  RawExchange exchange;
  exchange.body = R"({"done":true,"eval_count":1,"context":[)";
  while (exchange.body.size() < kMostDocumentBytes) exchange.body += "0,";
  exchange.body += "0]}";
  EXPECT_FALSE(read_answer(ServerKind::ollama, exchange).finished);
}

TEST(Claim, ShareOfARow) {
  EXPECT_EQ(read_claim(R"({"size":100,"size_vram":40,"context_length":4096})")->gpu_share(), 0.4);
  EXPECT_EQ(read_claim(R"({"size":100})")->gpu_share(), 0.0) << "zero is left out";
  EXPECT_FALSE(read_claim(R"({"size":0,"size_vram":0})")->gpu_share());
  EXPECT_FALSE(read_claim(R"({"size":100,"size_vram":"all"})"));
  EXPECT_FALSE(read_claim(""));
}

TEST(Reason, InEveryShape) {
  for (const auto& [body, words] : std::vector<std::pair<std::string, std::string>>{
           {R"({"error":"model 'x' not found"})", "model 'x' not found"},
           {R"({"error":{"code":401,"message":"Invalid API Key"}})", "Invalid API Key"},
           {R"({"error":"{\"error\":{\"code\":400,\"message\":\"too long\"}}"})", "too long"},
           {R"({"detail":"no such model"})", "no such model"},
           {R"({"message":"Unauthorized"})", "Unauthorized"},
           {R"({"error":{}})", "an error without words"},
           {"<html>", ""},
           {"", ""},
           {"[]", ""}}) {
    EXPECT_EQ(reason_in(body), words) << body;
  }
}

}  // namespace
}  // namespace picchio::answers
