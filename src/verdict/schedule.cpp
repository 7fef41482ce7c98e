#include "verdict/schedule.h"

#include <algorithm>

namespace picchio {
namespace {

// One operation that runs elsewhere costs two splits. Eight beyond the usual is four such
// operations: more than any full offload seen showed (4 at bs=512), fewer than one per layer of any
// real model.
constexpr std::int64_t kBouncingFloor = 8;

}  // namespace

std::int64_t decode_splits(const GraphSplits& splits) {
  return splits.decode.value_or(splits.prefill);
}

SplitShape shape_of(const GraphSplits& splits, int gpus, std::optional<int> layers) {
  const std::int64_t count = decode_splits(splits);
  const std::int64_t usual = std::max(gpus, 1) + 1;
  if (count <= 1 && splits.prefill <= 1) return SplitShape::one_backend;
  if (count <= usual + (splits.measured ? 1 : 0)) return SplitShape::usual;
  const std::int64_t beyond = count - usual;
  const std::int64_t floor = layers ? std::max<std::int64_t>(4, *layers / 4) : kBouncingFloor;
  return beyond >= floor ? SplitShape::bouncing : SplitShape::raised;
}

}  // namespace picchio
