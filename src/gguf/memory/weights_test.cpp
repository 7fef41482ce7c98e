#include "gguf/memory/weights.h"

#include "gguf/memory/header_maker.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kTable = 2LL * 256 * 1024;
constexpr std::int64_t kBlock = 2 * 4LL * 256 + 2LL * (4 * 256 * 256 + 3 * 256 * 768);
constexpr std::int64_t kNorm = 4LL * 256;

Placement devices(std::size_t count) {
  Placement out;
  for (std::size_t i = 0; i < count; ++i) {
    out.devices.push_back({.name = "gpu", .free_bytes = 1000, .largest_tensor = std::nullopt});
  }
  return out;
}

Weights weights_for(const Placement& placement, bool tied = false) {
  const std::vector<Header> shards = {made_header("llama", {}, made_tensors(8, tied))};
  const auto model = layers_of(shards);
  const auto where = placed(*model, placement);
  EXPECT_TRUE(where);
  const auto weights = weights_of(*model, *where, placement);
  EXPECT_TRUE(weights);
  return weights.value_or(Weights{});
}

TEST(Weights, LayersOnDevicesFromTheEnd) {
  Placement one = devices(1);
  EXPECT_EQ(weights_for(one).devices[0], 8 * kBlock + kNorm + kTable);
  EXPECT_EQ(weights_for(one).host, kTable);
  one.n_gpu_layers = 1;
  EXPECT_EQ(weights_for(one).devices[0], kNorm + kTable);
  one.n_gpu_layers = 4;
  EXPECT_EQ(weights_for(one).devices[0], 3 * kBlock + kNorm + kTable);
  one.n_gpu_layers = 0;
  EXPECT_EQ(weights_for(one).devices[0], 0);
  EXPECT_EQ(weights_for(one).host, 8 * kBlock + kNorm + 2 * kTable);
}

TEST(Weights, ATiedHeadIsStoredTwiceOnADevice) {
  EXPECT_EQ(weights_for(devices(1), true).devices[0], 8 * kBlock + kNorm + kTable);
  EXPECT_EQ(weights_for(devices(0), true).host, 8 * kBlock + kNorm + kTable);
}

TEST(Weights, SharesOfSeveralDevices) {
  Placement two = devices(2);
  EXPECT_EQ(weights_for(two).devices[0], 5 * kBlock);
  EXPECT_EQ(weights_for(two).devices[1], 3 * kBlock + kNorm + kTable);
  two.tensor_split = {3, 1};
  EXPECT_EQ(weights_for(two).devices[0], 7 * kBlock);
  two.split_layers = false;
  EXPECT_EQ(weights_for(two).devices[0], 8 * kBlock + kNorm + kTable);
  EXPECT_EQ(weights_for(two).devices[1], 0);
}

TEST(Weights, WhatIsKeptOnTheHost) {
  Placement one = devices(1);
  one.n_cpu_ffn = 2;
  EXPECT_EQ(weights_for(one).host, kTable + 2 * 2LL * 3 * 256 * 768);
  one = devices(1);
  one.host_roles = {"ffn_down"};
  EXPECT_EQ(weights_for(one).host, kTable + 8 * 2LL * 256 * 768);
  one = devices(1);
  one.devices[0].largest_tensor = 2LL * 256 * 768;  // no less than any but the head
  EXPECT_EQ(weights_for(one).devices[0], 8 * 2 * kNorm + kNorm);
}

TEST(Weights, SomeTypesAreRepackedForTheHost) {
  Placement placement;
  placement.repacks = true;
  std::vector<TensorRow> tensors = made_tensors(8, true);
  for (TensorRow& row : tensors) {
    if (row.type == 1) row.type = 2;  // q4_0
  }
  const std::vector<Header> shards = {made_header("llama", {}, tensors)};
  const auto model = layers_of(shards);
  const auto where = placed(*model, placement);
  const auto weights = weights_of(*model, *where, placement);
  constexpr std::int64_t kQuarter = 18LL * 256 / 32;  // a row of 256
  EXPECT_EQ(weights->host, 17 * kNorm + kQuarter * 1024);
  EXPECT_EQ(weights->repacked, 8 * kQuarter * (4 * 256 + 3 * 768) + kQuarter * 1024);
}

}  // namespace
}  // namespace picchio::gguf
