#include "results/number.h"

#include "results/block_reader.h"
#include "results/sample_blocks.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace picchio::results {
namespace {

std::vector<NumberedRun> one_run(const char* block = kGpuBlock, std::string when = "") {
  return {{find_blocks(block).at(0).figures, std::move(when)}};
}

std::string explained(const std::string& text, const std::vector<NumberedRun>& runs) {
  const auto number = read_number(text);
  if (!number) return "error: " + number.error().message;
  const auto matches = explain_number(*number, runs);
  return number_text(*number, runs, matches);
}

struct NumberCase {
  const char* text;
  double value;
  std::optional<NumberUnit> unit;
};

TEST(Number, Reads) {
  using enum NumberUnit;
  for (const NumberCase& row : {NumberCase{"45.2", 45.2, {}},
                                NumberCase{"~45", 45, {}},
                                NumberCase{" 45 ", 45, {}},
                                NumberCase{"45,2", 45.2, {}},
                                NumberCase{"1,234", 1234, {}},
                                NumberCase{"1,234.5", 1234.5, {}},
                                NumberCase{"1,234,567", 1234567, {}},
                                NumberCase{"0,123", 0.123, {}},
                                NumberCase{"1.234,5", -1, {}},
                                NumberCase{"45.2 tok/s", 45.2, tokens_per_second},
                                NumberCase{"45tok/s", 45, tokens_per_second},
                                NumberCase{"45 t/s", 45, tokens_per_second},
                                NumberCase{"45 T/S", 45, tokens_per_second},
                                NumberCase{"45tps", 45, tokens_per_second},
                                NumberCase{"45 tokens per second", 45, tokens_per_second},
                                NumberCase{"45 tokens/sec", 45, tokens_per_second},
                                NumberCase{"45 tokens a second", 45, tokens_per_second},
                                NumberCase{"45 steps per second", 45, tokens_per_second},
                                NumberCase{"22 ms", 22, ms_per_token},
                                NumberCase{"22ms/token", 22, ms_per_token},
                                NumberCase{"22 ms per token", 22, ms_per_token},
                                NumberCase{"0.5 s/token", 0.5, seconds_per_token},
                                NumberCase{"0.5 seconds per token", 0.5, seconds_per_token},
                                NumberCase{"2700 tokens per minute", 2700, tokens_per_minute},
                                NumberCase{"2,700 tok/min", 2700, tokens_per_minute}}) {
    const auto number = read_number(row.text);
    if (row.value < 0) {
      EXPECT_FALSE(number) << row.text;
      continue;
    }
    ASSERT_TRUE(number) << row.text << ": " << number.error().message;
    EXPECT_DOUBLE_EQ(number->value, row.value) << row.text;
    EXPECT_EQ(number->unit, row.unit) << row.text;
  }
}

TEST(Number, WhatIsNone) {
  for (const char* text : {"", " ", "fast", "tok/s", "-5", "0", "0.0", "nan", "inf", "1e999", "45x",
                           "45 GB", "45 tok/s please", "--", "4 5", "1.2.3", "server.log"}) {
    EXPECT_FALSE(read_number(text)) << text;
  }
}

TEST(Number, ReadsLikeALane) {
  const auto runs = one_run();
  const std::string of = ", of Tiny-8B-Q4_K_M.gguf\n";
  const std::string none =
      " matches no lane of Tiny-8B-Q4_K_M.gguf: prefill 4900.0, decode 132.1, wallclock 60.5\n";
  struct Case {
    const char* text;
    std::string wanted;
  };
  for (const Case& row :
       {Case{"132.1", "132.1 reads like decode, warm (131.9 to 132.4)" + of},
        Case{"132", "132 reads like decode, warm (131.9 to 132.4)" + of},
        Case{"130.2", "130.2 reads like decode, cold (130.2)" + of},
        Case{"4900", "4900 reads like prefill, warm (4890.0 to 4911.0)" + of},
        Case{"60.5 tok/s", "60.5 tok/s reads like wallclock, warm (60.1 to 60.9)" + of},
        Case{"41", "41 reads like wallclock, cold (41.0)" + of},
        Case{"7.57 ms",
             "7.57 ms per token reads like decode, warm (131.9 to "
             "132.4 tok/s)" +
                 of},
        Case{"7926 tok/min",
             "7926 tokens per minute reads like decode, "
             "warm (131.9 to 132.4 tok/s)" +
                 of},
        Case{"7.57", "7.57 reads like ms per token of decode, warm (131.9 to 132.4 tok/s)" + of},
        Case{"3630",
             "3630 resembles prefill, cold (4821.4), 25% below it or prefill, warm (4890.0 to "
             "4911.0), 26% below it" +
                 of},
        Case{"132.8",
             "132.8 resembles decode, warm (131.9 to 132.4), less than 1% above it or decode, "
             "cold (130.2), 2% above it" +
                 of},
        Case{"2460", "2460" + none}, Case{"9", "9" + none},
        Case{"7.57 tok/s", "7.57 tok/s" + none}}) {
    EXPECT_EQ(explained(row.text, runs), row.wanted);
  }
}

TEST(Number, NearIsSaidWithHowFar) {
  EXPECT_EQ(explained("120", one_run()),
            "120 resembles decode, cold (130.2), 8% below it or decode, warm (131.9 to 132.4), 9% "
            "below it, of Tiny-8B-Q4_K_M.gguf\n");
}

TEST(Number, NewestOfSeveralRunsFirst) {
  std::vector<NumberedRun> runs = one_run(kOnePassBlock, "2026-07-22");
  runs.push_back(one_run(kGpuBlock, "2026-07-20").front());
  EXPECT_EQ(explained("21.0", runs),
            "21 reads like decode, cold (21.0), of qwen3:8b on 2026-07-22\n");
  EXPECT_EQ(explained("132.1", runs),
            "132.1 reads like decode, warm (131.9 to 132.4), of Tiny-8B-Q4_K_M.gguf on "
            "2026-07-20\n");
  runs.insert(runs.begin(), one_run(kGpuBlock, "2026-07-25").front());
  EXPECT_NE(explained("132.1", runs).find("2026-07-25"), std::string::npos);
}

TEST(Number, NothingMeasured) { EXPECT_EQ(explained("45", {}), "45: nothing was measured here\n"); }

TEST(Number, ALaneThatAbstainsMatchesNothing) {
  std::vector<NumberedRun> runs = one_run(kOnePassBlock);
  LaneFigures& prefill = runs.front().figures.lane(Lane::prefill);
  prefill.cold = {500.0, true};
  EXPECT_NE(explained("500", runs).find("matches no lane"), std::string::npos);
  EXPECT_NE(explained("500", runs).find("prefill abstain"), std::string::npos);
}

TEST(Number, Json) {
  const auto runs = one_run(kGpuBlock, "2026-07-22");
  const auto number = read_number("132.1");
  ASSERT_TRUE(number);
  const auto json =
      nlohmann::json::parse(number_json(*number, runs, explain_number(*number, runs)));
  EXPECT_EQ(json["schema"], "picchio.explain.v1");
  EXPECT_EQ(json["matches"][0]["lane"], "decode");
  EXPECT_EQ(json["matches"][0]["row"], "warm");
  EXPECT_EQ(json["matches"][0]["within"], true);
  EXPECT_EQ(json["matches"][0]["when"], "2026-07-22");
  EXPECT_TRUE(json["unit"].is_null());
}

}  // namespace
}  // namespace picchio::results
