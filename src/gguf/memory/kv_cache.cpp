#include "gguf/memory/kv_cache.h"

#include "gguf/memory/size.h"

#include <algorithm>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kStateBytes = 4;  // f32, whatever the cache types are

/// A row of `numbers` in a cache; its type's block divides it, which context_of() sees to.
Size row_bytes(const TensorType& type, Size numbers) {
  return numbers / type.block * type.block_bytes;
}

class Builder {
 public:
  Builder(const ModelLayers& model, const Context& context) : model_(model), context_(context) {
    for (const Layer& layer : model.layers) {
      if (!layer.own_cache) continue;
      widest_value_ = std::max(widest_value_, layer.value_length * layer.kv_heads);
    }
  }

  [[nodiscard]] Result<Caches> build();

 private:
  struct Sum {
    std::string_view kind;
    std::int64_t cells;
    std::int64_t layers;
    Size bytes;
  };

  Size add(std::string_view kind, std::int64_t cells, Size row);
  Size usual(const Layer& layer);
  Size indexer(const Layer& layer);
  Size compressed(const Layer& layer);
  [[nodiscard]] Size state(const Layer& layer) const;

  const ModelLayers& model_;
  const Context& context_;
  std::int64_t widest_value_ = 0;
  std::vector<Sum> sums_;
};

Size Builder::add(std::string_view kind, std::int64_t cells, Size row) {
  const Size bytes = row * cells * context_.streams;
  auto found = std::ranges::find(sums_, kind, &Sum::kind);
  if (found == sums_.end()) found = sums_.insert(sums_.end(), {kind, cells, 0, 0});
  ++found->layers;
  found->bytes += bytes;
  return bytes;
}

Size Builder::usual(const Layer& layer) {
  if (!layer.own_cache) return 0;
  const bool sliding = layer.attention == Attention::sliding;
  Size values = Size(layer.value_length) * layer.kv_heads;
  // Stored transposed without flash attention, and then every layer as wide as the widest.
  if (!context_.flash_attention) values = widest_value_;
  return add(sliding ? kSlidingCache : kFullCache,
             sliding ? context_.cells_sliding : context_.cells,
             row_bytes(*context_.key_type, Size(layer.key_length) * layer.kv_heads) +
                 row_bytes(*context_.value_type, values));
}

Size Builder::indexer(const Layer& layer) {
  if (layer.indexer_keys == 0 || layer.compress_ratio != 0) return 0;
  return add(kIndexerCache, context_.cells,
             row_bytes(*context_.key_type, layer.indexer_keys) +
                 row_bytes(*context_.value_type, layer.indexer_values));
}

// deepseek4: behind the window, one key for so many tokens.
Size Builder::compressed(const Layer& layer) {
  if (layer.compress_ratio == 0) return 0;
  const std::int64_t groups = (context_.cells + layer.compress_ratio - 1) / layer.compress_ratio;
  const std::int64_t cells = Size(groups).rounded_up(256).value_or_zero();
  const Size key = row_bytes(*context_.key_type, Size(layer.key_length) * layer.kv_heads);
  Size bytes = add(layer.indexer_keys > 0 ? kCompressedCache : kHighlyCompressedCache, cells, key);
  if (layer.indexer_keys > 0) {
    bytes += add(kIndexerCache, cells, row_bytes(*context_.key_type, layer.indexer_keys));
  }
  return bytes;
}

Size Builder::state(const Layer& layer) const {
  Size numbers = Size(layer.conv_state) + layer.inner_state + layer.ngram_state;
  if (layer.compress_ratio != 0) {
    // What a compressor holds of the group that is not full: twice rows by width.
    const bool fine = layer.indexer_keys > 0;
    numbers += fine ? Size(2) * 8 * 2 * (Size(layer.key_length) + layer.indexer_keys)
                    : Size(2) * layer.compress_ratio * layer.key_length;
  }
  return numbers * kStateBytes * context_.sequences;
}

Result<Caches> Builder::build() {
  Caches out;
  out.kv_of_layer.reserve(model_.layers.size());
  out.state_of_layer.reserve(model_.layers.size());
  out.parts.reserve(sums_.size());
  for (const Layer& layer : model_.layers) {
    const Size kv = usual(layer) + indexer(layer) + compressed(layer);
    const Size held = state(layer);
    if (!kv.fits() || !held.fits()) {
      return fail(ErrorKind::malformed, "the cache of one layer passes 2^63 bytes");
    }
    out.kv_of_layer.push_back(kv.value_or_zero());
    out.state_of_layer.push_back(held.value_or_zero());
  }
  for (const Sum& sum : sums_) {
    if (!sum.bytes.fits()) return fail(ErrorKind::malformed, "the cache passes 2^63 bytes");
    out.parts.push_back(
        {sum.kind, sum.cells, context_.streams, sum.layers, sum.bytes.value_or_zero()});
  }
  return out;
}

}  // namespace

Result<Caches> caches_of(const ModelLayers& model, const Context& context) {
  return Builder(model, context).build();
}

}  // namespace picchio::gguf
