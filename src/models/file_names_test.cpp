#include "models/file_names.h"

#include "evidence/shard_name.h"

#include <gtest/gtest.h>

#include <string_view>

namespace picchio::models {
namespace {

struct NameCase {
  std::string_view name;
  NamedAs expected;
};

constexpr NameCase kNames[] = {
    {"Qwen3-8B-Q4_K_M.gguf", NamedAs::model},
    {"model.gguf", NamedAs::model},
    {"MODEL.GGUF", NamedAs::model},
    {"gpt-oss-20b-mxfp4.gguf", NamedAs::model},
    {"x-00001-of-00003.gguf", NamedAs::model},
    {"name\nwith\x1b[31m\xff.gguf", NamedAs::model},
    {"README.md", NamedAs::no_gguf},
    {".gguf", NamedAs::no_gguf},
    {"gguf", NamedAs::no_gguf},
    {"", NamedAs::no_gguf},
    {"._model.gguf", NamedAs::no_gguf},
    {"model.gguf.part", NamedAs::no_gguf},
    {"model.gguf.downloadInProgress", NamedAs::no_gguf},
    {"abc123.incomplete", NamedAs::no_gguf},
    {"model.gguf.aria2", NamedAs::no_gguf},
    {"model.gguf-split-a", NamedAs::no_gguf},
    {"model.part.gguf", NamedAs::unfinished},
    {"model.INCOMPLETE.gguf", NamedAs::unfinished},
    {"partial-model.gguf", NamedAs::model},
    {"mmproj-F16.gguf", NamedAs::projector},
    {"Qwen2-VL-7B.mmproj-Q8_0.gguf", NamedAs::projector},
    {"gemma-3-4b-MMPROJ.gguf", NamedAs::projector},
    {"imatrix.gguf", NamedAs::importance_matrix},
    {"imatrix_unsloth.gguf", NamedAs::importance_matrix},
    {"Qwen3-8B.imatrix.gguf", NamedAs::importance_matrix},
    {"Qwen3-8B-imatrix-Q4_K_M.gguf", NamedAs::model},
    {"Qwen3-8B-imat-IQ3_XXS.gguf", NamedAs::model},
    {"ggml-vocab-llama-bpe.gguf", NamedAs::vocabulary},
    {"llama-3-vocab.gguf", NamedAs::vocabulary},
    {"llama-vocab-extended-Q5_K_S.gguf", NamedAs::model},
    {"my-lora.gguf", NamedAs::adapter},
    {"sql-LoRA-F16.gguf", NamedAs::adapter},
    {"ggml-adapter-model.gguf", NamedAs::adapter},
    {"adapter_q8_0.gguf", NamedAs::adapter},
    {"control_vector-bf16.gguf", NamedAs::adapter},
    {"alpaca-lora-7b-Q4_0.gguf", NamedAs::model},
    {"x-lora-merged-F16.gguf", NamedAs::model},
    {"Flora-7B-F16.gguf", NamedAs::model},
    {"Explorer-8B.gguf", NamedAs::model},
};

TEST(FileNames, SayWhatAFileIs) {
  for (const NameCase& row : kNames) EXPECT_EQ(named_as(row.name), row.expected) << row.name;
}

TEST(FileNames, OfTheParts) {
  const auto part = shard_name("a-b-00002-of-00005.gguf");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->prefix, "a-b");
  EXPECT_EQ(part->number, 2);
  EXPECT_EQ(part->count, 5);
  ASSERT_TRUE(shard_name("x-00001-of-00001.gguf"));
  for (const std::string_view none :
       {"x.gguf", "-00001-of-00002.gguf", "x-00003-of-00002.gguf", "x-00000-of-00002.gguf",
        "x-0001-of-00002.gguf", "x-000a1-of-00002.gguf", "x-00001-of-00002.GGUF",
        "x00001-of-00002.gguf", "x-00001-of-00002.gguf.part", "x-00001_of_00002.gguf", ""}) {
    EXPECT_FALSE(shard_name(none)) << none;
  }
}

TEST(FileNames, OfADownloadersOwnFiles) {
  EXPECT_EQ(unfinished_by("x.gguf.aria2"), "x.gguf");
  EXPECT_EQ(unfinished_by("x.gguf.st"), "x.gguf");
  EXPECT_FALSE(unfinished_by(".aria2"));
  EXPECT_FALSE(unfinished_by("x.gguf"));
  EXPECT_FALSE(unfinished_by("x.gguf.part"));  // the part is the file, and x.gguf another
}

}  // namespace
}  // namespace picchio::models
