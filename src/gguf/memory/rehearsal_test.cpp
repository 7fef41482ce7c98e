#include "gguf/memory/rehearsal.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kKib = 1024;

Shape kib(std::int64_t count) { return {.width = count * kKib, .element_bytes = 1}; }

TEST(Rehearsal, AResultIsFreedBehindItsLastReader) {
  Graph graph(0);
  const TensorId input = graph.input(kib(4));
  const TensorId first = graph.op(kib(8), {input});
  const TensorId second = graph.op(kib(8), {first});
  graph.expand(graph.op(kib(8), {second}));
  // The input's 4 and the first two 8; the third takes the place of the first.
  EXPECT_EQ(rehearse(graph, 1, {}), std::vector<std::int64_t>{20 * kKib});
}

TEST(Rehearsal, InPlaceOnlyOfASoleReadersOwnSource) {
  Graph alone(0);
  TensorId made = alone.op(kib(8), {alone.input(kib(1))});
  alone.expand(alone.op(kib(8), {made}, true));
  EXPECT_EQ(rehearse(alone, 1, {})[0], 9 * kKib);

  Graph shared(0);
  made = shared.op(kib(8), {shared.input(kib(1))});
  const TensorId changed = shared.op(kib(8), {made}, true);
  shared.expand(shared.op(kib(8), {changed, made}));
  EXPECT_EQ(rehearse(shared, 1, {})[0], 25 * kKib);

  Graph seen(0);
  made = seen.op(kib(8), {seen.input(kib(1))});
  seen.expand(seen.op(kib(8), {seen.view(made, kib(8))}, true));
  EXPECT_EQ(rehearse(seen, 1, {})[0], 17 * kKib);
}

HeaderTensor weight_of(std::int64_t bytes) {
  HeaderTensor out;
  out.bytes = bytes;
  return out;
}

TEST(Rehearsal, WhatADeviceReadsIsCopiedToIt) {
  Graph graph(1);
  const TensorId input = graph.input(kib(4));
  const TensorId weight = graph.weight(weight_of(kKib), 0, false);
  graph.expand(graph.op(kib(8), {weight, input}));
  EXPECT_EQ(rehearse(graph, 1, {{}}), (std::vector<std::int64_t>{12 * kKib, 4 * kKib}));
  // A pipeline keeps four of each.
  EXPECT_EQ(rehearse(graph, 4, {{}}), (std::vector<std::int64_t>{24 * kKib, 16 * kKib}));
}

TEST(Rehearsal, AWeightOfTheHostIsCopiedForOneOperation) {
  Graph graph(1);
  const TensorId input = graph.input(kib(4));
  const TensorId weight = graph.weight(weight_of(64 * kKib), 1, true);
  graph.expand(graph.op(kib(8), {weight, input}));
  EXPECT_EQ(rehearse(graph, 1, {{.offloads = true}})[0], (64 + 4 + 8) * kKib);
  EXPECT_EQ(rehearse(graph, 1, {{.offloads = false}})[0], 0);
}

TEST(Rehearsal, WhatAFileLacksIsLeftOut) {
  Graph graph(0);
  EXPECT_EQ(graph.view(kNone, kib(1)), kNone);
  EXPECT_EQ(graph.write(kNone, {}), kNone);
  graph.expand(kNone);
  graph.expand(graph.op(kib(2), {kNone}));
  EXPECT_EQ(rehearse(graph, 1, {})[0], 2 * kKib);
}

TEST(Rehearsal, ATensorBeyondAnyMachineDoesNotFit) {
  Graph graph(0);
  (void)graph.input({.width = std::int64_t{1} << 40U, .middle = std::int64_t{1} << 40U});
  EXPECT_FALSE(graph.fits());
}

}  // namespace
}  // namespace picchio::gguf
