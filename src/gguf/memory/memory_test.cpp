#include "gguf/memory/memory.h"

#include "gguf/memory/header_maker.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

Placement one_device() {
  Placement out;
  out.devices.push_back({.name = "gpu", .free_bytes = 1000, .largest_tensor = std::nullopt});
  return out;
}

TEST(Memory, PartsAddUp) {
  const auto mine = forecast({made_header("llama", {}, made_tensors(8))}, {}, one_device());
  ASSERT_TRUE(mine) << mine.error().message;
  EXPECT_EQ(mine->all.total(), mine->host.total() + mine->devices[0].total());
  EXPECT_EQ(mine->devices[0].kv_cache, 8LL * 4096 * 2 * 256 * 2);
  EXPECT_EQ(mine->host.output_buffer, 4LL * 1024);
  EXPECT_GT(mine->devices[0].compute_buffer, 0);
  ASSERT_EQ(mine->guesses.size(), 1U);
  EXPECT_EQ(mine->guesses[0], "what a GPU's driver takes for itself is not in this");
}

TEST(Memory, CachesOnTheHostIfAsked) {
  Placement placement = one_device();
  placement.offload_kv = false;
  const auto mine = forecast({made_header("llama", {}, made_tensors(8))}, {}, placement);
  EXPECT_EQ(mine->devices[0].kv_cache, 0);
  EXPECT_EQ(mine->host.kv_cache, 8LL * 4096 * 2 * 256 * 2);
}

TEST(Memory, AServerReservesARowForEachSlot) {
  // A head so wide that its rows are what the buffer is for.
  std::vector<TensorRow> tensors = made_tensors(8);
  tensors[2].ne = {256, 32000};
  const Header header = made_header("llama", {{"vocab_size", {32000}}}, tensors);
  const auto once = forecast({header}, {}, {});
  const auto server = forecast({header}, {.program = Program::server}, {});
  EXPECT_GT(once->host.compute_buffer, 512LL * 32000 * 4);
  EXPECT_LT(server->host.compute_buffer, 512LL * 32000 * 4);
  EXPECT_EQ(server->host.output_buffer, 4LL * 32000 * 4);
}

TEST(Memory, SaysWhatIsAGuess) {
  const auto mine = forecast({made_header("brand-new", {}, made_tensors(8))}, {}, {});
  ASSERT_TRUE(mine);
  ASSERT_EQ(mine->guesses.size(), 1U);
  EXPECT_NE(mine->guesses[0].find("not known"), std::string::npos);
}

// Every architecture's graph over tensors that do not belong to it: nothing may be missing so much
// that it is read.
TEST(Memory, NoArchitectureNeedsTensorsThatAFileMayLack) {
  const char* names[] = {"bert",       "cohere2", "deepseek2", "deepseek32", "deepseek4",
                         "falcon-h1",  "gemma3n", "gemma4",    "glm5-next",  "jamba",
                         "kimi-k3",    "lfm2",    "llama4",    "mamba",      "mamba2",
                         "minimax-01", "qwen35",  "qwen4exp",  "rwkv6",      "minimax-m3",
                         "t5",         "plamo2",  "brand-new"};
  const Keys keys = {{"expert_count", {8}},
                     {"expert_used_count", {2}},
                     {"attention.key_length_mla", {32}},
                     {"attention.value_length_mla", {32}},
                     {"attention.indexer.key_length", {64}},
                     {"attention.indexer.top_k", {16}},
                     {"ssm.conv_kernel", {4}},
                     {"ssm.inner_size", {512}}};
  for (const char* name : names) {
    for (const auto& tensors : {std::vector<TensorRow>{}, made_tensors(8), made_tensors(3, true)}) {
      const auto mine = forecast({made_header(name, keys, tensors)}, {}, one_device());
      EXPECT_TRUE(mine) << name << ": " << mine.error().message;
    }
  }
}

TEST(Memory, NumbersThatPassAllBoundsAreErrors) {
  const Keys wide = {{"embedding_length", {2147483647}},
                     {"attention.head_count_kv", {2147483647}},
                     {"attention.key_length", {2147483647}}};
  const auto mine =
      forecast({made_header("llama", wide, made_tensors(8))}, {.n_ctx = 4294000000}, {});
  ASSERT_FALSE(mine);
  EXPECT_EQ(mine.error().message, "the cache of one layer passes 2^63 bytes");
}

}  // namespace
}  // namespace picchio::gguf
