// Blocks that keep a state of constant size: a convolution over the last tokens, and a scan.
#include "gguf/memory/block_graph.h"

#include <string>

namespace picchio::gguf {

/// States of sequences that begin are cleared in their cache first: so early in the order that the
/// block before may not be done yet.
TensorId BlockGraph::cleared_states(std::int64_t numbers) {
  const TensorId states = state_cache(numbers);
  graph_.expand(graph_.write(states, {}));
  return states;
}

/// The state of every sequence, read from the cache.
TensorId BlockGraph::held_state(std::int64_t numbers) {
  const TensorId states = cleared_states(numbers);
  const TensorId held =
      graph_.op({.width = numbers, .middle = context_.sequences}, {states, inputs_.state_rows});
  graph_.expand(held);
  return held;
}

/// Stores what a result holds of the state.
void BlockGraph::keep_state(TensorId from, std::int64_t numbers) {
  const TensorId part =
      graph_.view(from, {.width = numbers, .middle = context_.sequences}, true, false);
  graph_.expand(graph_.write(state_cache(numbers), {part}));
}

/// The convolution over `channels` of `input`, which `state` goes before.
TensorId BlockGraph::convolved(TensorId state, TensorId input, std::int64_t channels,
                               std::int64_t state_numbers, std::string_view kernel) {
  const Size rows = context_.tokens;
  const Size whole = Size(channels) * rows + Size(state_numbers) * context_.sequences;
  const TensorId joined = graph_.op({.width = whole}, {state, input});
  keep_state(joined, state_numbers);
  return graph_.op({.width = channels, .middle = rows}, {joined, weight(kernel)});
}

/// A scan's result: a row for each token, and the new state behind them.
TensorId BlockGraph::scanned(std::int64_t width, std::initializer_list<TensorId> sources) {
  const Size whole = Size(width) * context_.tokens + Size(layer_.inner_state) * context_.sequences;
  const TensorId out = graph_.op({.width = whole}, sources);
  keep_state(out, layer_.inner_state);
  return out;
}

TensorId BlockGraph::recurrent(TensorId input) {
  switch (model_.rules->recurrence) {
    case Recurrence::none:
    case Recurrence::lightning:
      return lightning(input);
    case Recurrence::mamba:
      return mamba(input);
    case Recurrence::mamba2:
      return mamba2(input);
    case Recurrence::delta:
      return gated_delta(input);
    case Recurrence::short_conv:
      return short_convolution(input);
    case Recurrence::kda:
      return key_delta(input);
    case Recurrence::rwkv:
      return time_mix(input);
  }
  return input;
}

TensorId BlockGraph::mamba(TensorId input) {
  const HeaderTensor* step = find("ssm_dt.weight");
  const HeaderTensor* out = find("ssm_out.weight");
  if (step == nullptr || out == nullptr) return input;
  const std::int64_t inner = out->ne[0];
  const Shape row{.width = inner, .middle = context_.tokens};
  const TensorId state = held_state(layer_.conv_state);
  const TensorId both = linear("ssm_in", input);
  if (both == kNone) return input;
  const TensorId x =
      convolved(state, graph_.view(both, row, true), inner, layer_.conv_state, "ssm_conv1d.weight");
  const TensorId parameters = linear("ssm_x", x);
  if (parameters == kNone) return input;
  TensorId rank = graph_.view(parameters, {.width = step->ne[0], .middle = context_.tokens}, true);
  rank = norm("ssm_dt_norm", rank);
  const TensorId seen = graph_.view(x, {.width = 1, .middle = inner, .outer = context_.tokens});
  const TensorId steps = linear("ssm_dt", rank);
  const TensorId scan =
      scanned(inner, {cleared_states(layer_.inner_state), seen, steps, weight("ssm_a"),
                      graph_.view(parameters, row, true, false), inputs_.state_rows});
  const TensorId gate = graph_.op(row, {graph_.view(both, row, true, false)});
  const TensorId kept = graph_.op(row, {x, weight("ssm_d")}, true);
  const TensorId sum = graph_.op(row, {graph_.view(scan, row), kept}, true);
  return linear("ssm_out", graph_.op(row, {gate, sum}));
}

TensorId BlockGraph::mamba2(TensorId input) {
  const HeaderTensor* out = find("ssm_out.weight");
  const HeaderTensor* kernel = find("ssm_conv1d.weight");
  const HeaderTensor* steps_bias = find("ssm_dt.bias");
  if (out == nullptr || kernel == nullptr) return input;
  const std::int64_t inner = out->ne[0];
  const std::int64_t channels = kernel->ne[1];
  const std::int64_t heads = steps_bias != nullptr ? steps_bias->ne[0] : 1;
  const Shape row{.width = inner, .middle = context_.tokens};
  const TensorId state = held_state(layer_.conv_state);
  const TensorId all = linear("ssm_in", input);
  if (all == kNone) return input;
  const TensorId mixed = convolved(
      state, graph_.view(all, {.width = channels, .middle = context_.tokens}, true, false),
      channels, layer_.conv_state, "ssm_conv1d.weight");
  const Shape steps_row{.width = heads, .middle = context_.tokens};
  const TensorId seen = graph_.view(mixed, row, true);
  const TensorId steps = graph_.op(steps_row, {graph_.view(all, steps_row, true, false)});
  const TensorId scan =
      scanned(inner, {cleared_states(layer_.inner_state), seen, steps, weight("ssm_a"),
                      graph_.view(mixed, row, true, false), inputs_.state_rows});
  const TensorId gate = graph_.op(row, {graph_.view(all, row, true)});
  const TensorId kept = graph_.op(row, {seen, weight("ssm_d")}, true);
  const TensorId sum = graph_.op(row, {graph_.view(scan, row), kept}, true);
  TensorId result = graph_.op(row, {gate, sum});
  if (has("ssm_norm.weight")) result = norm("ssm_norm", graph_.view(result, row));
  return linear("ssm_out", result);
}

/// The gated delta rule's scan over queries, keys and values; its result's rows normalised and
/// gated.
TensorId BlockGraph::delta_scan(const Heads& heads, TensorId decay, TensorId share,
                                std::int64_t width) {
  const TensorId state = held_state(layer_.inner_state);
  const Shape row{.width = width, .middle = context_.tokens};
  const TensorId scan = scanned(width, {heads.query, heads.key, heads.value, decay, share, state});
  return norm("ssm_norm", graph_.view(scan, row, true));
}

TensorId BlockGraph::gated_delta(TensorId input) {
  const HeaderTensor* out = find("ssm_out.weight");
  const HeaderTensor* kernel = find("ssm_conv1d.weight");
  if (out == nullptr || kernel == nullptr) return input;
  graph_.expand(input);
  const std::int64_t inner = out->ne[0];
  const std::int64_t channels = kernel->ne[1];
  const Size keys = Size(channels).less(inner) / 2;
  const Shape row{.width = inner, .middle = context_.tokens};
  const TensorId mixed = linear("attn_qkv", input);
  const TensorId gate = linear("attn_gate", input);
  const TensorId share = linear("ssm_beta", input);
  const TensorId decay = linear("ssm_alpha", input);
  if (mixed == kNone) return input;
  const TensorId all = convolved(held_state(layer_.conv_state), mixed, channels, layer_.conv_state,
                                 "ssm_conv1d.weight");
  const Shape key_row{.width = keys, .middle = context_.tokens};
  Heads heads;
  heads.query = graph_.op(key_row, {graph_.view(all, key_row, true)});
  heads.key = graph_.op(key_row, {graph_.view(all, key_row, true, false)});
  heads.value = graph_.view(all, row, true, false);
  const TensorId even = delta_scan(heads, decay, share, inner);
  if (gate == kNone) return linear("ssm_out", even);
  const TensorId open = graph_.op(row, {graph_.view(gate, row)});
  return linear("ssm_out", graph_.op(row, {even, open}, true));
}

TensorId BlockGraph::key_delta(TensorId input) {
  const HeaderTensor* query = find("attn_q.weight");
  if (query == nullptr || !has("attn_k.weight") || !has("attn_v.weight")) return input;
  const std::int64_t width = query->ne[1];
  const Shape row{.width = width, .middle = context_.tokens};
  const TensorId state = held_state(layer_.conv_state);
  const auto part = [&](std::string_view role, std::string_view kernel) {
    return convolved(graph_.view(state, {.width = layer_.conv_state / 3}, true),
                     linear(role, input), width, layer_.conv_state / 3, kernel);
  };
  const TensorId queries = part("attn_q", "ssm_conv1d_q.weight");
  const TensorId keys = part("attn_k", "ssm_conv1d_k.weight");
  const TensorId values = part("attn_v", "ssm_conv1d_v.weight");
  const TensorId narrow = linear("ssm_f_a", input);
  const TensorId decay = narrow != kNone ? linear("ssm_f_b", narrow) : kNone;
  const TensorId share = linear("ssm_beta", input);
  Heads heads;
  heads.query = graph_.op(row, {graph_.view(queries, row)});
  heads.key = graph_.op(row, {graph_.view(keys, row)});
  heads.value = graph_.view(values, row);
  const TensorId even = delta_scan(heads, decay, share, width);
  const TensorId gate_low = linear("ssm_g_a", input);
  const TensorId gate =
      gate_low != kNone ? linear("ssm_g_b", gate_low) : linear("attn_gate", input);
  if (gate == kNone) return linear("attn_output", even);
  return linear("attn_output", graph_.op(row, {even, gate}, true));
}

TensorId BlockGraph::short_convolution(TensorId input) {
  const TensorId state = held_state(layer_.conv_state);
  const TensorId all = linear("shortconv.in_proj", input);
  if (all == kNone) return input;
  const Shape row{.width = model_.embedding, .middle = context_.tokens};
  const TensorId product =
      graph_.op(row, {graph_.view(all, row, true), graph_.view(all, row, true, false)});
  const TensorId out = convolved(state, graph_.view(product, row, true), model_.embedding,
                                 layer_.conv_state, "shortconv.conv.weight");
  return linear("shortconv.out_proj",
                graph_.op(row, {graph_.view(all, row, true, false), out}, true));
}

/// minimax-01: attention whose sums are kept as a state.
TensorId BlockGraph::lightning(TensorId input) {
  const HeaderTensor* out = find("attn_output.weight");
  const TensorId all = linear("attn_qkv", input);
  if (out == nullptr || all == kNone) return input;
  const Shape row{.width = out->ne[0], .middle = context_.tokens};
  const TensorId open = graph_.op(graph_.shape(all), {all}, true);
  const TensorId state = held_state(layer_.inner_state);
  const TensorId scan = scanned(out->ne[0], {open, state});
  const TensorId even = norm("attn_norm_2", graph_.view(scan, row, true));
  const TensorId gate = linear("attn_gate", input);
  return linear("attn_output", gate == kNone ? even : graph_.op(row, {even, gate}, true));
}

/// The tokens before: the state's, then the batch's own.
TensorId BlockGraph::shifted(TensorId input, TensorId state) {
  return graph_.op(graph_.shape(input), {graph_.view(state, {.width = model_.embedding}, true),
                                         graph_.view(input, graph_.shape(input), true)});
}

TensorId BlockGraph::time_mix(TensorId input) {
  const Shape row{.width = model_.embedding, .middle = context_.tokens};
  const TensorId state = held_state(layer_.conv_state);
  const TensorId moved = graph_.op(row, {shifted(input, state), input}, true);
  const TensorId seen = graph_.view(moved, row);
  TensorId blend = graph_.op(row, {seen, weight("time_mix_lerp_x.weight")});
  blend = graph_.op(row, {blend, graph_.view(input, row)}, true);
  const TensorId low = linear("time_mix_w1", blend);
  if (low == kNone) return input;
  const Shape five{.width = model_.embedding, .middle = context_.tokens, .outer = 5};
  const TensorId turned_low = graph_.op(graph_.shape(low), {graph_.view(low, graph_.shape(low))});
  TensorId mixed = graph_.op(five, {weight("time_mix_w2.weight"), turned_low});
  mixed = graph_.op(five, {mixed, seen}, true);
  const auto part = [&](std::string_view role) {
    return linear(role, graph_.view(mixed, row, true, false));
  };
  const TensorId keys = part("time_mix_key");
  const TensorId values = part("time_mix_value");
  const TensorId receptance = part("time_mix_receptance");
  const TensorId gate = part("time_mix_gate");
  const TensorId decay_low = part("time_mix_decay_w1");
  const TensorId decay = decay_low != kNone ? linear("time_mix_decay_w2", decay_low) : kNone;
  const TensorId scan =
      scanned(model_.embedding, {keys, values, receptance, decay, held_state(layer_.inner_state)});
  TensorId out = graph_.op(row, {graph_.view(scan, row, true)});
  out = graph_.op(row, {graph_.view(out, row)});
  if (gate != kNone) out = graph_.op(row, {out, gate}, true);
  return linear("time_mix_output", out);
}

TensorId BlockGraph::channel_mix(TensorId input) {
  const TensorId state = held_state(layer_.conv_state);
  const Shape row = graph_.shape(input);
  const TensorId moved = graph_.op(row, {shifted(input, state), input}, true);
  TensorId key = graph_.op(row, {moved, weight("channel_mix_lerp_k.weight")});
  key = graph_.op(row, {key, input}, true);
  TensorId receptance = graph_.op(row, {moved, weight("channel_mix_lerp_r.weight")});
  receptance = graph_.op(row, {receptance, input}, true);
  const TensorId open = linear("channel_mix_receptance", receptance);
  const TensorId wide = linear("channel_mix_key", key);
  if (wide == kNone) return input;
  const TensorId value = linear("channel_mix_value", wide);
  if (open == kNone || value == kNone) return value == kNone ? input : value;
  return graph_.op(row, {open, value}, true);
}

}  // namespace picchio::gguf
