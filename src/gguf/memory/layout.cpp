#include "gguf/memory/layout.h"

#include <utility>

namespace picchio::gguf {

Result<Layout> layout_of(const std::vector<Header>& shards, const ContextSettings& settings,
                         const Placement& placement) {
  auto model = layers_of(shards);
  if (!model) return std::unexpected(model.error());
  auto context = context_of(*model, shards.front().context_length, settings);
  if (!context) return std::unexpected(context.error());
  auto where = placed(*model, placement);
  if (!where) return std::unexpected(where.error());
  auto caches = caches_of(*model, *context);
  if (!caches) return std::unexpected(caches.error());
  return Layout{*std::move(model), *std::move(context), *std::move(where), *std::move(caches)};
}

}  // namespace picchio::gguf
