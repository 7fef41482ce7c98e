#include "gguf/memory/layers.h"

#include "base/text.h"
#include "gguf/memory/size.h"
#include "gguf/token_use.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace picchio::gguf {
namespace {

// llama.cpp's LLAMA_MAX_LAYERS.
constexpr std::int64_t kMaxLayers = 512;
// llama.cpp's LLAMA_MAX_EXPERTS.
constexpr std::int64_t kMaxExperts = 512;
// No width or number of heads of a real model comes near; what passes it is a broken file.
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 31U;

constexpr Architecture kUnknown{.name = "unknown", .sliding = {.kind = Sliding::as_told}};

/// What the layers are made of, checked as far as one value tells.
class Reader {
 public:
  explicit Reader(const Header& header) : header_(header), hyper_(header.hyper) {}

  [[nodiscard]] Result<ModelLayers> read();

 private:
  using Number = HyperParameters::Number;

  Result<> check_keys() const;
  Result<> check_arrays() const;
  void set_sliding(ModelLayers& model) const;
  [[nodiscard]] bool slides(const ModelLayers& model, std::int64_t index) const;
  Result<Layer> layer(const ModelLayers& model, std::int64_t index) const;
  void set_attention(const ModelLayers& model, std::int64_t index, Layer& layer) const;
  void set_indexer(const ModelLayers& model, std::int64_t index, Layer& layer) const;
  [[nodiscard]] bool is_recurrent(const ModelLayers& model, std::int64_t index,
                                  std::int64_t kv_heads) const;
  void set_state(const ModelLayers& model, std::int64_t index, Layer& layer) const;

  [[nodiscard]] std::int64_t at(const PerLayer& values, std::int64_t index,
                                std::int64_t otherwise) const {
    return values.at(static_cast<std::size_t>(index)).value_or(otherwise);
  }
  /// Of the first layer that has any: layers without attention may have none.
  [[nodiscard]] std::int64_t heads() const {
    const auto& values = hyper_.head_count.values;
    const auto found = std::ranges::find_if(values, [](std::int64_t n) { return n > 0; });
    return found != values.end() ? *found : 0;
  }

