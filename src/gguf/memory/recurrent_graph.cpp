// Blocks that keep a state of constant size.
#include "gguf/memory/block_graph.h"

namespace picchio::gguf {

TensorId BlockGraph::recurrent(TensorId input) { return input; }

}  // namespace picchio::gguf
