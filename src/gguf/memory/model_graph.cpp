#include "gguf/memory/model_graph.h"

#include "gguf/memory/block_graph.h"
#include "gguf/token_use.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kIndexBytes = 8;
constexpr std::int64_t kHalf = 2;
// Heads of a multiple of it are turned before they are quantized.
constexpr std::int64_t kRotation = 64;
constexpr std::int64_t kLargestRotation = 4096;

class Builder {
 public:
  Builder(const ModelLayers& model, const Context& context, const Placed& where,
          const Placement& placement)
      : model_(model),
        context_(context),
        where_(where),
        placement_(placement),
        graph_(static_cast<BackendId>(placement.devices.size())) {}

  Graph build() {
    make_inputs();
    TensorId current = embedded();
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      BlockGraph block(model_, context_, where_, placement_, graph_, inputs_, i);
      current = block.build(current);
    }
    put_out(current);
    return std::move(graph_);
  }

 private:
  [[nodiscard]] const HeaderTensor* find(std::string_view name) const {
    const auto found = model_.others.find(name);
    return found != model_.others.end() ? found->second : nullptr;
  }
  [[nodiscard]] BackendId backend(std::size_t device) const {
    return device == kHost ? graph_.host() : static_cast<BackendId>(device);
  }
  TensorId weight(const HeaderTensor& tensor) {
    const std::size_t device = device_of(tensor, where_, placement_);
    return graph_.weight(tensor, backend(device), is_offloadable(tensor, placement_));
  }
  [[nodiscard]] bool head_is_offloadable(const HeaderTensor& head) const {
    HeaderTensor plain = head;
    plain.name = "output.weight";  // a tied head is the embedding's name only
    return is_offloadable(plain, placement_);
  }
  TensorId norm(const std::string& name, TensorId input, bool in_place) {
    const HeaderTensor* tensor = find(name + ".weight");
    if (tensor == nullptr) return input;
    const TensorId even = graph_.op(graph_.shape(input), {input}, in_place);
    return graph_.op(graph_.shape(input), {even, weight(*tensor)}, true);
  }
  [[nodiscard]] bool alibi() const {
    for (const std::string_view name : {"bloom", "mpt", "jais", "refact"}) {
      if (model_.architecture == name) return true;
    }
    return false;
  }

  TensorId embedded();
  void make_layer_embeddings(TensorId current);
  TensorId stacked(TensorId current);
  TensorId merged(TensorId current);
  void hold_ready(TensorId tokens_rows);
  [[nodiscard]] Size reserved() const;
  TensorId rotation(const TensorType& type, std::int64_t Layer::* length, bool largest);
  void make_inputs();
  void make_cache_inputs(std::size_t which, std::int64_t cells);
  void put_out(TensorId current);

  const ModelLayers& model_;
  const Context& context_;
  const Placed& where_;
  const Placement& placement_;
  Graph graph_;
  GraphInputs inputs_;
};

TensorId Builder::embedded() {
  const Shape row{.width = model_.embedding, .middle = context_.tokens};
  const TensorId tokens = graph_.input({.width = context_.tokens});
  const HeaderTensor* table = find("token_embd.weight");
  const TensorId rows = graph_.op(row, {table != nullptr ? weight(*table) : kNone, tokens});
  graph_.expand(rows);
  TensorId current = rows;
  const bool normed = find("token_embd_norm.weight") != nullptr;
  if (!normed) hold_ready(rows);
  const HeaderTensor* positions = find("position_embd.weight");
  if (positions != nullptr) {
    const TensorId placed = graph_.op(row, {weight(*positions), inputs_.positions});
    current = graph_.op(row, {current, placed}, true);
    inputs_.positions = kNone;  // no other use of it
  }
  current = norm("token_embd_norm", current, true);
  graph_.expand(current);
  if (normed) hold_ready(rows);
  make_layer_embeddings(current);
  return stacked(current);
}

