// The feed-forward part of a block: dense, or of experts.
#include "gguf/memory/block_graph.h"

#include <string>

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
  } else if (graph_.shape(up).width.value_or_zero() == 2 * down->ne[0]) {
    current = graph_.op(inner, {up});  // both in one
  }
  return linear("ffn_down" + tail, current);
}

TensorId BlockGraph::experts(TensorId input) {
  const HeaderTensor* router = find("ffn_gate_inp.weight");
  const HeaderTensor* down = find("ffn_down_exps.weight");
  if (router == nullptr || down == nullptr) return kNone;
  const Size rows = graph_.shape(input).middle;
  const std::int64_t all = router->ne[1];
  const std::int64_t used = model_.experts_used;
  const auto each = [&](Size width) {
    return Shape{.width = width, .middle = used, .outer = rows};
  };
  const TensorId probabilities =
      graph_.op({.width = all, .middle = rows}, {weight("ffn_gate_inp.weight"), model_.rules->routes_early ? input_ : input});
  TensorId choice = probabilities;
  if (has("exp_probs_b.bias")) {
    choice = graph_.op(graph_.shape(probabilities), {probabilities, weight("exp_probs_b.bias")},
                       true);
  }
  const TensorId order = graph_.op(graph_.shape(probabilities), {choice});
  const TensorId chosen = graph_.view(order, {.width = used, .middle = rows}, true);
  const TensorId shares = graph_.op(
      each(1), {graph_.view(probabilities, {.width = 1, .middle = all, .outer = rows}), chosen});
  graph_.expand(shares);
  TensorId current = kNone;
  const HeaderTensor* merged = find("ffn_gate_up_exps.weight");
  if (merged != nullptr) {
    const TensorId both =
        graph_.op(each(merged->ne[1]), {weight("ffn_gate_up_exps.weight"), input, chosen});
    const Shape half = each(merged->ne[1] / 2);
    current = graph_.op(half, {graph_.view(both, half, true), graph_.view(both, half, true, false)});
  } else {
    const HeaderTensor* gate = find("ffn_gate_exps.weight");
    const TensorId gates = gate == nullptr ? kNone
                                           : graph_.op(each(gate->ne[1]),
                                                       {weight("ffn_gate_exps.weight"), input, chosen});
    const TensorId ups =
        graph_.op(each(down->ne[0]), {weight("ffn_up_exps.weight"), input, chosen});
    current = gates == kNone ? ups : graph_.op(each(down->ne[0]), {gates, ups});
  }
  TensorId results =
      graph_.op(each(down->ne[1]), {weight("ffn_down_exps.weight"), current, chosen});
  results = graph_.op(graph_.shape(results), {results, shares}, true);
  graph_.expand(results);
  const Shape one{.width = down->ne[1], .middle = rows};
  TensorId sum = kNone;
  std::vector<TensorId> parts;
  for (std::int64_t i = 0; i < used; ++i) {
    parts.push_back(graph_.view(results, one, true, i == 0));
    graph_.expand(parts.back());
  }
  for (const TensorId part : parts) {
    if (sum == kNone && used > 1) {
      sum = part;
      continue;
    }
    sum = sum == kNone ? graph_.op(one, {part}) : graph_.op(one, {sum, part}, true);
    graph_.expand(sum);
  }
  return sum;
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
