// The graph that the engine builds for the largest micro-batch of a model, as far as its tensors'
// names and shapes tell it. Operations that work in the place of their only source (a bias, a
// scale, an activation) are left out: they take no memory.
#pragma once

#include "gguf/memory/context.h"
#include "gguf/memory/graph.h"
#include "gguf/memory/layers.h"
#include "gguf/memory/placement.h"

namespace picchio::gguf {

[[nodiscard]] Graph model_graph(const ModelLayers& model, const Context& context,
                                const Placed& where, const Placement& placement);

}  // namespace picchio::gguf
