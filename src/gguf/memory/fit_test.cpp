// Which settings are found for which room, on headers made here.
#include "gguf/memory/fit.h"

#include "gguf/gguf_builder.h"
#include "gguf/memory/token_reads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio::gguf {
namespace {

constexpr std::uint32_t kF16 = 1;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

struct Shape {
  std::uint32_t blocks = 8;
  std::uint32_t width = 1024;
  std::uint32_t heads = 8;
  std::uint32_t feed_forward = 4096;
  std::uint32_t experts = 0;  // 0: dense
  std::uint32_t context = 8192;
};

std::vector<TensorRow> block_rows(const Shape& shape, std::uint32_t number) {
  const std::string b = fmt::format("blk.{}.", number);
  const std::uint64_t d = shape.width;
  const std::uint64_t f = shape.feed_forward;
  std::vector<TensorRow> rows = {
      {b + "attn_norm.weight", 0, {d}},    {b + "ffn_norm.weight", 0, {d}},
      {b + "attn_q.weight", kF16, {d, d}}, {b + "attn_k.weight", kF16, {d, d}},
      {b + "attn_v.weight", kF16, {d, d}}, {b + "attn_output.weight", kF16, {d, d}}};
  if (shape.experts == 0) {
    rows.push_back({b + "ffn_gate.weight", kF16, {d, f}});
    rows.push_back({b + "ffn_up.weight", kF16, {d, f}});
    rows.push_back({b + "ffn_down.weight", kF16, {f, d}});
    return rows;
  }
  const std::uint64_t e = shape.experts;
  rows.push_back({b + "ffn_gate_inp.weight", 0, {d, e}});
  rows.push_back({b + "ffn_gate_exps.weight", kF16, {d, f, e}});
  rows.push_back({b + "ffn_up_exps.weight", kF16, {d, f, e}});
  rows.push_back({b + "ffn_down_exps.weight", kF16, {f, d, e}});
  return rows;
}

std::vector<Header> model(const Shape& shape) {
  const std::string a = shape.experts > 0 ? "qwen3moe" : "llama";
  GgufFile file;
  file.pairs = {pair_text("general.architecture", a),
                pair_u32(a + ".block_count", shape.blocks),
                pair_u32(a + ".context_length", shape.context),
                pair_u32(a + ".embedding_length", shape.width),
                pair_u32(a + ".feed_forward_length", shape.feed_forward),
                pair_u32(a + ".attention.head_count", shape.heads),
                pair_u32(a + ".vocab_size", 4096)};
  if (shape.experts > 0) {
    file.pairs.push_back(pair_u32(a + ".expert_count", shape.experts));
    file.pairs.push_back(pair_u32(a + ".expert_used_count", 2));
    file.pairs.push_back(pair_u32(a + ".expert_feed_forward_length", shape.feed_forward));
  }
  file.tensors = {{"token_embd.weight", kF16, {shape.width, 4096}},
                  {"output_norm.weight", 0, {shape.width}},
                  {"output.weight", kF16, {shape.width, 4096}}};
  for (std::uint32_t i = 0; i < shape.blocks; ++i) {
    for (TensorRow& row : block_rows(shape, i)) file.tensors.push_back(std::move(row));
  }
  const std::string bytes = file.header();
  auto header = read_header(as_bytes(bytes), std::nullopt);
  EXPECT_TRUE(header) << header.error().message;
  std::vector<Header> out;
  if (header) out.push_back(*std::move(header));
  return out;
}

Wish on_one_gpu() {
  Wish wish;
  wish.context.program = Program::server;
  wish.placement.devices.push_back({.name = "GPU", .free_bytes = 0});
  return wish;
}

Room room_of(std::int64_t mib, std::int64_t margin = 0) {
  return {.devices = {mib * kMiB}, .host = 64 * 1024 * kMiB, .margin = margin};
}

std::int64_t whole(const std::vector<Header>& shards, const Wish& wish) {
  const auto need = forecast(shards, wish.context, wish.placement);
  return need ? need->devices[0].total() : 0;
}

TEST(Fit, EverythingInARoomThatHoldsIt) {
  const auto shards = model({});
  const Wish wish = on_one_gpu();
  const std::int64_t bytes = whole(shards, wish);
  ASSERT_GT(bytes, 100 * kMiB);
  Room room = room_of(0);
  room.devices = {bytes};
  const auto exact = advise(shards, wish, room);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->asked.fit, Fit::fits);
  ASSERT_TRUE(exact->best);
  EXPECT_EQ(exact->layers, 9);
  EXPECT_EQ(exact->longest_context, 8192);
  room.margin = 1;
  const auto tight = advise(shards, wish, room);
  ASSERT_TRUE(tight);
  EXPECT_EQ(tight->asked.fit, Fit::tight);
  room.devices = {bytes - 1};
  const auto none = advise(shards, wish, room);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->asked.fit, Fit::not_fitting);
}

