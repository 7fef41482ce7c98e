#include "engines/ollama/served_tags.h"

#include <gtest/gtest.h>

#include <string_view>

namespace picchio::ollama {
namespace {

// Rows as ollama 0.33 writes them, shortened.
constexpr std::string_view kList = R"({"models": [
  {"name": "gemma:latest", "model": "gemma:latest", "modified_at": "2026-11-29T10:00:00Z",
   "size": 253115000, "digest": "ab", "details": {"family": "gemma3"},
   "capabilities": ["completion"]},
  {"name": "hf.co/org/repo:Q4_K_M", "size": "large"},
  {"model": "registry.ollama.ai/library/tiny:1b", "size": 12},
  {"name": "gpt-oss:120b-cloud", "remote_model": "gpt-oss:120b", "remote_host": "https://ollama.com:443", "size": 384},
  {"name": "nomic-embed-text:latest", "size": 5, "capabilities": ["embedding"]},
  {"name": "../../etc/passwd"}, {"name": "\u001b[31mred"}, {"name": 7}, {}, 7, null
]})";

TEST(ServedTags, AreThoseThatCanBeMeasured) {
  const auto tags = parse_served_tags(kList);
  ASSERT_TRUE(tags) << tags.error().message;
  ASSERT_EQ(tags->size(), 3U);
  EXPECT_EQ((*tags)[0].tag, "gemma:latest");
  EXPECT_EQ((*tags)[0].bytes, 253115000);
  EXPECT_EQ((*tags)[1].tag, "hf.co/org/repo:Q4_K_M");
  EXPECT_EQ((*tags)[1].bytes, std::nullopt);
  EXPECT_EQ((*tags)[2].tag, "tiny:1b");
}

TEST(ServedTags, OfAnEmptyStoreAreNone) {
  for (const std::string_view text : {R"({"models": []})", R"({"models": null})"}) {
    const auto tags = parse_served_tags(text);
    ASSERT_TRUE(tags) << text;
    EXPECT_TRUE(tags->empty()) << text;
  }
}

TEST(ServedTags, AreNotReadFromOtherAnswers) {
  for (const std::string_view text :
       {"", "{", "[]", "{}", R"({"models": {}})", R"({"models": "x"})", "404 page not found"}) {
    EXPECT_FALSE(parse_served_tags(text)) << text;
  }
}

}  // namespace
}  // namespace picchio::ollama
