#include "gguf/memory/token_reads.h"

#include "gguf/memory/layout.h"
#include "gguf/memory/size.h"
#include "gguf/token_use.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace picchio::gguf {
namespace {

class Sums {
 public:
  explicit Sums(std::size_t devices) : devices_(devices) {}

  void add(std::size_t device, std::int64_t bytes) { of(device).bytes += Size(bytes); }

  void add_products(std::size_t device, Size products) { of(device).products += products; }

  void add_weights(std::size_t device, const HeaderTensor& tensor, std::int64_t read, bool head) {
    Sum& sum = of(device);
    sum.bytes += Size(read);
    const std::int64_t whole = tensor.bytes.value_or(0);
    if (whole <= 0) return;
    // Of a table one row, of experts those in use.
    const double share = static_cast<double>(read) / static_cast<double>(whole);
    const Size weights(std::llround(share * static_cast<double>(tensor.elements)));
    sum.weights += weights;
    if (head) {
      sum.head_weights += weights;
    } else {
      of_type_[tensor.type] += weights;
    }
  }

  [[nodiscard]] Result<TokenReads> reads() const {
    TokenReads out{.main_type = main_type(), .host = host_.reads(), .devices = {}};
    bool fit = host_.fits();
    for (const Sum& device : devices_) {
      fit = fit && device.fits();
      out.devices.push_back(device.reads());
    }
    if (!fit) return fail(ErrorKind::malformed, "a token would read more than 2^63 bytes");
    return out;
  }

 private:
  struct Sum {
    Size bytes;
    Size weights;
    Size head_weights;
    Size products;

    [[nodiscard]] bool fits() const {
      return bytes.fits() && weights.fits() && head_weights.fits() && products.fits();
    }
    [[nodiscard]] MemoryReads reads() const {
      return {.bytes = bytes.value_or_zero(),
              .weights = weights.value_or_zero(),
              .head_weights = head_weights.value_or_zero(),
              .products = products.value_or_zero()};
    }
  };

  [[nodiscard]] std::string main_type() const {
    const auto most = std::ranges::max_element(
        of_type_, {}, [](const auto& type) { return type.second.value_or_zero(); });
    return most == of_type_.end() ? std::string() : most->first;
  }

  Sum& of(std::size_t device) { return device == kHost ? host_ : devices_[device]; }

  Sum host_;
  std::vector<Sum> devices_;
  std::map<std::string, Size> of_type_;
};

/// Tokens that a layer sees of its cache at this depth.
std::int64_t seen_tokens(const Layer& layer, const ModelLayers& model, const Context& context,
                         std::int64_t depth) {
  const bool sliding = layer.attention == Attention::sliding;
  const std::int64_t seen = std::min(depth, sliding ? context.cells_sliding : context.cells);
  return sliding && model.window > 0 ? std::min(seen, model.window) : seen;
}

/// The same as a share of the layer's cache.
double seen_share(const Layer& layer, const ModelLayers& model, const Context& context,
                  std::int64_t depth) {
  const bool sliding = layer.attention == Attention::sliding;
  const std::int64_t cells = sliding ? context.cells_sliding : context.cells;
  if (cells <= 0) return 0;
  return static_cast<double>(seen_tokens(layer, model, context, depth)) /
         static_cast<double>(cells) /
         static_cast<double>(std::max<std::int64_t>(context.streams, 1));
}

// llama.cpp has no fast way for heads of fewer numbers: one look of such a head at one token took
// as long as 640 products of a wider one (heads of 32 against 64, 128 and 256, on a CPU).
constexpr std::int64_t kWideHead = 64;
constexpr std::int64_t kNarrowLook = 640;

/// Each head takes a look at each token that the layer sees.
Size products(const Layer& layer, const ModelLayers& model, const Context& context,
              std::int64_t depth) {
  if (layer.attention == Attention::none) return {};
  const Size values = layer.value_length > 0 ? layer.value_length : layer.key_length;
  const Size look = layer.key_length < kWideHead ? Size(kNarrowLook) : layer.key_length + values;
  return Size(layer.heads) * Size(seen_tokens(layer, model, context, depth)) * look;
}

void add_weights(const ModelLayers& model, const TokenUse& use, const Placed& where,
                 const Placement& placement, Sums& sums) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const auto& [role, tensor] : model.layers[i].tensors) {
      sums.add_weights(device_of(*tensor, i, role, where, placement), *tensor, use.bytes(*tensor),
                       false);
    }
  }
  for (const auto& [name, tensor] : model.others) {
    const bool tied_head = model.tied_output && name == "token_embd.weight";
    const bool head = tied_head || name == "output.weight";
    const std::size_t device = tied_head ? device_of_head(*tensor, where, placement)
                                         : device_of(*tensor, where, placement);
    sums.add_weights(device, *tensor, use.bytes(*tensor), head);
  }
}

}  // namespace

Result<TokenReads> token_reads(const std::vector<Header>& shards, const ContextSettings& settings,
                               const Placement& placement, std::int64_t depth) {
  const auto layout = layout_of(shards, settings, placement);
  if (!layout) return std::unexpected(layout.error());
  const auto& [model, context, where, caches] = *layout;

  Sums sums(placement.devices.size());
  add_weights(model, TokenUse(shards.front(), model.tied_output), where, placement, sums);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::size_t device = placement.offload_kv ? where.layers[i] : kHost;
    const double seen = static_cast<double>(caches.kv_of_layer[i]) *
                        seen_share(model.layers[i], model, context, depth);
    sums.add(device, static_cast<std::int64_t>(std::llround(seen)));
    sums.add_products(device, products(model.layers[i], model, context, depth));
    sums.add(device, caches.state_of_layer[i] / std::max<std::int64_t>(context.sequences, 1));
  }
  return sums.reads();
}

}  // namespace picchio::gguf