  const Header& header_;
  const HyperParameters& hyper_;
};

Result<> too_wide(std::string_view what, std::int64_t value) {
  if (value <= kMaxWidth) return {};
  return fail(ErrorKind::malformed, "{} is {}, more than any model's", what, value);
}

Result<> Reader::check_keys() const {
  if (!hyper_.unreadable.empty()) {
    return fail(ErrorKind::malformed, "key '{}' is not of the type that engines read",
                plain(hyper_.unreadable));
  }
  const std::pair<std::string_view, Number> widths[] = {
      {"embedding_length", header_.embedding_length},
      {"the vocabulary", header_.tokenizer.vocabulary},
      {"attention.key_length", hyper_.key_length},
      {"attention.value_length", hyper_.value_length},
      {"attention.key_length_swa", hyper_.key_length_swa},
      {"attention.value_length_swa", hyper_.value_length_swa},
      {"attention.sliding_window", hyper_.sliding_window},
      {"attention.indexer.key_length", hyper_.indexer_key_length},
      {"ssm.inner_size", hyper_.ssm_inner_size},
      {"ssm.state_size", hyper_.ssm_state_size},
      {"ssm.conv_kernel", hyper_.ssm_conv_kernel},
      {"ssm.group_count", hyper_.ssm_group_count},
      {"kda.head_dim", hyper_.kda_head_dim},
      {"shortconv.l_cache", hyper_.shortconv_cache},
      {"wkv.head_size", hyper_.wkv_head_size},
      {"token_shift_count", hyper_.token_shift_count},
      {"hyper_connection.count", hyper_.hyper_connections},
  };
  for (const auto& [what, value] : widths) {
    if (auto ok = too_wide(what, value.value_or(0)); !ok) return ok;
  }
  return {};
}

Result<> Reader::check_arrays() const {
  const std::int64_t blocks = header_.block_count.value_or(0);
  const std::int64_t loaded = blocks - header_.nextn_predict_layers.value_or(0);
  const std::pair<std::string_view, const PerLayer*> arrays[] = {
      {"attention.head_count", &hyper_.head_count},
      {"attention.head_count_kv", &hyper_.head_count_kv},
      {"feed_forward_length", &hyper_.feed_forward_length},
      {"attention.sliding_window_pattern", &hyper_.sliding_window_pattern},
      {"attention.recurrent_layers", &hyper_.recurrent_layers},
      {"attention.compress_ratios", &hyper_.compress_ratios},
      {"attention.indexer.types", &hyper_.indexer_types},
  };
  for (const auto& [what, array] : arrays) {
    if (array->array && array->length != blocks && array->length != loaded) {
      return fail(ErrorKind::malformed, "{} has {} entries for {} blocks", what, array->length,
                  blocks);
    }
    for (const std::int64_t value : array->values) {
      if (auto ok = too_wide(what, value); !ok) return ok;
    }
  }
  return {};
}

void Reader::set_sliding(ModelLayers& model) const {
  const SlidingRule& rule = model.rules->sliding;
  const std::int64_t told = hyper_.sliding_window.value_or(0);
  const bool pattern = hyper_.sliding_window_pattern.given;
  if (rule.kind == Sliding::never || (rule.kind == Sliding::as_told && !pattern)) return;
  if (rule.only_blocks != 0 && rule.only_blocks != model.blocks) return;
  model.window = told;
  const bool key = hyper_.sliding_window.has_value();
  if (rule.window != 0 && (rule.fixed ? told > 0 || !key : !key)) model.window = rule.window;
  // smallthinker slides only where the file names a window, whose number is then ignored.
  if (rule.fixed && rule.kind == Sliding::dense_first && told == 0) model.window = 0;
  model.sliding = model.window > 0;
}

bool Reader::slides(const ModelLayers& model, std::int64_t index) const {
  if (!model.sliding) return false;
  const SlidingRule& rule = model.rules->sliding;
  const PerLayer& pattern = hyper_.sliding_window_pattern;
  if (pattern.given && pattern.array) return at(pattern, index, 0) != 0;
  if (rule.kind == Sliding::all) return true;
  const std::int64_t period = pattern.given ? at(pattern, 0, 0) : rule.period;
  if (period == 0) return true;
  if (rule.kind == Sliding::dense_first) return index % period != 0;
  return index % period < period - 1;
}

bool Reader::is_recurrent(const ModelLayers& model, std::int64_t index,
                          std::int64_t kv_heads) const {
  const PerLayer& listed = hyper_.recurrent_layers;
  switch (model.rules->recurrent) {
    case RecurrentLayers::all:
      return true;
    case RecurrentLayers::without_kv_heads:
      return kv_heads == 0;
    case RecurrentLayers::without_kv_heads_and_ffn:
      return kv_heads == 0 && at(hyper_.feed_forward_length, index, 0) == 0;
    case RecurrentLayers::all_but_every_nth:
      if (!listed.array) {
        const std::int64_t interval = hyper_.full_attention_interval.value_or(4);
        return interval == 0 || (index + 1) % interval != 0;
      }
      return at(listed, index, 0) != 0;
    case RecurrentLayers::listed:
      return at(listed, index, 0) != 0;
  }
  return false;
}

void Reader::set_state(const ModelLayers& model, std::int64_t index, Layer& layer) const {
  const auto number = [](const Number& value) { return Size(value.value_or(0)); };
  const Size conv = number(hyper_.ssm_conv_kernel).less(1);
  const Size inner = number(hyper_.ssm_inner_size);
  const Size state = number(hyper_.ssm_state_size);
  const Size kda = number(hyper_.kda_head_dim);
  const Size width = model.embedding;
  Size shifted;
  Size held;
  switch (model.rules->recurrence) {
    case Recurrence::none:
      break;
    case Recurrence::mamba:
      shifted = conv * inner;
      held = state * inner;
      break;
    case Recurrence::mamba2:
    case Recurrence::delta:
      shifted = conv * (inner + Size(2) * number(hyper_.ssm_group_count) * state);
      held = state * inner;
      break;
    case Recurrence::short_conv:
      shifted = width * number(hyper_.shortconv_cache).less(1);
      break;
    case Recurrence::kda:
      shifted = Size(3) * conv * heads() * kda;
      held = kda * kda * heads();
      break;
    case Recurrence::rwkv:
      shifted = Size(hyper_.token_shift_count.value_or(2)) * width;
      held = width * number(hyper_.wkv_head_size);
      break;
    case Recurrence::lightning:
      held = Size(hyper_.key_length.value_or(0)) * hyper_.value_length.value_or(0) * heads();
      break;
  }
  Size ngrams;
  const auto& ple = hyper_.ple_layers.values;
  if (hyper_.ple_conv_kernel && std::ranges::find(ple, index) != ple.end()) {
    // A convolution over every n-th token, over all streams of the hyper-connections.
    ngrams = number(hyper_.ple_conv_kernel).less(1) * number(hyper_.ple_ngram_size) * width *
             hyper_.hyper_connections.value_or(1);
  }
  layer.conv_state = shifted.value().value_or(-1);
  layer.inner_state = held.value().value_or(-1);
  layer.ngram_state = ngrams.value().value_or(-1);
}

void Reader::set_indexer(const ModelLayers& model, std::int64_t index, Layer& layer) const {
  const std::int64_t width = hyper_.indexer_key_length.value_or(0);
  const PerLayer& types = hyper_.indexer_types;
  switch (model.rules->extra) {
    case ExtraCache::none:
      return;
    case ExtraCache::indexer:
      // A type of 0 means a layer that uses the choice of an earlier one.
      if (layer.attention == Attention::full && (!types.array || at(types, index, 1) != 0)) {
        layer.indexer_keys = width;
      }
      return;
    case ExtraCache::indexer_pair:
      if (index < hyper_.leading_dense_blocks.value_or(0)) return;
      layer.indexer_keys = width;
      layer.indexer_values = layer.value_length;
      return;
    case ExtraCache::indexer_three:
    case ExtraCache::indexer_two:
      if (layer.attention == Attention::none) return;
      layer.indexer_keys = width * (model.rules->extra == ExtraCache::indexer_three ? 3 : 2);
      return;
    case ExtraCache::compressed:
      layer.compress_ratio = at(hyper_.compress_ratios, index, 0);
      layer.indexer_keys = layer.compress_ratio == 4 ? width : 0;
      return;
  }
}

void Reader::set_attention(const ModelLayers& model, std::int64_t index, Layer& layer) const {
  const bool sliding = slides(model, index);
  layer.attention = sliding ? Attention::sliding : Attention::full;
  const std::int64_t all_heads = heads();
  const std::int64_t classic = all_heads > 0 ? model.embedding / all_heads : 0;
  layer.key_length = hyper_.key_length.value_or(classic);
  layer.value_length = hyper_.value_length.value_or(classic);
  if (sliding) {
    layer.key_length = hyper_.key_length_swa.value_or(layer.key_length);
    layer.value_length = hyper_.value_length_swa.value_or(layer.value_length);
  }
  if (model.mla || model.rules->extra == ExtraCache::compressed) layer.value_length = 0;
  std::int64_t owners = model.rules->own_cache_layers;
  if (hyper_.shared_kv_layers && owners == 0) {
    owners = std::max<std::int64_t>(model.blocks - *hyper_.shared_kv_layers, 1);
  }
  layer.own_cache = model.cached() && (owners == 0 || index < owners);
}

Result<Layer> Reader::layer(const ModelLayers& model, std::int64_t index) const {
  Layer layer;
  layer.heads = at(hyper_.head_count, index, 0);
  layer.kv_heads = at(hyper_.head_count_kv, index, layer.heads);
  layer.recurrent =
      model.rules->recurrence != Recurrence::none && is_recurrent(model, index, layer.kv_heads);
  const bool attends = model.rules->attends && layer.kv_heads > 0 &&
                       (!layer.recurrent || model.rules->attention_everywhere);
  if (attends) set_attention(model, index, layer);
  // A layer without heads has a place in the cache all the same.
  if (layer.kv_heads == 0 && model.rules->recurrence == Recurrence::none) {
    layer.own_cache = model.cached();
  }
  set_indexer(model, index, layer);
  if (layer.recurrent) set_state(model, index, layer);
  if (layer.conv_state < 0 || layer.inner_state < 0 || layer.ngram_state < 0) {
    return fail(ErrorKind::malformed, "the recurrent state of block {} passes 2^63 numbers", index);
  }
  return layer;
}

Result<ModelLayers> Reader::read() {
  ModelLayers model;
  model.architecture = header_.architecture.value_or("");
  model.rules = gguf::architecture(model.architecture);
  model.known = model.rules != nullptr;
  if (!model.known) model.rules = &kUnknown;
  model.blocks = header_.block_count.value_or(0);
  if (model.blocks < 1 || model.blocks > kMaxLayers) {
    return fail(ErrorKind::malformed, "block_count is {}: engines load 1 to {}", model.blocks,
                kMaxLayers);
  }
  const std::int64_t nextn = header_.nextn_predict_layers.value_or(0);
  if (nextn >= model.blocks) {
    return fail(ErrorKind::malformed, "nextn_predict_layers is {} of {} blocks", nextn,
                model.blocks);
  }
  if (auto ok = check_keys(); !ok) return std::unexpected(ok.error());
  if (auto ok = check_arrays(); !ok) return std::unexpected(ok.error());
  model.embedding = header_.embedding_length.value_or(0);
  model.vocabulary = header_.tokenizer.vocabulary.value_or(0);
  if (model.embedding == 0) return fail(ErrorKind::malformed, "embedding_length is 0 or missing");
  if (heads() == 0 && model.rules->attends) {
    return fail(ErrorKind::malformed, "attention.head_count is 0 or missing");
  }
  model.experts_used = header_.expert_used_count.value_or(0);
  if (model.experts_used > kMaxExperts) {
    return fail(ErrorKind::malformed, "expert_used_count is {}: engines take {} at most",
                model.experts_used, kMaxExperts);
  }
  model.indexer_top_k = hyper_.indexer_top_k.value_or(0);
  model.indexer_heads = hyper_.indexer_head_count.value_or(0);
  model.causal = header_.causal_attention.value_or(true);
  model.mla = hyper_.key_length_mla.value_or(0) > 0 && hyper_.value_length_mla.value_or(0) > 0;
  set_sliding(model);
  model.layers.reserve(static_cast<std::size_t>(model.blocks - nextn));
  for (std::int64_t i = 0; i < model.blocks - nextn; ++i) {
    auto made = layer(model, i);
    if (!made) return std::unexpected(made.error());
    model.layers.push_back(*std::move(made));
  }
  return model;
}

void add_tensors(const std::vector<Header>& shards, ModelLayers& model) {
  for (const Header& shard : shards) {
    for (const HeaderTensor& tensor : shard.tensors) {
      const int block = block_of(tensor.name);
      if (block < 0) {
        model.others.emplace(tensor.name, &tensor);
      } else if (static_cast<std::size_t>(block) < model.layers.size()) {
        std::string_view role = tensor.name;
        role.remove_prefix(role.find('.', 4) + 1);
        model.layers[static_cast<std::size_t>(block)].tensors.emplace(role, &tensor);
      }
    }
  }
}

}  // namespace

Result<ModelLayers> layers_of(const std::vector<Header>& shards) {
  if (shards.empty()) return fail(ErrorKind::malformed, "no header was given");
  auto model = Reader(shards.front()).read();
  if (!model) return model;
  model->tied_output = has_tied_output(shards);
  add_tensors(shards, *model);
  return model;
}

}  // namespace picchio::gguf
