// What graph splits tell: how often the work changes between backends for one batch. Pure.
#pragma once

#include "evidence/engine_log.h"

#include <cstdint>
#include <optional>

namespace picchio {

enum class SplitShape {
  one_backend,  // 1: everything ran on one backend
  usual,        // what N GPUs with the whole model need: N + 1
  raised,       // more than that, fewer than the layers explain
  bouncing,     // work changes backend again and again: operations of the layers run elsewhere
};

/// The number that counts is the one of the decode graph; a log that prints one number means both.
/// `gpus` is at least 1; `layers` the model's, absent: not told.
[[nodiscard]] SplitShape shape_of(const GraphSplits& splits, int gpus, std::optional<int> layers);

[[nodiscard]] std::int64_t decode_splits(const GraphSplits& splits);

}  // namespace picchio
