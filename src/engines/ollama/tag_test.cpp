#include "engines/ollama/tag.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace picchio::ollama {
namespace {

struct Case {
  const char* text;
  Tag tag;
  const char* shortest;
};

TEST(OllamaTag, WhatPeopleWrite) {
  const std::string usual = "registry.ollama.ai";
  const Case cases[] = {
      {"qwen3:8b", {usual, "library", "qwen3", "8b"}, "qwen3:8b"},
      {"qwen3", {usual, "library", "qwen3", "latest"}, "qwen3:latest"},
      {"library/qwen3:8b", {usual, "library", "qwen3", "8b"}, "qwen3:8b"},
      {"registry.ollama.ai/library/x:y", {usual, "library", "x", "y"}, "x:y"},
      {"hf.co/owner/repo-GGUF:Q4_K_M",
       {"hf.co", "owner", "repo-GGUF", "Q4_K_M"},
       "hf.co/owner/repo-GGUF:Q4_K_M"},
      {"user/model:tag", {usual, "user", "model", "tag"}, "user/model:tag"},
      {"localhost:5000/a/b", {"localhost:5000", "a", "b", "latest"}, "localhost:5000/a/b:latest"},
      {"127.0.0.1:5000/library/b:c",
       {"127.0.0.1:5000", "library", "b", "c"},
       "127.0.0.1:5000/library/b:c"},
      {"llama3.2:1b-instruct-q4_K_M",
       {usual, "library", "llama3.2", "1b-instruct-q4_K_M"},
       "llama3.2:1b-instruct-q4_K_M"},
      {"_x", {usual, "library", "_x", "latest"}, "_x:latest"},
  };
  for (const Case& each : cases) {
    EXPECT_TRUE(is_tag(each.text)) << each.text;
    const auto tag = parse_tag(each.text);
    ASSERT_TRUE(tag) << each.text << ": " << tag.error().message;
    EXPECT_EQ(*tag, each.tag) << each.text;
    EXPECT_EQ(to_string(*tag), each.shortest);
    EXPECT_EQ(*parse_tag(to_string(*tag)), *tag);
  }
}

TEST(OllamaTag, WhatIsNone) {
  const std::string long_part(81, 'a');
  for (const std::string& text : {std::string(),
                                  std::string("/x"),
                                  std::string("./x"),
                                  std::string("../x"),
                                  std::string("../../x"),
                                  std::string("a/../x"),
                                  std::string("a/b/.."),
                                  std::string("x:.."),
                                  std::string("x:../y"),
                                  std::string("~/x"),
                                  std::string("a/b/c/d"),
                                  std::string("a//b"),
                                  std::string("x:"),
                                  std::string(":x"),
                                  std::string("x y"),
                                  std::string("x\n"),
                                  std::string("x:\x1b[31m"),
                                  std::string("http://h/a/b"),
                                  std::string("hf:o/r/f"),
                                  std::string("h:port/a/b"),
                                  std::string("h:123456/a/b"),
                                  std::string("a/b/"),
                                  std::string("-x"),
                                  std::string(".x"),
                                  std::string("x:-y"),
                                  std::string("a.b/c"),
                                  long_part,
                                  std::string("x:") + long_part,
                                  std::string("x\0y", 3),
                                  std::string("a:b:c")}) {
    EXPECT_FALSE(is_tag(text)) << text;
    EXPECT_FALSE(parse_tag(text)) << text;
  }
  EXPECT_EQ(parse_tag("../../x").error().message, "'../../x' is no name of an ollama model");
  for (const char* file : {"model.gguf", "MODEL.GGUF", "a/b.gguf", "qwen3:8b.gguf"}) {
    EXPECT_FALSE(is_tag(file)) << file;
  }
}

}  // namespace
}  // namespace picchio::ollama
