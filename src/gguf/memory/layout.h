// A model with its settings made definite: what every sum over its memory begins with.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/memory/context.h"
#include "gguf/memory/kv_cache.h"
#include "gguf/memory/layers.h"
#include "gguf/memory/placement.h"

#include <vector>

namespace picchio::gguf {

struct Layout {
  ModelLayers model;  // points into the headers
  Context context;
  Placed where;
  Caches caches;
};

/// Errors are what makes an engine refuse the model or the settings.
[[nodiscard]] Result<Layout> layout_of(const std::vector<Header>& shards,
                                       const ContextSettings& settings, const Placement& placement);

}  // namespace picchio::gguf
