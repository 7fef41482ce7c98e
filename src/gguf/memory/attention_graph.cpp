// Attention: queries, keys and values of heads; what is written to the cache and read from it.
#include "gguf/memory/block_graph.h"

#include <algorithm>
#include <string>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kIndex = 4;  // bytes of a position in the cache

}  // namespace

TensorId BlockGraph::rotated(TensorId heads) {
  if (inputs_.positions == kNone || heads == kNone) return heads;
  if (!model_.rules->turns_full && layer_.attention == Attention::full) return heads;
  return graph_.op(graph_.shape(heads), {heads, inputs_.positions}, true);
}

TensorId BlockGraph::turned(TensorId heads, TensorId rotation) {
  if (heads == kNone || rotation == kNone) return heads;
  return graph_.op(graph_.shape(heads), {rotation, heads});
}

BlockGraph::Heads BlockGraph::split_heads(TensorId input) {
  const TensorId all = linear("attn_qkv", input);
  const Shape query{.width = layer_.key_length, .middle = layer_.heads, .outer = context_.tokens};
  Shape key = query;
  key.middle = layer_.kv_heads;
  Shape value = key;
  value.width = layer_.value_length;
  return {.query = graph_.view(all, query, true, true),
          .key = graph_.view(all, key, true, false),
          .value = graph_.view(all, value, true, false)};
}

BlockGraph::Heads BlockGraph::separate_heads(TensorId input) {
  Heads out;
  const TensorId query = linear("attn_q", input);
  // A layer that reads the cache of another writes none.
  const bool writes = layer_.own_cache || !model_.cached();
  const TensorId key = writes ? linear("attn_k", input) : kNone;
  const TensorId value = writes ? linear("attn_v", input) : kNone;
  const std::int64_t width = layer_.heads * layer_.key_length;
  if (query != kNone && graph_.shape(query).width.value_or_zero() == 2 * width) {
    // Each head's gate stands behind its query.
    const Shape half{.width = layer_.key_length, .middle = layer_.heads, .outer = context_.tokens};
    out.query = graph_.view(query, half, true, true);
    out.gate = graph_.op({.width = width, .middle = context_.tokens},
                         {graph_.view(query, half, true, false)});
  } else if (query != kNone) {
    out.query = heads_of(query, layer_.key_length, layer_.heads);
  }
  if (key != kNone) out.key = heads_of(key, layer_.key_length, layer_.kv_heads);
  if (value != kNone) out.value = heads_of(value, layer_.value_length, layer_.kv_heads);
  if (value == kNone && key != kNone) out.value = out.key;
  return out;
}

TensorId BlockGraph::attention(TensorId input) {
  if (layer_.attention == Attention::none) {
    // deci: blocks without heads have a plain product, or nothing.
    return has("attn_q.weight") ? kNone : linear("attn_output", input);
  }
  if (has("attn_kv_a_mqa.weight")) {
    return model_.mla ? compressed_attention(input) : expanded_attention(input);
  }
  Heads heads = has("attn_qkv.weight") ? split_heads(input) : separate_heads(input);
  if (heads.query == kNone) return kNone;
  heads.query = norm("attn_q_norm", heads.query);
  if (heads.key != kNone) heads.key = norm("attn_k_norm", heads.key);
  heads.query = rotated(heads.query);
  heads.key = rotated(heads.key);
  TensorId out = attend(heads, layer_.value_length);
  if (heads.gate != kNone) out = graph_.op(graph_.shape(out), {out, heads.gate}, true);
  const TensorId gate = has("attn_q.weight") ? linear("attn_gate", input) : kNone;
  if (gate != kNone) out = graph_.op(graph_.shape(out), {out, gate}, true);
  out = norm("attn_sub_norm", out);
  const TensorId product = linear("attn_output", out);
  return product != kNone ? product : out;
}

/// Without a cache: keys and values of this batch only.
TensorId BlockGraph::attend_at_once(const Heads& heads, std::int64_t value_length) {
  for (const TensorId part : {heads.query, heads.key, heads.value}) graph_.expand(part);
  const bool sliding = layer_.attention == Attention::sliding;
  const TensorId mask = inputs_.mask[sliding ? 1 : 0];
  const Shape out{.width = value_length, .middle = layer_.heads, .outer = context_.tokens};
  if (context_.flash_attention) {
    return graph_.op(out, {heads.query, heads.key, heads.value, mask});
  }
  TensorId weights =
      graph_.op({.width = context_.tokens, .middle = context_.tokens, .outer = layer_.heads},
                {heads.key, heads.query});
  weights = graph_.op(graph_.shape(weights), {weights, mask}, true);
  const TensorId value = graph_.op(graph_.shape(heads.value), {heads.value});
  const TensorId summed = graph_.op(out, {value, weights});
  return graph_.op(out, {summed});
}

