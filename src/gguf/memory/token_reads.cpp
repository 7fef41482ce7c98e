#include "gguf/memory/token_reads.h"

#include "gguf/memory/layout.h"
#include "gguf/memory/size.h"
#include "gguf/token_use.h"

#include <algorithm>
#include <cmath>

namespace picchio::gguf {
namespace {

class Sums {
 public:
  explicit Sums(std::size_t devices) : devices_(devices) {}

  void add(std::size_t device, std::int64_t bytes) {
    (device == kHost ? host_ : devices_[device]) += bytes;
  }

  [[nodiscard]] Result<TokenReads> reads() const {
    TokenReads out{.host = host_.value_or_zero(), .devices = {}};
    bool fit = host_.fits();
    for (const Size& device : devices_) {
      fit = fit && device.fits();
      out.devices.push_back(device.value_or_zero());
    }
    if (!fit) return fail(ErrorKind::malformed, "a token would read more than 2^63 bytes");
    return out;
  }

 private:
  Size host_;
  std::vector<Size> devices_;
};

/// Of a layer's cache, how much of it is seen at this depth.
double seen_share(const Layer& layer, const ModelLayers& model, const Context& context,
                  std::int64_t depth) {
  const bool sliding = layer.attention == Attention::sliding;
  const std::int64_t cells = sliding ? context.cells_sliding : context.cells;
  std::int64_t seen = std::min(depth, cells);
  if (sliding && model.window > 0) seen = std::min(seen, model.window);
  if (cells <= 0) return 0;
  return static_cast<double>(seen) / static_cast<double>(cells) /
         static_cast<double>(std::max<std::int64_t>(context.streams, 1));
}

void add_weights(const ModelLayers& model, const TokenUse& use, const Placed& where,
                 const Placement& placement, Sums& sums) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const auto& [role, tensor] : model.layers[i].tensors) {
      sums.add(device_of(*tensor, i, role, where, placement), use.bytes(*tensor));
    }
  }
  for (const auto& [name, tensor] : model.others) {
    const bool head = model.tied_output && name == "token_embd.weight";
    sums.add(
        head ? device_of_head(*tensor, where, placement) : device_of(*tensor, where, placement),
        use.bytes(*tensor));
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
    sums.add(device, caches.state_of_layer[i] / std::max<std::int64_t>(context.sequences, 1));
  }
  return sums.reads();
}

}  // namespace picchio::gguf
