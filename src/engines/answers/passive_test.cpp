#include "engines/answers/passive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace picchio::answers {
namespace {

/// As llama-server 0.7.0 tells it, floating numbers with six digits.
struct Llama {
  std::int64_t prompt = 4647;
  std::int64_t cached = 1648;
  double prompt_seconds = 13.2171;
  std::int64_t made = 2784;
  double made_seconds = 31.9926;
  std::int64_t steps = 2484;
  double slots = 1.12077;
  double last_rate = 0;  // since somebody last looked
  int running = 0;
  int waiting = 0;
  std::int64_t drafted = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed\n"
        "# TYPE llamacpp:prompt_tokens_total counter\n"
        "llamacpp:prompt_tokens_total {}\nllamacpp:prompt_tokens_cached_total {}\n"
        "llamacpp:prompt_seconds_total {:.6g}\nllamacpp:tokens_predicted_total {}\n"
        "llamacpp:tokens_predicted_seconds_total {:.6g}\nllamacpp:n_decode_total {}\n"
        "llamacpp:n_tokens_max {}\nllamacpp:spec_decode_num_draft_tokens_total {}\n"
        "llamacpp:predicted_tokens_seconds {:.6g}\nllamacpp:requests_processing {}\n"
        "llamacpp:requests_deferred {}\nllamacpp:n_busy_slots_per_decode {:.6g}\n",
        prompt, cached, prompt_seconds, made, made_seconds, steps, made % 97, drafted, last_rate,
        running, waiting, slots);
  }

  /// One request that ended.
  void request(std::int64_t read, double read_seconds, std::int64_t tokens, double rate) {
    const double slot_steps = slots * static_cast<double>(steps);
    prompt += read;
    prompt_seconds += read_seconds;
    made += tokens;
    made_seconds += static_cast<double>(tokens - 1) / rate;
    steps += tokens;
    slots = (slot_steps + static_cast<double>(tokens)) / static_cast<double>(steps);
    last_rate = rate;
  }
};

CounterLook look(const std::string& text, double at, const std::string& model = "") {
  CounterLook out;
  out.told = read_exposition(text, model);
  out.at = out.slots_at = Micros(static_cast<std::int64_t>(at * 1e6));
  out.of_one_model = !model.empty();
  return out;
}

PassiveReading between_looks(const Llama& before, const Llama& after, double length = 30) {
  return compare_looks(look(before.text(), 100), look(after.text(), 100 + length));
}

TEST(Passive, ARequestOfLlamaServer) {
  const Llama before;
  Llama after = before;
  after.request(800, 1.0, 201, 50);
  after.cached += 100;
  const PassiveReading reading = between_looks(before, after);
  EXPECT_EQ(reading.end, ProbeEnd::answered);
  EXPECT_NEAR(reading.decode.value(), 50, 0.1);
  EXPECT_EQ(reading.decode_basis, DecodeBasis::ended);
  EXPECT_FALSE(reading.decode_at_most);
  EXPECT_EQ(reading.ended, 1);
  EXPECT_NEAR(reading.prefill.value(), 800, 0.1);
  EXPECT_EQ(reading.prompt_tokens, 900);
  EXPECT_EQ(reading.cached_tokens, 100);
  EXPECT_EQ(reading.generated_tokens, 201);
  EXPECT_NEAR(reading.throughput.value(), 201 / 30.0, 0.05);
  EXPECT_NEAR(reading.at_once.value(), 1, 0.02);
  EXPECT_EQ(reading.contended, "");
  EXPECT_EQ(reading.interval, Micros{30'000'000});
  EXPECT_FALSE(reading.reset);
  EXPECT_FALSE(reading.first_token_seconds);
}

TEST(Passive, NobodyAsked) {
  const PassiveReading reading = between_looks({}, {});
  EXPECT_EQ(reading.end, ProbeEnd::idle);
  EXPECT_FALSE(reading.why.empty());
  EXPECT_FALSE(reading.decode);
  EXPECT_FALSE(reading.prefill);
  EXPECT_EQ(reading.generated_tokens, 0);
  EXPECT_EQ(reading.under_way, 0);
}

