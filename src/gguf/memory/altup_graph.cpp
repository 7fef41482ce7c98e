// gemma3n: several predictions of the residual stream side by side, of which a block computes one
// and corrects all.
#include "gguf/memory/block_graph.h"

namespace picchio::gguf {
namespace {

constexpr std::size_t kSparseLayers = 10;  // whose gates keep their largest values only

}  // namespace

/// The root mean square of rows, for which their squares are needed once.
TensorId row_magnitude(Graph& graph, TensorId rows) {
  const Shape shape = graph.shape(rows);
  const TensorId squares = graph.op(shape, {rows}, true);
  return graph.op({.width = 1, .middle = shape.middle, .outer = shape.outer}, {squares});
}

TensorId BlockGraph::routed(TensorId row) {
  return linear("altup_router", norm("altup_router_norm", row));
}

TensorId BlockGraph::predicted(TensorId all) {
  const Shape shape = graph_.shape(all);
  const Shape row{.width = shape.width, .middle = shape.middle};
  const TensorId coefficients = linear("altup_predict_coef", routed(graph_.view(all, row)));
  const TensorId permuted = graph_.op(shape, {graph_.view(all, shape, true)});
  const TensorId mixed = graph_.op(shape, {permuted, coefficients});
  const TensorId back = graph_.op(shape, {graph_.view(mixed, shape, true)});
  return graph_.op(shape, {back, all}, true);
}

TensorId BlockGraph::sparse_feed_forward(TensorId input) {
  const TensorId up = linear("ffn_up", input);
  TensorId gate = linear("ffn_gate", input);
  if (up == kNone || gate == kNone) return feed_forward(input);
  const Shape wide = graph_.shape(gate);
  if (index_ < kSparseLayers) {
    const TensorId apart =
        graph_.op(wide, {gate, graph_.op({.width = 1, .middle = wide.middle}, {gate})}, true);
    const TensorId limit = graph_.op({.width = 1, .middle = wide.middle}, {apart});
    gate = graph_.op(wide, {gate, limit}, true);
  }
  return linear("ffn_down", graph_.op(wide, {up, gate}, true));
}

TensorId BlockGraph::build_altup(TensorId all) {
  const Shape shape = graph_.shape(all);
  const Shape row{.width = shape.width, .middle = shape.middle};
  const TensorId predictions = predicted(all);
  const TensorId active = graph_.view(predictions, row);
  const TensorId normed = norm("attn_norm", active);
  TensorId side = linear("laurel_r", linear("laurel_l", normed));
  side = sum(norm("laurel_post_norm", side), normed);
  TensorId current = norm("post_attention_norm", attention(normed));
  current = sum(sum(current, active), side);
  TensorId fed = norm("post_ffw_norm", sparse_feed_forward(norm("ffn_norm", current)));
  fed = sum(fed, current);
  const TensorId coefficients = linear("altup_correct_coef", routed(fed));
  const TensorId innovation = graph_.op(row, {fed, graph_.view(predictions, row)}, true);
  TensorId corrected = graph_.op(shape, {innovation});
  corrected = graph_.op(shape, {corrected, coefficients}, true);
  corrected = sum(corrected, predictions);
  const TensorId first =
      graph_.op(row, {graph_.view(corrected, row), weight("altup_correct_scale.weight")});
  TensorId low = linear("inp_gate", first);
  low = sum(low, graph_.view(inputs_.per_layer, graph_.shape(low), true, false));
  const TensorId added = norm("post_norm", linear("proj", low));
  Shape rest = shape;
  rest.outer = shape.outer.less(1);
  const TensorId tail = graph_.op(rest, {graph_.view(corrected, rest, true, false), added});
  return graph_.op(shape, {graph_.view(corrected, row), tail});
}

}  // namespace picchio::gguf