/// gemma3n and gemma4: an embedding of each token for each layer.
void Builder::make_layer_embeddings(TensorId current) {
  const HeaderTensor* table = find("per_layer_token_embd.weight");
  const HeaderTensor* projection = find("per_layer_model_proj.weight");
  if (table == nullptr || projection == nullptr) return;
  const Shape wide{.width = table->ne[0], .middle = context_.tokens};
  const TensorId tokens = graph_.input({.width = context_.tokens});
  const TensorId found = graph_.op(wide, {weight(*table), tokens});
  // gemma3n scales them in another shape, for which it takes new memory.
  const bool apart = find("altup_proj.weight") != nullptr;
  const TensorId selected = apart ? graph_.op(wide, {graph_.view(found, wide)}) : found;
  graph_.expand(selected);
  const TensorId projected = graph_.op(wide, {weight(*projection), current});
  TensorId mixed = graph_.op(wide, {graph_.view(projected, wide)});
  mixed = graph_.op(wide, {mixed, selected}, true);
  inputs_.per_layer = graph_.op(wide, {graph_.view(mixed, wide, true)});
}

/// gemma3n: the predictions that blocks work on, made of the one embedding.
TensorId Builder::stacked(TensorId current) {
  const HeaderTensor* more = find("altup_proj.weight");
  if (more == nullptr) return current;
  const Shape row = graph_.shape(current);
  const TensorId magnitude = row_magnitude(graph_, current);
  const Shape others{.width = row.width, .middle = row.middle, .outer = more->ne[2]};
  const TensorId added = graph_.op(others, {weight(*more), graph_.op(others, {current})});
  const TensorId scaled = graph_.op(
      others, {graph_.op(others, {added, magnitude}, true), row_magnitude(graph_, added)}, true);
  const Shape all{.width = row.width, .middle = row.middle, .outer = Size(more->ne[2]) + 1};
  return graph_.op(all, {current, scaled});
}

/// The predictions made one again.
TensorId Builder::merged(TensorId current) {
  const HeaderTensor* back = find("altup_unembd_proj.weight");
  if (back == nullptr) return current;
  const Shape row{.width = model_.embedding, .middle = context_.tokens};
  const Shape others{.width = row.width, .middle = row.middle, .outer = back->ne[2]};
  const TensorId magnitude = row_magnitude(graph_, graph_.view(current, row));
  const TensorId projected =
      graph_.op(others, {weight(*back), graph_.view(current, others, true, false)});
  const TensorId scaled = graph_.op(
      others, {graph_.op(others, {projected, magnitude}, true), row_magnitude(graph_, projected)},
      true);
  const TensorId sum = graph_.op(row, {graph_.view(current, row), graph_.view(scaled, row, true)});
  Shape out = row;
  out.middle = context_.outputs;
  return graph_.op(out, {sum, inputs_.output_rows});
}

/// Numbers a token that are held back for what of an architecture the graph does not follow.
Size Builder::reserved() const {
  const Reserve& reserve = model_.rules->reserve;
  Size indexer = 0;
  Size heads = 0;
  for (const Layer& layer : model_.layers) {
    indexer = Size::larger(indexer, layer.indexer_keys);
    heads = Size::larger(heads, layer.heads);
  }
  return Size(reserve.embeddings) * model_.embedding + Size(reserve.cells) * context_.cells +
         Size(reserve.head_cells) * heads * context_.cells +
         Size(reserve.indexers) * model_.indexer_heads * indexer;
}

// Besides tokens the engine holds ready what else may come in: rows of embeddings, alone and among
// tokens. Nobody reads the result, which therefore stays. Inferred from the buffers of llama.cpp
// 0.7.0, to the byte: three inputs of a row, the last of them behind all other inputs, one result,
// three numbers a token.
void Builder::hold_ready(TensorId tokens_rows) {
  const Shape row = graph_.shape(tokens_rows);
  graph_.expand(graph_.input(row));
  graph_.expand(graph_.input({.width = context_.tokens, .middle = 2}));
  const TensorId mask = graph_.input({.width = context_.tokens});
  const TensorId alone = graph_.input(row);
  graph_.expand(mask);
  graph_.expand(alone);
  for (const TensorId input :
       {inputs_.positions, inputs_.key_rotation[0], inputs_.value_rotation[0],
        inputs_.key_rotation[1], inputs_.value_rotation[1], inputs_.key_cells[0],
        inputs_.key_cells[1], inputs_.value_cells[0], inputs_.value_cells[1], inputs_.mask[0],
        inputs_.mask[1], inputs_.indexer_mask, inputs_.indexer_cells, inputs_.indexer_rotation,
        inputs_.state_rows, inputs_.output_rows}) {
    if (input != kNone) graph_.expand(input);
  }
  graph_.expand(graph_.op(row, {tokens_rows, alone, graph_.input(row), mask}));
  const Size reserve = reserved();
  if (reserve.value_or_zero() > 0) {
    graph_.expand(graph_.op({.width = reserve, .middle = context_.tokens}, {tokens_rows}));
  }
}