// n_tokens_max falls at every look, though it is called a counter: it is no reset.
TEST(Passive, ARestartBeginsAnew) {
  const Llama before;
  Llama after{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  after.request(640, 2, 101, 10);
  after.running = 1;
  const PassiveReading reading = between_looks(before, after);
  EXPECT_TRUE(reading.reset);
  EXPECT_FALSE(reading.interval);
  EXPECT_FALSE(reading.throughput);
  EXPECT_NEAR(reading.decode.value(), 10, 0.01);
  EXPECT_NEAR(reading.prefill.value(), 320, 0.01);
  EXPECT_EQ(reading.generated_tokens, 101);

  Llama later = before;
  later.made += 50;
  later.made_seconds += 1;
  EXPECT_FALSE(between_looks(before, later).reset);
}

TEST(Passive, AnotherLookerHidesTheNumberOfRequests) {
  const Llama before;
  Llama after = before;
  for (int i = 0; i < 10; ++i) after.request(100, 0.2, 21, 50);
  after.last_rate = 0;
  const PassiveReading reading = between_looks(before, after);
  EXPECT_FALSE(reading.ended);
  EXPECT_TRUE(reading.decode_at_most);
  EXPECT_NEAR(reading.decode.value(), 50 * 21 / 20.0, 0.1);
  after.last_rate = 37.123;  // of a part of the time
  EXPECT_TRUE(between_looks(before, after).decode_at_most);
}

// Tokens that took no time, since each is its request's first.
TEST(Passive, ShortAnswersAreNoRate) {
  const Llama before;
  Llama after = before;
  for (int i = 0; i < 100; ++i) after.request(100, 0.2, 1, 50);
  after.request(100, 0.2, 41, 50);
  const PassiveReading reading = between_looks(before, after);
  EXPECT_EQ(reading.ended, 101);
  EXPECT_NEAR(reading.decode.value(), 50, 0.1);

  Llama ones = before;
  for (int i = 0; i < 100; ++i) ones.request(100, 0.2, 1, 50);
  ones.made_seconds += 1e-4;
  const PassiveReading none = between_looks(before, ones);
  EXPECT_FALSE(none.decode);
  EXPECT_TRUE(none.decode_abstain.contains("too few")) << none.decode_abstain;
  EXPECT_TRUE(none.prefill);
  EXPECT_EQ(none.end, ProbeEnd::answered);
}

TEST(Passive, PromptsFromTheCacheTellNoPrefill) {
  const Llama before;
  Llama after = before;
  after.request(1, 0.004, 64, 100);
  after.cached += 820;
  const PassiveReading reading = between_looks(before, after);
  EXPECT_FALSE(reading.prefill);
  EXPECT_TRUE(reading.prefill_abstain.contains("not cached")) << reading.prefill_abstain;
  EXPECT_EQ(reading.prompt_tokens, 821);
  EXPECT_TRUE(reading.decode);

  Llama many = before;
  for (int i = 0; i < 40; ++i) many.request(4, 0.02, 64, 100);
  EXPECT_FALSE(between_looks(before, many).prefill);
}

TEST(Passive, OlderServersDoNotCountWhatWasCached) {
  const auto without = [](const Llama& told) {
    std::string text = told.text();
    const std::size_t at = text.find("llamacpp:prompt_tokens_cached_total");
    return text.erase(at, text.find('\n', at) + 1 - at);
  };
  const Llama before;
  Llama after = before;
  after.request(800, 1.0, 201, 50);
  const PassiveReading reading = compare_looks(look(without(before), 0), look(without(after), 30));
  EXPECT_FALSE(reading.prompt_tokens);
  EXPECT_FALSE(reading.cached_tokens);
  EXPECT_NEAR(reading.prefill.value(), 800, 0.1);
}

TEST(Passive, RequestsBesideEachOther) {
  Llama before;
  Llama after = before;
  const double slot_steps = before.slots * static_cast<double>(before.steps);
  after.made += 900;
  after.made_seconds += 9;
  after.steps += 600;
  after.slots = (slot_steps + 900) / static_cast<double>(after.steps);
  after.last_rate = 897 / 9.0;
  const PassiveReading reading = between_looks(before, after, 10);
  EXPECT_EQ(reading.ended, 3);
  EXPECT_NEAR(reading.decode.value(), 897 / 9.0, 0.1);
  EXPECT_NEAR(reading.at_once.value(), 1.5, 0.01);
  EXPECT_NEAR(reading.throughput.value(), 90, 0.2);
  EXPECT_EQ(reading.contended, "1.5 requests were at work at a time");
  before.running = 2;
  after = before;
  after.waiting = 3;
  const PassiveReading two = between_looks(before, after);
  EXPECT_EQ(two.contended, "2 requests were at work at a time, 3 waited");
  EXPECT_EQ(two.waiting, 3);
  EXPECT_EQ(two.end, ProbeEnd::busy);
}

CounterLook with_slots(const Llama& told, double at, std::vector<BusySlot> slots) {
  CounterLook out = look(told.text(), at);
  out.slots = std::move(slots);
  return out;
}

TEST(Passive, ALongRequestIsSeenInItsSlot) {
  Llama told;
  told.running = 1;
  const PassiveReading reading =
      compare_looks(with_slots(told, 0, {{0, 7, 100}}), with_slots(told, 10, {{0, 7, 600}}));
  EXPECT_EQ(reading.end, ProbeEnd::answered);
  EXPECT_DOUBLE_EQ(reading.decode.value(), 50);
  EXPECT_EQ(reading.decode_basis, DecodeBasis::under_way);
  EXPECT_EQ(reading.generated_tokens, 0);

  const std::vector<std::pair<BusySlot, BusySlot>> cannot = {
      {{0, 7, 0}, {0, 7, 600}},    // it was at its prompt at first
      {{0, 7, 100}, {0, 8, 600}},  // another request
      {{0, 7, 100}, {1, 7, 600}},
      {{0, 7, 600}, {0, 7, 100}},
      {{0, 7, 600}, {0, 7, 600}}};
  for (const auto& [then, now] : cannot) {
    const PassiveReading none =
        compare_looks(with_slots(told, 0, {then}), with_slots(told, 10, {now}));
    EXPECT_FALSE(none.decode) << then.task << " " << now.task << " " << now.decoded;
    EXPECT_EQ(none.end, ProbeEnd::busy);
    EXPECT_FALSE(none.decode_abstain.empty());
  }
  // A slow one is told too, from few tokens in a long time.
  const PassiveReading slow =
      compare_looks(with_slots(told, 0, {{0, 7, 10}}), with_slots(told, 30, {{0, 7, 13}}));
  EXPECT_DOUBLE_EQ(slow.decode.value(), 0.1);
}

TEST(Passive, Slots) {
  const auto slots =
      read_slots(R"([{"id":0,"id_task":2640,"is_processing":true,"next_token":[{"n_decoded":12}]},)"
                 R"({"id":1,"id_task":9,"is_processing":false,"next_token":[{"n_decoded":3}]},)"
                 R"({"id":2,"id_task":5,"is_processing":true,"next_token":{"n_decoded":4}},)"
                 R"({"id":3,"is_processing":true,"next_token":[]},{"id":-1,"id_task":1},5,null])");
  ASSERT_TRUE(slots);
  ASSERT_EQ(slots->size(), 2U);
  EXPECT_EQ((*slots)[0].decoded, 12);
  EXPECT_EQ((*slots)[1].task, 5);
  for (const char* text : {"", "{}", "[", "null", R"({"error":{"code":501}})"}) {
    EXPECT_FALSE(read_slots(text)) << text;
  }
}

// After days of work six digits are whole seconds.
TEST(Passive, CountersWithTooFewDigits) {
  Llama before;
  before.made_seconds = 345'678;
  before.prompt_seconds = 234'567;
  Llama after = before;
  after.request(640, 2, 101, 50);
  const PassiveReading reading = between_looks(before, after);
  EXPECT_FALSE(reading.decode);
  EXPECT_TRUE(reading.decode_abstain.contains("too few digits")) << reading.decode_abstain;
  EXPECT_FALSE(reading.prefill);
  after = before;
  for (int i = 0; i < 10; ++i) after.request(6400, 4, 101, 2);
  EXPECT_NEAR(between_looks(before, after, 600).decode.value(), 2, 0.1);
}

TEST(Passive, HostileNumbers) {
  const std::vector<std::pair<const char*, const char*>> texts = {
      {"llamacpp:tokens_predicted_total 1\n", "llamacpp:tokens_predicted_total NaN\n"},
      {"llamacpp:tokens_predicted_total 1\nllamacpp:tokens_predicted_seconds_total 1\n",
       "llamacpp:tokens_predicted_total 1e300\nllamacpp:tokens_predicted_seconds_total 2\n"},
      {"llamacpp:tokens_predicted_total 1\nllamacpp:tokens_predicted_seconds_total 1\n",
       "llamacpp:tokens_predicted_total 1e6\nllamacpp:tokens_predicted_seconds_total 1.06\n"},
      {"llamacpp:tokens_predicted_total -1e308\nllamacpp:tokens_predicted_seconds_total 1\n",
       "llamacpp:tokens_predicted_total 1e308\nllamacpp:tokens_predicted_seconds_total 1e308\n"},
      {"llamacpp:tokens_predicted_total 5\n", "llamacpp:tokens_predicted_total -5\n"},
      {"vllm:prompt_tokens_total 1\n", "llamacpp:prompt_tokens_total 900\n"},
      {"llamacpp:requests_processing 0\n", "llamacpp:requests_processing -3\n"},
      {"llamacpp:requests_processing 0\n", "llamacpp:requests_processing 1e300\n"},
      {"", ""},
      {"llamacpp:prompt_tokens_total 1\n", "\xff\xfe{{{"}};
  for (const auto& [before, after] : texts) {
    const PassiveReading reading = compare_looks(look(before, 0), look(after, 0));
    EXPECT_FALSE(reading.decode) << after;
    EXPECT_FALSE(reading.prefill) << after;
    EXPECT_FALSE(reading.throughput) << after;
    EXPECT_GE(reading.generated_tokens.value_or(0), 0) << after;
  }
}

struct Vllm {
  double prompt = 1000, made = 500, hits = 0, computed = 1000, prompts = 1000, read_seconds = 2;
  double ended_tokens = 500, ended_seconds = 10, ended = 5, gaps = 495, gap_seconds = 9.9;
  double first = 5, first_seconds = 1, running = 0, waiting = 0, drafted = 0, start = 1.7e9;
  bool tells_computed = true;

  [[nodiscard]] std::string text(const char* model = "m") const {
    const auto row = [&](const char* name, double value) {
      return fmt::format("vllm:{}{{engine=\"0\",model_name=\"{}\"}} {}\n", name, model, value);
    };
    std::string out = row("prompt_tokens_total", prompt) + row("generation_tokens_total", made) +
                      row("prefix_cache_hits_total", hits) +
                      row("request_prompt_tokens_sum", prompts) +
                      row("request_prefill_time_seconds_sum", read_seconds) +
                      row("request_generation_tokens_sum", ended_tokens) +
                      row("request_decode_time_seconds_sum", ended_seconds) +
                      row("request_decode_time_seconds_count", ended) +
                      row("inter_token_latency_seconds_count", gaps) +
                      row("inter_token_latency_seconds_sum", gap_seconds) +
                      row("time_to_first_token_seconds_count", first) +
                      row("time_to_first_token_seconds_sum", first_seconds) +
                      row("num_requests_running", running) + row("num_requests_waiting", waiting) +
                      row("spec_decode_num_draft_tokens_total", drafted);
    if (tells_computed) out += row("request_prefill_kv_computed_tokens_sum", computed);
    return out + fmt::format("process_start_time_seconds {}\n", start);
  }
};

TEST(Passive, Vllm) {
  const Vllm before;
  Vllm after = before;
  after.prompt += 2000;
  after.prompts += 2000;
  after.computed += 1500;
  after.hits += 500;
  after.read_seconds += 0.5;
  after.made += 300;
  after.gaps += 298;
  after.gap_seconds += 2.98;
  after.first += 2;
  after.first_seconds += 0.8;
  after.running = 3;
  const PassiveReading reading = compare_looks(look(before.text(), 0), look(after.text(), 10));
  EXPECT_EQ(reading.end, ProbeEnd::answered);
  EXPECT_NEAR(reading.decode.value(), 100, 1e-6);
  EXPECT_EQ(reading.decode_basis, DecodeBasis::gaps);
  EXPECT_NEAR(reading.prefill.value(), 3000, 1e-6);
  EXPECT_EQ(reading.cached_tokens, 500);
  EXPECT_EQ(reading.prompt_tokens, 2000);
  EXPECT_NEAR(reading.first_token_seconds.value(), 0.4, 1e-9);
  EXPECT_NEAR(reading.throughput.value(), 30, 1e-6);
  EXPECT_EQ(reading.contended, "3 requests were at work at a time");

  // Without a count of what was read, the cache's hits forbid a rate.
  Vllm older_before = before;
  Vllm older = after;
  older_before.tells_computed = older.tells_computed = false;
  const auto hit = compare_looks(look(older_before.text(), 0), look(older.text(), 10));
  EXPECT_FALSE(hit.prefill);
  EXPECT_TRUE(hit.prefill_abstain.contains("cached")) << hit.prefill_abstain;
  older.hits = older_before.hits;
  EXPECT_NEAR(compare_looks(look(older_before.text(), 0), look(older.text(), 10)).prefill.value(),
              4000, 1e-6);
}

TEST(Passive, WithDraftsGapsAreStepsAndAnswersCount) {
  const Vllm before;
  Vllm after = before;
  after.drafted = 200;
  after.gaps += 100;
  after.gap_seconds += 2;
  after.ended_tokens += 202;
  after.ended_seconds += 2;
  after.ended += 2;
  const PassiveReading reading = compare_looks(look(before.text(), 0), look(after.text(), 10));
  EXPECT_TRUE(reading.drafts);
  EXPECT_EQ(reading.decode_basis, DecodeBasis::ended);
  EXPECT_NEAR(reading.decode.value(), 100, 1e-6);
}

TEST(Passive, AProcessThatBeganLaterIsAnother) {
  const Vllm before;
  Vllm after = before;
  after.made += 1000;
  after.start += 60;
  const PassiveReading reading = compare_looks(look(before.text(), 0), look(after.text(), 10));
  EXPECT_TRUE(reading.reset);
  EXPECT_EQ(reading.generated_tokens, 1500);
}

TEST(Passive, TwoModelsAreNotMixed) {
  const Vllm idle;
  Vllm fast = idle;
  fast.gaps += 500;
  fast.gap_seconds += 5;
  Vllm slow = idle;
  slow.gaps += 50;
  slow.gap_seconds += 5;
  const std::string before = idle.text("a") + idle.text("b");
  const std::string after = fast.text("a") + slow.text("b");
  const PassiveReading mixed = compare_looks(look(before, 0), look(after, 10));
  EXPECT_FALSE(mixed.decode);
  EXPECT_TRUE(mixed.decode_abstain.contains("2 models")) << mixed.decode_abstain;
  const PassiveReading one = compare_looks(look(before, 0, "b"), look(after, 10, "b"));
  EXPECT_NEAR(one.decode.value(), 10, 1e-6);
}

TEST(Passive, Sglang) {
  const auto text = [](double prompt, double cached, double made, double gaps, double gap_seconds,
                       double firsts, double first_seconds) {
    return fmt::format(
        "sglang:prompt_tokens_total{{model_name=\"m\"}} {}\n"
        "sglang:cached_tokens_total{{cache_source=\"device\",model_name=\"m\"}} {}\n"
        "sglang:generation_tokens_total{{model_name=\"m\",is_streaming=\"true\"}} {}\n"
        "sglang:inter_token_latency_seconds_count{{model_name=\"m\"}} {}\n"
        "sglang:inter_token_latency_seconds_sum{{model_name=\"m\"}} {}\n"
        "sglang:time_to_first_token_seconds_count{{model_name=\"m\"}} {}\n"
        "sglang:time_to_first_token_seconds_sum{{model_name=\"m\"}} {}\n"
        "sglang:num_running_reqs{{model_name=\"m\"}} 1.0\n",
        prompt, cached, made, gaps, gap_seconds, firsts, first_seconds);
  };
  const PassiveReading reading = compare_looks(look(text(10, 0, 10, 9, 0.1, 1, 0.1), 0),
                                               look(text(1010, 200, 110, 108, 2.08, 2, 0.35), 10));
  EXPECT_NEAR(reading.decode.value(), 50, 1e-6);
  EXPECT_FALSE(reading.prefill);
  EXPECT_FALSE(reading.prefill_abstain.empty());
  EXPECT_EQ(reading.cached_tokens, 200);
  EXPECT_NEAR(reading.first_token_seconds.value(), 0.25, 1e-9);
}

TEST(Passive, IntoAProbe) {
  const Llama before;
  Llama after = before;
  after.request(800, 1.0, 201, 50);
  Probe probe;
  take_reading(between_looks(before, after), probe);
  EXPECT_TRUE(probe.passive);
  EXPECT_EQ(probe.end, ProbeEnd::answered);
  EXPECT_NEAR(probe.decode.value(), 50, 0.1);
  EXPECT_EQ(probe.generated_tokens, 201);
  EXPECT_EQ(probe.prompt_tokens, 800);
  EXPECT_FALSE(probe.wallclock);
}

}  // namespace
}  // namespace picchio::answers
