// Which backend computes which tensor of a graph, and what is copied between them: the rules of
// ggml's scheduler (ggml 0.27.0).
#pragma once

#include "gguf/memory/graph.h"

#include <vector>

namespace picchio::gguf {

/// A graph as it is allocated.
struct Schedule {
  /// The graph's tensors, and behind them the copies that the scheduler makes. Sources are those
  /// that are read in the end: a copy instead of a tensor of another backend.
  std::vector<GraphTensor> tensors;
  std::vector<BackendId> backends;  // by tensor
  std::vector<TensorId> leaves;     // allocated before all others
  std::vector<TensorId> order;
};

[[nodiscard]] Schedule scheduled(const Graph& graph, std::int64_t copies,
                                 const std::vector<BackendTraits>& traits);

}  // namespace picchio::gguf