void Builder::make_cache_inputs(std::size_t which, std::int64_t cells) {
  const std::int64_t element = context_.flash_attention ? kHalf : 4;
  if (!model_.cached()) {
    inputs_.mask[which] = graph_.input(
        {.width = context_.tokens, .middle = context_.tokens, .element_bytes = element});
    return;
  }
  inputs_.mask[which] =
      graph_.input({.width = cells, .middle = context_.tokens, .element_bytes = element});
  inputs_.key_cells[which] = graph_.input({.width = context_.tokens, .element_bytes = kIndexBytes});
  Size values = context_.tokens;
  if (!context_.flash_attention) {
    std::int64_t widest = 0;
    for (const Layer& layer : model_.layers) {
      if (layer.own_cache) widest = std::max(widest, layer.value_length * layer.kv_heads);
    }
    values *= widest;
  }
  if (!model_.mla && model_.rules->extra != ExtraCache::compressed) {
    inputs_.value_cells[which] = graph_.input({.width = values, .element_bytes = kIndexBytes});
  }
  inputs_.key_rotation[which] = rotation(*context_.key_type, &Layer::key_length, true);
  inputs_.value_rotation[which] = rotation(*context_.value_type, &Layer::value_length, false);
}

/// The matrix that heads are turned with before they are quantized; kNone for none. Keys take the
/// largest power of two that divides a head, values the smallest.
TensorId Builder::rotation(const TensorType& type, std::int64_t Layer::* length, bool largest) {
  std::int64_t size = kRotation;
  const auto divides = [&](std::int64_t by) {
    return std::ranges::all_of(model_.layers,
                               [&](const Layer& layer) { return layer.*length % by == 0; });
  };
  if (type.block == 1 || model_.mla || !divides(size)) return kNone;
  while (largest && size < kLargestRotation && divides(size * 2)) size *= 2;
  return graph_.input({.width = size, .middle = size});
}

void Builder::make_inputs() {
  if (!alibi()) inputs_.positions = graph_.input({.width = context_.tokens});
  inputs_.output_rows = graph_.input({.width = context_.outputs});
  if (model_.rules->recurrence != Recurrence::none) {
    inputs_.state_rows = graph_.input({.width = context_.sequences});
  }
  if (!model_.rules->attends) return;
  make_cache_inputs(0, context_.cells);
  if (model_.rules->extra == ExtraCache::indexer) {
    inputs_.indexer_mask =
        graph_.input({.width = context_.cells, .middle = context_.tokens, .element_bytes = kHalf});
    inputs_.indexer_cells = graph_.input({.width = context_.tokens, .element_bytes = kIndexBytes});
    std::int64_t width = 0;
    for (const Layer& layer : model_.layers) width = std::max(width, layer.indexer_keys);
    inputs_.indexer_rotation = graph_.input({.width = width, .middle = width});
  }
  if (model_.sliding) make_cache_inputs(1, context_.cells_sliding);
}

void Builder::put_out(TensorId current) {
  // With a bias it is a layer norm, which does not work in place.
  current = norm("output_norm", merged(current), find("output_norm.bias") == nullptr);
  graph_.set_output(current);
  const HeaderTensor* head = find("output.weight");
  if (head == nullptr && model_.tied_output) head = find("token_embd.weight");
  if (head != nullptr) {
    const std::size_t device = device_of_head(*head, where_, placement_);
    const TensorId logits =
        graph_.op({.width = head->ne[1], .middle = context_.outputs},
                  {graph_.weight(*head, backend(device), head_is_offloadable(*head)), current});
    graph_.set_output(logits);
    current = logits;
  }
  graph_.expand(current);
}

}  // namespace

Graph model_graph(const ModelLayers& model, const Context& context, const Placed& where,
                  const Placement& placement) {
  return Builder(model, context, where, placement).build();
}

}  // namespace picchio::gguf
