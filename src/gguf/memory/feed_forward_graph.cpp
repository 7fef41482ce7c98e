// The feed-forward part of a block: dense, or of experts.
#include "gguf/memory/block_graph.h"

#include <string>
#include <vector>

namespace picchio::gguf {

TensorId BlockGraph::dense(std::string_view suffix, TensorId input) {
  const std::string tail(suffix);
  const HeaderTensor* down = find("ffn_down" + tail + ".weight");
  if (down == nullptr) return kNone;
  // The engine comes to the gate before it comes to what is gated.
  const TensorId gate = linear("ffn_gate" + tail, input);
  const TensorId up = linear("ffn_up" + tail, input);
  if (up == kNone) return kNone;
  TensorId current = up;
  const Shape inner{.width = down->ne[0], .middle = graph_.shape(input).middle};
  if (gate != kNone) {
    current = graph_.op(inner, {gate, up});
  } else if (graph_.shape(up).width.value_or_zero() - down->ne[0] == down->ne[0]) {
    current = graph_.op(inner, {up});  // both in one
  }
  return linear("ffn_down" + tail, current);
}

/// Which experts a row goes to, and their shares of it.
BlockGraph::Choice BlockGraph::chosen_experts(TensorId input) {
  const HeaderTensor* router = find("ffn_gate_inp.weight");
  const Size rows = graph_.shape(input).middle;
  const std::int64_t all = router->ne[1];
  const TensorId probabilities =
      graph_.op({.width = all, .middle = rows},
                {weight("ffn_gate_inp.weight"), model_.rules->routes_early ? input_ : input});
  TensorId biased = probabilities;
  if (has("exp_probs_b.bias")) {
    biased =
        graph_.op(graph_.shape(probabilities), {probabilities, weight("exp_probs_b.bias")}, true);
  }
  const TensorId order = graph_.op(graph_.shape(probabilities), {biased});
  Choice out;
  out.experts = graph_.view(order, {.width = model_.experts_used, .middle = rows}, true);
  out.shares = graph_.op(
      {.width = 1, .middle = model_.experts_used, .outer = rows},
      {graph_.view(probabilities, {.width = 1, .middle = all, .outer = rows}), out.experts});
  graph_.expand(out.shares);
  return out;
}

/// What the chosen experts make of `input`, before it goes down.
TensorId BlockGraph::inner_experts(TensorId input, TensorId chosen, std::int64_t width) {
  const Shape in = graph_.shape(input);
  const Size rows = model_.rules->weighs_before ? in.outer : in.middle;
  const auto each = [&](Size numbers) {
    return Shape{.width = numbers, .middle = model_.experts_used, .outer = rows};
  };
  const auto product = [&](std::string_view role, std::int64_t numbers) {
    return graph_.op(each(numbers), {weight(role), input, chosen});
  };
  if (const HeaderTensor* merged = find("ffn_gate_up_exps.weight"); merged != nullptr) {
    const TensorId both = product("ffn_gate_up_exps.weight", merged->ne[1]);
    const Shape half = each(merged->ne[1] / 2);
    return graph_.op(half, {graph_.view(both, half, true), graph_.view(both, half, true, false)});
  }
  const bool gated = has("ffn_gate_exps.weight");
  const TensorId gates = gated ? product("ffn_gate_exps.weight", width) : kNone;
  const TensorId ups = product("ffn_up_exps.weight", width);
  return gated ? graph_.op(each(width), {gates, ups}) : ups;
}

/// The sum of what each expert made of a row.
TensorId BlockGraph::summed_experts(TensorId results) {
  const Shape shape = graph_.shape(results);
  const Shape row{.width = shape.width, .middle = shape.outer};
  std::vector<TensorId> parts;
  parts.reserve(static_cast<std::size_t>(model_.experts_used));
  for (std::int64_t i = 0; i < model_.experts_used; ++i) {
    parts.push_back(graph_.view(results, row, true, i == 0));
    graph_.expand(parts.back());
  }
  if (parts.size() == 1) return graph_.op(row, {parts.front()});
  TensorId sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    sum = graph_.op(row, {sum, parts[i]}, true);
    graph_.expand(sum);
  }
  return sum;
}

TensorId BlockGraph::experts(TensorId input) {
  const HeaderTensor* down = find("ffn_down_exps.weight");
  if (down == nullptr || !has("ffn_gate_inp.weight") || model_.experts_used == 0) return kNone;
  const Choice choice = chosen_experts(input);
  const Shape out{
      .width = down->ne[1], .middle = model_.experts_used, .outer = graph_.shape(input).middle};
  TensorId rows = input;
  if (model_.rules->weighs_before) rows = graph_.op(out, {input, choice.shares});
  const TensorId inner = inner_experts(rows, choice.experts, down->ne[0]);
  TensorId results = graph_.op(out, {weight("ffn_down_exps.weight"), inner, choice.experts});
  if (!model_.rules->weighs_before) results = graph_.op(out, {results, choice.shares}, true);
  graph_.expand(results);
  return summed_experts(results);
}

TensorId BlockGraph::feed_forward(TensorId input) {
  const TensorId routed = experts(input);
  if (routed == kNone) return dense("", input);
  TensorId shared = dense("_shexp", input);
  if (shared == kNone) return routed;
  const TensorId gate = linear("ffn_gate_inp_shexp", input);
  if (gate != kNone) shared = graph_.op(graph_.shape(shared), {shared, gate}, true);
  return graph_.op(graph_.shape(routed), {routed, shared}, true);
}

}  // namespace picchio::gguf