/// From the cache.
TensorId BlockGraph::scores(TensorId query, TensorId key, TensorId value,
                            std::int64_t value_length) {
  const bool sliding = layer_.attention == Attention::sliding;
  const TensorId mask = mask_ != kNone ? mask_ : inputs_.mask[sliding ? 1 : 0];
  const Shape out{.width = value_length, .middle = layer_.heads, .outer = context_.tokens};
  if (context_.flash_attention) {
    return graph_.op(out, {query, key, value, mask});
  }
  const std::int64_t cells = sliding ? context_.cells_sliding : context_.cells;
  TensorId weights =
      graph_.op({.width = cells, .middle = context_.tokens, .outer = layer_.heads}, {key, query});
  weights = graph_.op(graph_.shape(weights), {weights, mask}, true);
  if (key == value) {
    // Values that are part of the keys do not lie as the product wants them.
    value = graph_.op({.width = Size(value_length) / context_.key_type->block *
                                context_.key_type->block_bytes * cells * context_.streams,
                       .element_bytes = 1},
                      {value});
  }
  const TensorId summed = graph_.op(
      {.width = value_length, .middle = context_.tokens, .outer = layer_.heads}, {value, weights});
  return summed;
}

TensorId BlockGraph::attend(const Heads& heads, std::int64_t value_length) {
  const bool sliding = layer_.attention == Attention::sliding;
  const std::size_t which = sliding ? 1 : 0;
  const Shape flat{.width = Size(value_length) * layer_.heads, .middle = context_.tokens};
  if (!model_.cached()) {
    const TensorId out = attend_at_once(heads, value_length);
    graph_.expand(out);
    return graph_.view(out, flat);
  }
  const TensorId query = turned(heads.query, inputs_.key_rotation[which]);
  const TensorId key = turned(heads.key, inputs_.key_rotation[which]);
  const TensorId value = turned(heads.value, inputs_.value_rotation[which]);
  graph_.expand(query);
  if (model_.sliding && key != kNone) graph_.expand(key);
  if (value != kNone) graph_.expand(value);
  if (key != kNone) graph_.expand(key);
  const TensorId keys = key_cache();
  const TensorId values = value_cache();
  if (key != kNone && layer_.own_cache) {
    graph_.expand(graph_.write(keys, {key, inputs_.key_cells[which]}));
    if (value != kNone) graph_.expand(graph_.write(values, {value, inputs_.value_cells[which]}));
  }
  TensorId out = scores(query, keys, values, value_length);
  if (!context_.flash_attention) {
    out = graph_.op(flat, {out});
    if (!placement_.offload_kv) graph_.set_home(out, graph_.host());
  } else {
    out = graph_.view(out, flat);
  }
  graph_.expand(out);
  return turned(out, inputs_.value_rotation[which]);
}

TensorId BlockGraph::compressed_query(TensorId input) {
  const TensorId low = linear("attn_q_a", input);
  if (low == kNone) return linear("attn_q", input);
  const TensorId even = norm("attn_q_a_norm", low);
  mask_ = chosen_mask(even, input);
  return linear("attn_q_b", even);
}

/// The mask of a sparse layer: what an indexer of its own, smaller keys chooses. kNone for a layer
/// without one.
TensorId BlockGraph::chosen_mask(TensorId low_query, TensorId input) {
  const HeaderTensor* wide = find("indexer.attn_q_b.weight");
  if (wide == nullptr || !has("indexer.attn_k.weight") || inputs_.indexer_mask == kNone) {
    return kNone;
  }
  const Size rows = context_.tokens;
  const std::int64_t length = std::max<std::int64_t>(layer_.indexer_keys, 1);
  const auto shape = [&](std::int64_t width, std::int64_t heads) {
    return Shape{.width = width, .middle = heads, .outer = rows};
  };
  const std::int64_t heads = wide->ne[1] / length;
  const auto mixed = [&](TensorId whole, std::int64_t count) {
    // A part is rotated by position, the parts are joined again, and the whole is turned.
    const TensorId part = rotated(graph_.view(whole, shape(length / 2, count), true));
    const TensorId joined =
        graph_.op(shape(length, count),
                  {part, graph_.view(whole, shape(length - length / 2, count), true, false)});
    return graph_.op(shape(length, count), {inputs_.indexer_rotation, joined});
  };
  const TensorId query = mixed(linear("indexer.attn_q_b", low_query), heads);
  const TensorId key = mixed(norm("indexer.k_norm", linear("indexer.attn_k", input)), 1);
  const TensorId keys = cache(*context_.key_type, layer_.indexer_keys);
  graph_.expand(graph_.write(keys, {key, inputs_.indexer_cells}));
  const TensorId shares = linear("indexer.proj", input);
  const Shape all{.width = context_.cells, .middle = rows};
  TensorId score = graph_.op(all, {query, keys, shares});
  score = graph_.op(all, {score, inputs_.indexer_mask}, true);
  const std::int64_t most = std::min(context_.cells, model_.indexer_top_k);
  const Shape best{.width = most, .middle = rows, .element_bytes = kIndex};
  const TensorId chosen = graph_.op(best, {graph_.op(best, {score})});
  const TensorId mask = inputs_.mask[0];
  const TensorId closed = graph_.op(graph_.shape(mask), {mask}, true);
  const TensorId open = graph_.op({.width = most, .middle = rows}, {graph_.scratch(best)}, true);
  const TensorId opened = graph_.write(closed, {open, chosen});
  return graph_.op(graph_.shape(mask), {graph_.view(opened, graph_.shape(mask)), mask}, true);
}

