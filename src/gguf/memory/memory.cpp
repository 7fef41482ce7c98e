#include "gguf/memory/memory.h"

#include "gguf/memory/compute_buffer.h"
#include "gguf/memory/layout.h"
#include "gguf/memory/size.h"
#include "gguf/memory/weights.h"

#include <string>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kLogitBytes = 4;  // f32

/// Adds `bytes` to a field of the host or of a device.
Result<> put(MemoryForecast& out, std::size_t device, std::int64_t MemoryUse::* field,
             std::int64_t bytes) {
  MemoryUse& use = device == kHost ? out.host : out.devices[device];
  if (add_to(use.*field, bytes) && add_to(out.all.*field, bytes)) return {};
  return fail(ErrorKind::malformed, "this takes more than 2^63 bytes of memory");
}

Result<> put_caches(const ModelLayers& model, const Placed& where, const Placement& placement,
                    const Caches& caches, MemoryForecast& out) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::size_t device = placement.offload_kv ? where.layers[i] : kHost;
    auto ok = put(out, device, &MemoryUse::kv_cache, caches.kv_of_layer[i]);
    if (ok) ok = put(out, device, &MemoryUse::recurrent_state, caches.state_of_layer[i]);
    if (!ok) return ok;
  }
  return {};
}

Result<> put_weights(const Weights& weights, MemoryForecast& out) {
  out.repacked = weights.repacked;
  auto ok = put(out, kHost, &MemoryUse::weights, weights.host);
  if (ok) ok = put(out, kHost, &MemoryUse::weights, weights.repacked);
  for (std::size_t i = 0; ok && i < weights.devices.size(); ++i) {
    ok = put(out, i, &MemoryUse::weights, weights.devices[i]);
  }
  return ok;
}

Result<> put_compute(const ComputeBuffers& buffers, MemoryForecast& out) {
  auto ok = put(out, kHost, &MemoryUse::compute_buffer, buffers.host);
  for (std::size_t i = 0; ok && i < buffers.devices.size(); ++i) {
    ok = put(out, i, &MemoryUse::compute_buffer, buffers.devices[i]);
  }
  return ok;
}

/// That no sum of a MemoryUse passes 2^63 either.
Result<> check_total(const MemoryUse& use) {
  const Size sum = Size(use.weights) + use.kv_cache + use.recurrent_state + use.compute_buffer +
                   use.output_buffer;
  if (sum.fits()) return {};
  return fail(ErrorKind::malformed, "this takes more than 2^63 bytes of memory");
}

std::vector<std::string> guesses_of(const ModelLayers& model, const Placement& placement) {
  std::vector<std::string> out;
  if (!model.known) {
    out.push_back("the architecture is not known: it is taken for a classic transformer");
  }
  const Reserve& reserve = model.rules->reserve;
  if (reserve.embeddings + reserve.cells + reserve.head_cells + reserve.indexers > 0) {
    out.push_back("the compute buffer of this architecture is a generous estimate");
  }
  if (!placement.devices.empty()) {
    out.push_back("what a GPU's driver takes for itself is not in this");
  }
  return out;
}

}  // namespace

Result<MemoryForecast> forecast(const std::vector<Header>& shards, const ContextSettings& settings,
                                const Placement& placement) {
  const auto layout = layout_of(shards, settings, placement);
  if (!layout) return std::unexpected(layout.error());
  const auto& [model, context, where, caches] = *layout;
  const auto weights = weights_of(model, where, placement);
  if (!weights) return std::unexpected(weights.error());
  const auto buffers = compute_buffers(model, context, where, placement);
  if (!buffers) return std::unexpected(buffers.error());

  MemoryForecast out;
  out.devices.resize(placement.devices.size());
  out.context = context;
  out.caches = caches.parts;
  auto ok = put_weights(*weights, out);
  if (ok) ok = put_caches(model, where, placement, caches, out);
  if (ok) ok = put_compute(*buffers, out);
  const Size logits = Size(model.vocabulary) * kLogitBytes * context.sequences;
  if (ok) ok = put(out, kHost, &MemoryUse::output_buffer, logits.value_or_zero());
  if (ok) ok = check_total(out.all);
  if (!ok) return std::unexpected(ok.error());
  out.guesses = guesses_of(model, placement);
  return out;
}

}  // namespace picchio::gguf
