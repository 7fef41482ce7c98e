#include "commands/target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio {
namespace {

TEST(Target, ByItsName) {
  struct Row {
    const char* word;
    TargetKind kind;
    const char* becomes;
  };
  for (const Row& row : std::vector<Row>{
           {"http://127.0.0.1:8080", TargetKind::server, "http://127.0.0.1:8080"},
           {"HTTPS://host/llm", TargetKind::server, "HTTPS://host/llm"},
           {"localhost:8080", TargetKind::server, "http://localhost:8080"},
           {":8080", TargetKind::server, "http://127.0.0.1:8080"},
           {"[::1]:8080", TargetKind::server, "http://[::1]:8080"},
           {"192.0.2.7:8080", TargetKind::server, "http://192.0.2.7:8080"},
           {"./qwen3", TargetKind::file, "./qwen3"},
           {"/models/x", TargetKind::file, "/models/x"},
           {"~/x", TargetKind::file, "~/x"},
           {"x.GGUF", TargetKind::file, "x.GGUF"},
           {"models/", TargetKind::file, "models/"},
           {"qwen3:8b", TargetKind::ollama, "qwen3:8b"},
           {"qwen3", TargetKind::ollama, "qwen3"},
           {"user/model:tag", TargetKind::ollama, "user/model:tag"},
           {"hf.co/owner/repository:Q4_K_M", TargetKind::ollama, "hf.co/owner/repository:Q4_K_M"},
           {"phi3:14", TargetKind::ollama, "phi3:14"}}) {
    const Result<Target> target = target_of_name(row.word);
    ASSERT_TRUE(target) << row.word << ": " << target.error().message;
    EXPECT_EQ(target->kind, row.kind) << row.word;
    EXPECT_EQ(target->word, row.becomes) << row.word;
  }
}

TEST(Target, WhatIsNoneOfTheThree) {
  for (const char* word : {"", "a b", "-x", "what?", "http://host/model.gguf?download=true",
                           "hf:owner/repository/file.gguf", "\x1b[31m"}) {
    const Result<Target> target = target_of_name(word);
    ASSERT_FALSE(target) << word;
    EXPECT_FALSE(target.error().hint.empty()) << word;
  }
}

}  // namespace
}  // namespace picchio