/// MLA with the cache's keys absorbed into the queries: one compressed key for all heads.
TensorId BlockGraph::compressed_attention(TensorId input) {
  const HeaderTensor* down = find("attn_kv_a_norm.weight");
  const std::int64_t rank = down != nullptr ? down->ne[0] : layer_.key_length;
  const std::int64_t turn = std::max<std::int64_t>(layer_.key_length - rank, 0);
  const TensorId query = compressed_query(input);
  if (query == kNone || layer_.heads == 0) return kNone;
  const std::int64_t width = graph_.shape(query).width.value_or_zero() / layer_.heads;
  const std::int64_t plain = std::max<std::int64_t>(width - turn, 0);
  const auto shape = [&](std::int64_t length, std::int64_t heads) {
    return Shape{.width = length, .middle = heads, .outer = context_.tokens};
  };
  const TensorId mixed = linear("attn_kv_a_mqa", input);
  const TensorId query_turned = rotated(graph_.view(query, shape(turn, layer_.heads), true, false));
  const TensorId key_turned = rotated(graph_.view(mixed, shape(turn, 1), true, false));
  TensorId key =
      norm("attn_kv_a_norm", graph_.view(mixed, {.width = rank, .middle = context_.tokens}, true));
  const TensorId absorbed =
      graph_.op({.width = rank, .middle = context_.tokens, .outer = layer_.heads},
                {weight("attn_k_b.weight"), graph_.view(query, shape(plain, layer_.heads), true)});
  const TensorId full_query =
      graph_.op(shape(layer_.key_length, layer_.heads),
                {graph_.view(absorbed, shape(rank, layer_.heads), true), query_turned});
  key = heads_of(key, rank, 1);
  const TensorId full_key = graph_.op(shape(layer_.key_length, 1), {key, key_turned});
  graph_.expand(full_query);
  graph_.expand(key);
  graph_.expand(full_key);
  const TensorId keys = key_cache();
  const bool sliding = layer_.attention == Attention::sliding;
  graph_.expand(graph_.write(keys, {full_key, inputs_.key_cells[sliding ? 1 : 0]}));
  const TensorId attended = scores(full_query, keys, keys, rank);
  const HeaderTensor* up = find("attn_v_b.weight");
  const std::int64_t value = up != nullptr ? up->ne[1] : rank;
  const TensorId decoded = graph_.op(
      {.width = value, .middle = context_.tokens, .outer = layer_.heads},
      {weight("attn_v_b.weight"), graph_.view(attended, shape(rank, layer_.heads), true)});
  const TensorId out =
      graph_.op({.width = Size(value) * layer_.heads, .middle = context_.tokens}, {decoded});
  graph_.expand(out);
  const TensorId gate = linear("attn_gate", input);
  return linear("attn_output",
                gate == kNone ? out : graph_.op(graph_.shape(out), {out, gate}, true));
}

/// Older files of the same models: keys and values of all heads are made of the compressed ones.
TensorId BlockGraph::expanded_attention(TensorId input) {
  const HeaderTensor* down = find("attn_kv_a_norm.weight");
  const std::int64_t rank = down != nullptr ? down->ne[0] : 0;
  const TensorId query = compressed_query(input);
  if (query == kNone) return kNone;
  const TensorId mixed = linear("attn_kv_a_mqa", input);
  const std::int64_t turn =
      std::max<std::int64_t>(graph_.shape(mixed).width.value_or_zero() - rank, 0);
  const std::int64_t plain = std::max<std::int64_t>(layer_.key_length - turn, 0);
  const auto shape = [&](std::int64_t length, std::int64_t heads) {
    return Shape{.width = length, .middle = heads, .outer = context_.tokens};
  };
  const TensorId query_turned = rotated(graph_.view(query, shape(turn, layer_.heads), true, false));
  const TensorId key_turned = rotated(graph_.view(mixed, shape(turn, 1), true, false));
  const TensorId low =
      norm("attn_kv_a_norm", graph_.view(mixed, {.width = rank, .middle = context_.tokens}, true));
  const TensorId both = linear("attn_kv_b", low);
  if (both == kNone) return kNone;
  Heads heads;
  heads.value =
      graph_.op(shape(layer_.value_length, layer_.heads),
                {graph_.view(both, shape(layer_.value_length, layer_.heads), true, false)});
  heads.query = graph_.op(shape(layer_.key_length, layer_.heads),
                          {graph_.view(query, shape(plain, layer_.heads), true), query_turned});
  const TensorId repeated = graph_.op(shape(turn, layer_.heads), {key_turned, query_turned});
  heads.key = graph_.op(shape(layer_.key_length, layer_.heads),
                        {graph_.view(both, shape(plain, layer_.heads), true), repeated});
  return linear("attn_output", attend(heads, layer_.value_length));
}

}  // namespace picchio::gguf