// What is chosen fits, and the next larger choice would not.
TEST(Fit, OneMoreWouldBeTooMuch) {
  const auto shards = model({});
  Wish wish = on_one_gpu();
  wish.context.n_ctx = 4096;
  wish.context_fixed = true;
  const std::int64_t bytes = whole(shards, wish);
  for (int percent = 5; percent < 100; percent += 5) {
    Room room = room_of(0);
    room.devices = {bytes / 100 * percent};
    const auto advice = advise(shards, wish, room);
    ASSERT_TRUE(advice);
    ASSERT_TRUE(advice->best) << percent;
    Placement placement = advice->best->placement;
    EXPECT_LE(advice->best->need.devices[0].total(), room.devices[0]) << percent;
    ASSERT_GE(placement.n_gpu_layers, 0);
    ASSERT_LT(placement.n_gpu_layers, advice->layers);
    // Of no layers the next larger choice is to compute large batches all the same.
    if (placement.offload_operations) ++placement.n_gpu_layers;
    placement.offload_operations = true;
    const auto more = forecast(shards, wish.context, placement);
    ASSERT_TRUE(more);
    EXPECT_GT(more->devices[0].total(), room.devices[0]) << percent;
  }
}

TEST(Fit, ShortensTheContextBeforeItGivesUpLayers) {
  const auto shards = model({.context = 131072});
  const Wish wish = on_one_gpu();
  Wish at_least = wish;
  at_least.context.n_ctx = kLeastContext;
  Room room = room_of(0);
  room.devices = {whole(shards, at_least) + 64 * kMiB};
  const auto advice = advise(shards, wish, room);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->asked.fit, Fit::not_fitting);
  ASSERT_TRUE(advice->best);
  EXPECT_LT(advice->best->placement.n_gpu_layers, 0) << "all";
  const std::int64_t n_ctx = advice->best->context.n_ctx;
  EXPECT_GE(n_ctx, kLeastContext);
  EXPECT_LT(n_ctx, 131072);
  EXPECT_EQ(n_ctx % 256, 0);
  Wish longer = wish;
  longer.context.n_ctx = n_ctx + 256;
  EXPECT_GT(whole(shards, longer), room.devices[0]);
  EXPECT_EQ(advice->longest_context, n_ctx);
}

TEST(Fit, KeepsAsFewExpertsOnTheHostAsItMust) {
  const auto shards = model({.feed_forward = 512, .experts = 16});
  Wish wish = on_one_gpu();
  wish.context.n_ctx = 4096;
  wish.context_fixed = true;
  const std::int64_t bytes = whole(shards, wish);
  Room room = room_of(0);
  room.devices = {bytes - bytes / 4};
  const auto advice = advise(shards, wish, room);
  ASSERT_TRUE(advice);
  EXPECT_TRUE(advice->has_experts);
  ASSERT_TRUE(advice->best);
  Placement placement = advice->best->placement;
  EXPECT_LT(placement.n_gpu_layers, 0) << "all";
  ASSERT_GT(placement.n_cpu_moe, 0);
  --placement.n_cpu_moe;
  const auto fewer = forecast(shards, wish.context, placement);
  ASSERT_TRUE(fewer);
  EXPECT_GT(fewer->devices[0].total(), room.devices[0]);
}

