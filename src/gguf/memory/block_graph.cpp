#include "gguf/memory/block_graph.h"

#include <string>

namespace picchio::gguf {

const HeaderTensor* BlockGraph::find(std::string_view role) const {
  const auto found = layer_.tensors.find(role);
  return found != layer_.tensors.end() ? found->second : nullptr;
}

TensorId BlockGraph::weight(std::string_view role) {
  const HeaderTensor* tensor = find(role);
  if (tensor == nullptr) return kNone;
  const std::size_t device = device_of(*tensor, index_, role, where_, placement_);
  return graph_.weight(*tensor, backend(device), is_offloadable(*tensor, placement_));
}

TensorId BlockGraph::linear(std::string_view role, TensorId input) {
  const std::string name = std::string(role) + ".weight";
  const HeaderTensor* tensor = find(name);
  if (tensor == nullptr || input == kNone) return kNone;
  const Shape in = graph_.shape(input);
  return graph_.op({.width = tensor->ne[1], .middle = in.middle, .outer = in.outer},
                   {weight(name), input});
}

TensorId BlockGraph::norm(std::string_view role, TensorId input) {
  std::string name = std::string(role) + ".weight";
  if (!has(name)) name = role;  // so falcon-h1 calls one of its norms
  if (!has(name) || input == kNone) return input;
  // With a bias it is a layer norm, which does not work in place.
  const bool in_place = !has(std::string(role) + ".bias");
  const TensorId even = graph_.op(graph_.shape(input), {input}, in_place);
  return graph_.op(graph_.shape(input), {even, weight(name)}, true);
}

TensorId BlockGraph::heads_of(TensorId numbers, std::int64_t length, std::int64_t heads) {
  return graph_.view(numbers, {.width = length, .middle = heads, .outer = context_.tokens});
}

TensorId BlockGraph::put_out(TensorId rows) {
  Shape shape = graph_.shape(rows);
  shape.middle = context_.outputs;
  return graph_.op(shape, {rows, inputs_.output_rows});
}

TensorId BlockGraph::sum(TensorId a, TensorId b) {
  return graph_.op(graph_.shape(a), {a, b}, true);
}

/// What attention, a recurrence or both make of the normalised input; kNone for neither.
TensorId BlockGraph::mixed(TensorId input, TensorId normed) {
  const bool everywhere = model_.rules->attention_everywhere;
  TensorId out = kNone;
  if (!layer_.recurrent || everywhere) out = attention(normed);
  if (!layer_.recurrent) return out;
  if (out == kNone) return recurrent(normed);
  return everywhere ? sum(out, recurrent(norm("attn_norm", input))) : out;
}

/// The second half of a block: what is fed forward is added to `residual`.
TensorId BlockGraph::fed_forward(TensorId residual, bool normed_before) {
  if (has("channel_mix_key.weight")) {
    return sum(channel_mix(norm("attn_norm_2", residual)), residual);
  }
  TensorId fed = residual;
  if (has_ffn_norm()) {
    fed = norm("ffn_norm", residual);
  } else if (normed_before) {
    fed = norm("post_attention_norm", residual);
  }
  fed = feed_forward(fed);
  if (fed == kNone) return residual;
  fed = norm("post_ffw_norm", fed);
  return with_layer_embedding(norm("layer_output_norm", sum(fed, residual)));
}

TensorId BlockGraph::build(TensorId input) {
  input_ = input;
  if (has("altup_router.weight")) return build_altup(input);
  // Nothing stands before attention in models that normalise behind it.
  const TensorId normed = norm("attn_norm", input);
  const bool before = normed != input;
  const bool post_norm = has("post_attention_norm.weight");
  // Attention and feed-forward of the same input, side by side.
  const bool parallel = before && !has_ffn_norm() && !post_norm &&
                        !has("attn_output_norm.weight") && !has("attn_norm_2.weight") &&
                        has("ffn_up.weight");
  TensorId current = mixed(input, normed);
  TensorId residual = input;
  TensorId shared = normed;
  if (last()) {
    if (current != kNone) current = put_out(current);
    residual = put_out(input);
    if (model_.rules->routes_early) input_ = put_out(input);
    if (parallel) shared = put_out(normed);
  }
  if (parallel) {
    const TensorId fed = sum(feed_forward(shared), residual);
    return current == kNone ? fed : sum(fed, current);
  }
  const bool behind = post_norm && (has_ffn_norm() || !before);
  if (current != kNone) {
    if (behind) current = norm("post_attention_norm", current);
    residual = norm("attn_output_norm", sum(current, residual));
  }
  return fed_forward(residual, before && !behind);
}

/// gemma4: each layer adds something of its own for each token.
TensorId BlockGraph::with_layer_embedding(TensorId rows) {
  if (inputs_.per_layer == kNone || !has("inp_gate.weight")) return rows;
  TensorId low = linear("inp_gate", rows);
  TensorId mine = graph_.view(inputs_.per_layer, graph_.shape(low), true, false);
  if (last()) mine = put_out(mine);
  low = graph_.op(graph_.shape(low), {low, mine}, true);
  const TensorId added = norm("post_norm", linear("proj", low));
  return graph_.op(graph_.shape(rows), {rows, added}, true);
}

}  // namespace picchio::gguf
