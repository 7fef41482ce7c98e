#include "commands/sweep/tiers.h"

#include <gtest/gtest.h>

#include <limits>

namespace picchio {
namespace {

using Tiers = std::vector<std::int64_t>;

TEST(Tiers, AreReadInEveryForm) {
  struct Case {
    const char* text;
    Tiers tiers;
  };
  for (const Case& c :
       {Case{"4096", {4096}}, Case{"16k,4096", {4096, 16384}},
        Case{"32K, 16k ,4k", {4096, 16384, 32768}}, Case{"4096,4k", {4096}}, Case{"512", {512}}}) {
    const auto tiers = read_tiers(c.text);
    ASSERT_TRUE(tiers) << c.text << ": " << tiers.error().message;
    EXPECT_EQ(*tiers, c.tiers) << c.text;
  }
}

TEST(Tiers, WhatIsNoneIsNamed) {
  for (const char* text : {"", "k", "4096,", "4096,,8192", "-1", "0", "511", "4.5k", "32q", "1e6",
                           "99999999999999999999", "9999999999k", "4096 8192", "nan"}) {
    const auto tiers = read_tiers(text);
    ASSERT_FALSE(tiers) << text;
    EXPECT_FALSE(tiers.error().message.empty());
  }
  std::string many;
  for (int i = 0; i < 33; ++i) many += (i > 0 ? "," : "") + std::to_string(1000 + i);
  EXPECT_FALSE(read_tiers(many));
}

TEST(Tiers, TheUsualOnesGoInAndAreSeveral) {
  EXPECT_EQ(*usual_tiers(std::nullopt), (Tiers{4096, 16384, 32768}));
  EXPECT_EQ(*usual_tiers(131072), (Tiers{4096, 16384, 32768}));
  EXPECT_EQ(*usual_tiers(16384), (Tiers{4096, 16384}));
  EXPECT_EQ(*usual_tiers(8192), (Tiers{2048, 4096, 8192}));
  EXPECT_EQ(*usual_tiers(2048), (Tiers{512, 1024, 2048}));
  EXPECT_EQ(*usual_tiers(1000), (Tiers{512, 1000}));
  EXPECT_EQ(*usual_tiers(512), (Tiers{512}));
  EXPECT_FALSE(usual_tiers(511));
}

TEST(PromptLength, FillsAContextByTheEnginesCounts) {
  auto length = PromptLength::of(110, 292);  // 91 a page and 19 around, as Gemma 3 counts
  ASSERT_TRUE(length);
  for (const std::int64_t context : {512, 4096, 32768, 1 << 20}) {
    const PromptLength::Filling filling = length->filling_of(context);
    const std::int64_t tokens = length->tokens_of(filling);
    EXPECT_LE(tokens + 128, context) << context;
    EXPECT_GT(tokens + 128 + 91 / 5 + 16, context) << context;
    EXPECT_LT(filling.words, llama_cpp::kWordsOfParagraph);
  }
  // A later page had more tokens than the first: fewer of them go in.
  const int before = length->filling_of(32768).pages;
  length->learn({40, 0}, 19 + 40 * 93);
  EXPECT_LT(length->filling_of(32768).pages, before);
  EXPECT_EQ(length->filling_of(200).pages, 0);
  EXPECT_EQ(length->filling_of(200).words, 0);
}

TEST(PromptLength, CountsThatAreNoneGiveNothing) {
  EXPECT_FALSE(PromptLength::of(110, 110));
  EXPECT_FALSE(PromptLength::of(292, 110));
  EXPECT_FALSE(PromptLength::of(0, 0));
  EXPECT_FALSE(PromptLength::of(10, 20));
  EXPECT_FALSE(PromptLength::of(1, 4000));  // a page would be longer than its prompt
  // What a server claims may be any number.
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t number : {kLeast, std::int64_t{-1}, kMost}) {
    EXPECT_FALSE(PromptLength::of(number, 292)) << number;
    EXPECT_FALSE(PromptLength::of(110, number)) << number;
  }
  EXPECT_FALSE(PromptLength::of(kLeast, kMost));
}

// HEALTHY at 4096 says nothing of the 32768 that were asked for.
TEST(Tiers, ARunOfAnotherSizeIsNone) {
  const PromptLength::Filling filling{.pages = 300, .words = 0};
  EXPECT_EQ(why_not_of_size(32768, filling, 32768, 32600), "");
  EXPECT_EQ(why_not_of_size(32768, filling, 40960, 32600), "");
  EXPECT_EQ(why_not_of_size(32768, filling, std::nullopt, std::nullopt), "");
  EXPECT_NE(why_not_of_size(32768, filling, 4096, 3900), "");
  EXPECT_NE(why_not_of_size(32768, filling, 32767, 32600), "");
  EXPECT_NE(why_not_of_size(32768, filling, 32768, 3900), "");
  EXPECT_NE(why_not_of_size(32768, filling, std::nullopt, 3900), "");
  EXPECT_EQ(why_not_of_size(512, {.pages = 1, .words = 0}, 512, 140), "");
}

TEST(PromptLength, NoPromptIsEndless) {
  const auto length = PromptLength::of(110, 292);
  ASSERT_TRUE(length);
  EXPECT_EQ(length->filling_of(std::int64_t{1} << 60).pages, PromptLength::kMostPages);
  EXPECT_EQ(PromptLength().filling_of(1 << 20).pages, 0);
}

}  // namespace
}  // namespace picchio