TEST(Fit, AQuantizedCacheIsOfferedWhereOnlyThatFits) {
  const auto shards = model({.context = 32768});
  Wish wish = on_one_gpu();
  wish.context.n_ctx = 32768;
  wish.context_fixed = true;
  Wish quantized = wish;
  quantized.context.cache_type_k = quantized.context.cache_type_v = "q8_0";
  Room room = room_of(0);
  room.devices = {whole(shards, quantized)};
  const auto advice = advise(shards, wish, room);
  ASSERT_TRUE(advice);
  ASSERT_TRUE(advice->small_cache);
  EXPECT_EQ(advice->small_cache->context.cache_type_k, "q8_0");
  wish.types_fixed = true;
  const auto fixed = advise(shards, wish, room);
  ASSERT_TRUE(fixed);
  EXPECT_FALSE(fixed->small_cache);
}

TEST(Fit, NothingIsBestWhereNothingFits) {
  const auto shards = model({});
  Room room = room_of(8);
  room.host = 8 * kMiB;
  const auto advice = advise(shards, on_one_gpu(), room);
  ASSERT_TRUE(advice);
  EXPECT_FALSE(advice->best);
  EXPECT_FALSE(advice->longest_context);
}

TEST(Fit, SharedMemoryIsCountedOnce) {
  const auto shards = model({});
  Wish wish = on_one_gpu();
  Room room = room_of(0);
  room.devices = {whole(shards, wish)};
  room.host = room.devices[0];  // the host's own part has no room beside it
  const auto apart = advise(shards, wish, room);
  room.shared = true;
  const auto shared = advise(shards, wish, room);
  ASSERT_TRUE(apart && shared);
  EXPECT_EQ(apart->asked.fit, Fit::fits);
  EXPECT_EQ(shared->asked.fit, Fit::not_fitting);
}

TEST(TokenReads, WeightsOnceAndTheCacheAsFarAsItIsFilled) {
  const auto shards = model({});
  const Wish wish = on_one_gpu();
  const auto empty = token_reads(shards, wish.context, wish.placement, 0);
  const auto half = token_reads(shards, wish.context, wish.placement, 4096);
  const auto full = token_reads(shards, wish.context, wish.placement, 8192);
  ASSERT_TRUE(empty && half && full);
  EXPECT_EQ(full->devices[0].bytes - half->devices[0].bytes,
            half->devices[0].bytes - empty->devices[0].bytes);
  const auto need = forecast(shards, wish.context, wish.placement);
  ASSERT_TRUE(need);
  EXPECT_EQ(empty->devices[0].bytes, need->devices[0].weights);
  EXPECT_EQ(full->devices[0].bytes, need->devices[0].weights + need->devices[0].kv_cache);
  EXPECT_EQ(empty->devices[0].products, 0);
  EXPECT_GT(half->devices[0].products, 0);
  EXPECT_EQ(full->devices[0].products, 2 * half->devices[0].products);
  EXPECT_EQ(empty->host.weights, 1024) << "one row of the embedding";
  EXPECT_EQ(empty->host.bytes, 2 * 1024);
  EXPECT_EQ(full->devices[0].weights, empty->devices[0].weights) << "the cache holds none";
}

TEST(TokenReads, ActiveExpertsOnly) {
  const auto shards = model({.feed_forward = 512, .experts = 16});
  const Wish wish = on_one_gpu();
  const auto reads = token_reads(shards, wish.context, wish.placement, 0);
  const auto need = forecast(shards, wish.context, wish.placement);
  ASSERT_TRUE(reads && need);
  const std::int64_t experts = std::int64_t{8} * 3 * 1024 * 512 * 16 * 2;  // bytes of all
  EXPECT_EQ(reads->devices[0].bytes, need->devices[0].weights - experts + experts / 8);
}

}  // namespace
}  // namespace picchio::gguf
