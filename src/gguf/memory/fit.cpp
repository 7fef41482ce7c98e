#include "gguf/memory/fit.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kContextStep = 256;  // engines round up to it
constexpr const char* kSmallCaches[] = {"q8_0", "q4_0"};

/// The largest number in [least, most] that is good, where those above a bad one are bad as well.
std::optional<std::int64_t> largest(std::int64_t least, std::int64_t most,
                                    const std::function<bool(std::int64_t)>& good) {
  if (least > most || !good(least)) return std::nullopt;
  if (good(most)) return most;
  while (most - least > 1) {
    const std::int64_t middle = least + (most - least) / 2;
    (good(middle) ? least : most) = middle;
  }
  return least;
}

class Search {
 public:
  Search(const std::vector<Header>& shards, const Wish& wish, const Room& room,
         const ModelLayers& model)
      : shards_(shards), wish_(wish), room_(room), layers_(model.blocks + 1) {
    has_experts_ = std::ranges::any_of(shards, [](const Header& shard) {
      return std::ranges::any_of(shard.tensors, [](const HeaderTensor& tensor) {
        return tensor.name.find("_exps") != std::string::npos;
      });
    });
    trained_ = shards.front().context_length.value_or(wish.context.n_ctx);
  }

  [[nodiscard]] Result<Choice> choice(ContextSettings context, Placement placement) const {
    Result<MemoryForecast> need = forecast(shards_, context, placement);
    if (!need) return std::unexpected(need.error());
    const Fit fit = fit_of_all(*need);
    return Choice{std::move(context), std::move(placement), *std::move(need), fit};
  }

  [[nodiscard]] std::optional<Choice> best() const {
    const Placement& whole = wish_.placement;
    if (auto found = fitting(wish_.context, whole)) return found;
    if (!wish_.context_fixed) {
      if (auto found = with_shorter_context(wish_.context, whole)) return found;
    }
    ContextSettings context = wish_.context;
    if (!wish_.context_fixed) context.n_ctx = least_context();
    if (whole.devices.empty()) return std::nullopt;
    Placement placement = whole;
    if (has_experts_ && !wish_.experts_fixed) {
      if (auto found = with_experts_on_the_host(context, placement)) return found;
      placement.n_cpu_moe = layers_ - 1;
    }
    if (wish_.layers_fixed) return std::nullopt;
    return with_fewer_layers(context, placement);
  }

  /// All layers on the devices, by a cache of fewer bits alone.
  [[nodiscard]] std::optional<Choice> small_cache() const {
    if (wish_.types_fixed) return std::nullopt;
    for (const char* type : kSmallCaches) {
      ContextSettings context = wish_.context;
      context.cache_type_k = context.cache_type_v = type;
      if (auto found = fitting(context, wish_.placement)) return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> longest_context(const Choice& of) const {
    const auto steps = trained_ / kContextStep;
    const auto found = largest(
        1, steps, [&](std::int64_t n) { return fits(with_context(of.context, n), of.placement); });
    if (!found) return std::nullopt;
    // What was trained with need not be a multiple.
    return *found == steps && fits(of.context, of.placement, trained_) ? trained_
                                                                       : *found * kContextStep;
  }

  [[nodiscard]] std::int64_t layers() const { return layers_; }
  [[nodiscard]] bool has_experts() const { return has_experts_; }

 private:
  [[nodiscard]] Fit fit_of_all(const MemoryForecast& need) const {
    Fit out = Fit::fits;
    MemoryUse host = need.host;
    for (std::size_t i = 0; i < need.devices.size(); ++i) {
      if (need.devices[i].total() > 0) {
        out = worse(out, fit_of(need.devices[i], room_.devices[i], room_.margin));
      }
      if (room_.shared) host.weights += need.devices[i].total();
    }
    if (!room_.host) return need.devices.empty() ? Fit::not_judged : out;
    return worse(out, fit_of(host, *room_.host, 0));
  }

  [[nodiscard]] std::optional<Choice> fitting(ContextSettings context, Placement placement) const {
    Result<Choice> out = choice(std::move(context), std::move(placement));
    // What the engine refuses does not fit.
    if (!out || (out->fit != Fit::fits && out->fit != Fit::not_judged)) return std::nullopt;
    return *std::move(out);
  }

  [[nodiscard]] bool fits(const ContextSettings& context, const Placement& placement) const {
    return fitting(context, placement).has_value();
  }
  [[nodiscard]] bool fits(ContextSettings context, const Placement& placement,
                          std::int64_t n_ctx) const {
    context.n_ctx = n_ctx;
    return fits(context, placement);
  }

  static ContextSettings with_context(ContextSettings context, std::int64_t steps) {
    context.n_ctx = steps * kContextStep;
    return context;
  }

  [[nodiscard]] std::int64_t least_context() const {
    return trained_ > 0 ? std::min(kLeastContext, trained_) : kLeastContext;
  }

  [[nodiscard]] std::optional<Choice> with_shorter_context(const ContextSettings& context,
                                                           const Placement& placement) const {
    const auto steps =
        largest((least_context() + kContextStep - 1) / kContextStep, trained_ / kContextStep,
                [&](std::int64_t n) { return fits(with_context(context, n), placement); });
    if (!steps) return std::nullopt;
    return fitting(with_context(context, *steps), placement);
  }

  [[nodiscard]] std::optional<Choice> with_experts_on_the_host(const ContextSettings& context,
                                                               Placement placement) const {
    const std::int64_t blocks = layers_ - 1;
    const auto with = [&](std::int64_t on_devices) {
      placement.n_cpu_moe = blocks - on_devices;
      return placement;
    };
    const auto on_devices =
        largest(0, blocks, [&](std::int64_t n) { return fits(context, with(n)); });
    if (!on_devices) return std::nullopt;
    return fitting(context, with(*on_devices));
  }

  [[nodiscard]] std::optional<Choice> with_fewer_layers(const ContextSettings& context,
                                                        Placement placement) const {
    const auto with = [&](std::int64_t layers) {
      placement.n_gpu_layers = layers;
      return placement;
    };
    const auto layers = largest(0, layers_, [&](std::int64_t n) { return fits(context, with(n)); });
    if (layers) return fitting(context, with(*layers));
    // Without a layer the device still computes large batches, with copies of the host's weights.
    placement.offload_operations = false;
    return fitting(context, with(0));
  }

  const std::vector<Header>& shards_;
  const Wish& wish_;
  const Room& room_;
  std::int64_t layers_ = 0;
  std::int64_t trained_ = 0;
  bool has_experts_ = false;
};

}  // namespace

Fit fit_of(const MemoryUse& need, std::int64_t room, std::int64_t margin) {
  if (need.total() > room) return Fit::not_fitting;
  return room - need.total() < margin ? Fit::tight : Fit::fits;
}

Result<Advice> advise(const std::vector<Header>& shards, const Wish& wish, const Room& room) {
  const auto model = layers_of(shards);
  if (!model) return std::unexpected(model.error());
  const Search search(shards, wish, room, *model);
  Result<Choice> asked = search.choice(wish.context, wish.placement);
  if (!asked) return std::unexpected(asked.error());
  Advice out;
  out.asked = *std::move(asked);
  out.best = search.best();
  out.layers = search.layers();
  out.has_experts = search.has_experts();
  if (out.asked.fit != Fit::fits && !wish.placement.devices.empty()) {
    out.small_cache = search.small_cache();
  }
  if (out.best) out.longest_context = search.longest_context(*out.best);
  return out;
}

}  // namespace picchio::gguf
