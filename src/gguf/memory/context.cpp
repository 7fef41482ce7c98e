#include "gguf/memory/context.h"

#include "base/text.h"
#include "gguf/memory/size.h"

#include <algorithm>
#include <limits>

namespace picchio::gguf {
namespace {

// The engine pads a context to so many cells.
constexpr std::int64_t kCellStep = 256;
// It keeps these as 32-bit numbers.
constexpr std::int64_t kMaxContext = std::numeric_limits<std::uint32_t>::max() - kCellStep;
// llama.cpp's LLAMA_MAX_SEQ.
constexpr std::int64_t kMaxSequences = 256;
// Slots of a llama-server that is not told how many: they share one pool of cells.
constexpr std::int64_t kServerSlots = 4;

std::int64_t padded(std::int64_t cells) { return (cells + kCellStep - 1) / kCellStep * kCellStep; }

Result<> check_range(std::string_view what, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return {};
  return fail(ErrorKind::unsupported, "{} of {} is not between 1 and {}", what, value, most);
}

Result<const TensorType*> cache_type(std::string_view option, const std::string& name) {
  // What -ctk and -ctv take.
  constexpr std::string_view kCacheTypes[] = {"f32",  "f16",    "bf16", "q8_0", "q4_0",
                                              "q4_1", "iq4_nl", "q5_0", "q5_1"};
  const std::string lowered = lower(name);
  if (std::ranges::find(kCacheTypes, lowered) == std::end(kCacheTypes)) {
    return fail(ErrorKind::unsupported, "{} does not take the type '{}'", option, plain(name));
  }
  return tensor_type(std::string_view(lowered));
}

Result<> check_division(const ModelLayers& model, const Context& context) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (!layer.own_cache) continue;
    if (layer.key_length % context.key_type->block != 0) {
      return fail(ErrorKind::unsupported,
                  "the block of {} of cache type {} does not divide n_embd_head_k {} of layer {}",
                  context.key_type->block, context.key_type->name, layer.key_length, i);
    }
    if (layer.value_length % context.value_type->block != 0) {
      return fail(ErrorKind::unsupported,
                  "the block of {} of cache type {} does not divide n_embd_head_v {} of layer {}",
                  context.value_type->block, context.value_type->name, layer.value_length, i);
    }
  }
  return {};
}

Result<> set_types(const ModelLayers& model, const ContextSettings& settings, Context& context) {
  const auto key = cache_type("-ctk", settings.cache_type_k);
  if (!key) return std::unexpected(key.error());
  const auto value = cache_type("-ctv", settings.cache_type_v);
  if (!value) return std::unexpected(value.error());
  context.key_type = *key;
  context.value_type = *value;
  context.flash_attention = settings.flash_attention != FlashAttention::off && model.rules->flash;
  if (!model.cached()) return {};
  if (context.value_type->block > 1 && !context.flash_attention) {
    return fail(ErrorKind::unsupported, "a quantized V cache ({}) needs flash attention{}",
                context.value_type->name,
                model.rules->flash ? "" : ", which this architecture does without");
  }
  if (model.mla && context.key_type != context.value_type) {
    return fail(ErrorKind::unsupported,
                "this model's cache holds compressed keys only: -ctk {} and -ctv {} must be equal",
                context.key_type->name, context.value_type->name);
  }
  return check_division(model, context);
}

}  // namespace

Result<Context> context_of(const ModelLayers& model, std::optional<std::int64_t> trained_context,
                           const ContextSettings& settings) {
  Context context;
  const bool shared_by_default = settings.program == Program::server && !settings.n_parallel;
  context.sequences =
      settings.n_parallel.value_or(settings.program == Program::server ? kServerSlots : 1);
  const bool unified = settings.kv_unified.value_or(shared_by_default);
  const std::int64_t asked = settings.n_ctx != 0 ? settings.n_ctx : trained_context.value_or(0);
  if (auto ok = check_range("a context", asked, kMaxContext); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = check_range("-np", context.sequences, kMaxSequences); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = check_range("-b", settings.n_batch, kMaxContext); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = check_range("-ub", settings.n_ubatch, kMaxContext); !ok) {
    return std::unexpected(ok.error());
  }
  context.n_ctx = padded(asked);
  context.cells = context.n_ctx;
  if (!unified) {
    // Rounded up for each sequence: the whole may be more than asked.
    context.streams = context.sequences;
    context.cells = padded(context.n_ctx / context.sequences);
    context.n_ctx = context.cells * context.sequences;
  }
  const std::int64_t batch =
      model.causal ? std::min(context.n_ctx, settings.n_batch) : settings.n_batch;
  const std::int64_t ubatch = std::min(batch, settings.n_ubatch);
  context.tokens = std::min(context.n_ctx, ubatch);
  const std::int64_t most_outputs = settings.program == Program::server ? context.sequences : batch;
  context.outputs = std::min(context.tokens, most_outputs);
  context.cells_sliding = context.cells;
  if (!settings.swa_full) {
    const Size window = Size(model.window) * (unified ? context.sequences : 1) + ubatch;
    context.cells_sliding = padded(Size::smaller(window, context.cells).value_or_zero());
  }
  if (auto ok = set_types(model, settings, context); !ok) return std::unexpected(ok.error());
  return context;
}

}  // namespace picchio::gguf
