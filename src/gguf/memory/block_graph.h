// What the parts of a model's graph share: its inputs, and the building of one block.
#pragma once

#include "gguf/memory/context.h"
#include "gguf/memory/graph.h"
#include "gguf/memory/layers.h"
#include "gguf/memory/placement.h"

#include <initializer_list>
#include <string_view>

namespace picchio::gguf {

/// What is set before the graph is computed.
struct GraphInputs {
  TensorId positions = kNone;
  TensorId output_rows = kNone;
  TensorId state_rows = kNone;
  // Of the cache of full layers, then of the one of sliding layers.
  TensorId mask[2] = {kNone, kNone};
  TensorId key_cells[2] = {kNone, kNone};
  TensorId value_cells[2] = {kNone, kNone};
  TensorId key_rotation[2] = {kNone, kNone};
  TensorId value_rotation[2] = {kNone, kNone};
  // Of a sparse indexer.
  TensorId indexer_mask = kNone;
  TensorId indexer_cells = kNone;
  TensorId indexer_rotation = kNone;
  TensorId per_layer = kNone;  // gemma3n: an embedding of each token for each layer
};

/// The length of each row.
[[nodiscard]] TensorId row_magnitude(Graph& graph, TensorId rows);

class BlockGraph {
 public:
  BlockGraph(const ModelLayers& model, const Context& context, const Placed& where,
             const Placement& placement, Graph& graph, const GraphInputs& inputs, std::size_t index)
      : model_(model),
        context_(context),
        where_(where),
        placement_(placement),
        graph_(graph),
        inputs_(inputs),
        index_(index),
        layer_(model.layers[index]) {}

  /// The block's result, of what goes into it. The last block computes the rows that are put out
  /// and no others.
  TensorId build(TensorId input);

 private:
  [[nodiscard]] const HeaderTensor* find(std::string_view role) const;
  [[nodiscard]] bool has(std::string_view role) const { return find(role) != nullptr; }
  [[nodiscard]] bool has_ffn_norm() const { return has("ffn_norm.weight") || has("ffn_norm"); }
  [[nodiscard]] BackendId backend(std::size_t device) const {
    return device == kHost ? graph_.host() : static_cast<BackendId>(device);
  }
  [[nodiscard]] BackendId cache_home() const {
    return placement_.offload_kv ? backend(where_.layers[index_]) : graph_.host();
  }
  [[nodiscard]] bool last() const { return index_ + 1 == model_.layers.size(); }

  [[nodiscard]] TensorId cache(const TensorType& type, Size numbers) {
    const std::int64_t cells =
        layer_.attention == Attention::sliding ? context_.cells_sliding : context_.cells;
    return graph_.cache(cache_home(),
                        numbers / type.block * type.block_bytes * cells * context_.streams);
  }
  [[nodiscard]] TensorId key_cache() {
    return cache(*context_.key_type, Size(layer_.key_length) * layer_.kv_heads);
  }
  [[nodiscard]] TensorId value_cache() {
    return cache(*context_.value_type, Size(layer_.value_length) * layer_.kv_heads);
  }
  [[nodiscard]] TensorId state_cache(std::int64_t numbers) {
    return graph_.cache(cache_home(), Size(numbers) * context_.sequences * 4);
  }

  TensorId weight(std::string_view role);
  /// Of `input`'s rows; kNone where the block has no such weight.
  TensorId linear(std::string_view role, TensorId input);
  /// `role` without ".weight"; the input itself where the block has no such norm.
  TensorId norm(std::string_view role, TensorId input);
  TensorId heads_of(TensorId numbers, std::int64_t length, std::int64_t heads);
  TensorId put_out(TensorId rows);
  TensorId with_layer_embedding(TensorId rows);
  TensorId sum(TensorId a, TensorId b);
  TensorId mixed(TensorId input, TensorId normed);
  TensorId fed_forward(TensorId residual, bool normed_before);

  // attention_graph.cpp
  struct Heads {
    TensorId query = kNone;
    TensorId key = kNone;
    TensorId value = kNone;
    TensorId gate = kNone;
  };
  TensorId attention(TensorId input);
  Heads split_heads(TensorId input);
  Heads separate_heads(TensorId input);
  TensorId rotated(TensorId heads);
  TensorId turned(TensorId heads, TensorId rotation);
  TensorId attend(const Heads& heads, std::int64_t value_length);
  TensorId attend_at_once(const Heads& heads, std::int64_t value_length);
  TensorId scores(TensorId query, TensorId key, TensorId value, std::int64_t value_length);
  TensorId compressed_attention(TensorId input);
  TensorId expanded_attention(TensorId input);
  TensorId compressed_query(TensorId input);
  TensorId chosen_mask(TensorId low_query, TensorId input);

  // feed_forward_graph.cpp
  TensorId feed_forward(TensorId input);
  TensorId dense(std::string_view suffix, TensorId input);
  struct Choice {
    TensorId experts = kNone;
    TensorId shares = kNone;
  };
  TensorId experts(TensorId input);
  Choice chosen_experts(TensorId input);
  TensorId inner_experts(TensorId input, TensorId chosen, std::int64_t width);
  TensorId summed_experts(TensorId results);

  // altup_graph.cpp
  TensorId routed(TensorId row);
  TensorId predicted(TensorId all);
  TensorId sparse_feed_forward(TensorId input);
  TensorId build_altup(TensorId all);

  // recurrent_graph.cpp
  TensorId recurrent(TensorId input);
  TensorId cleared_states(std::int64_t numbers);
  TensorId held_state(std::int64_t numbers);
  void keep_state(TensorId from, std::int64_t numbers);
  TensorId convolved(TensorId state, TensorId input, std::int64_t channels,
                     std::int64_t state_numbers, std::string_view kernel);
  TensorId scanned(std::int64_t width, std::initializer_list<TensorId> sources);
  TensorId mamba(TensorId input);
  TensorId mamba2(TensorId input);
  TensorId delta_scan(const Heads& heads, TensorId decay, TensorId share, std::int64_t width);
  TensorId gated_delta(TensorId input);
  TensorId key_delta(TensorId input);
  TensorId short_convolution(TensorId input);
  TensorId lightning(TensorId input);
  TensorId shifted(TensorId input, TensorId state);
  TensorId time_mix(TensorId input);
  TensorId channel_mix(TensorId input);

  const ModelLayers& model_;
  const Context& context_;
  const Placed& where_;
  const Placement& placement_;
  Graph& graph_;
  const GraphInputs& inputs_;
  std::size_t index_;
  const Layer& layer_;
  TensorId input_ = kNone;  // of the block
  TensorId mask_ = kNone;   // a sparse layer's own
};

}  // namespace picchio::gguf
