// The settings with which a model fits: the most layers on the devices, the fewest experts on the
// host, the longest context. Pure.
#pragma once

#include "base/result.h"
#include "evidence/plan.h"
#include "gguf/memory/memory.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace picchio::gguf {

/// What llama.cpp itself leaves free on a device unless told otherwise (--fit-target).
inline constexpr std::int64_t kUsualMargin = std::int64_t{1} << 30;
/// Below it llama.cpp rather leaves layers on the host (--fit-ctx).
inline constexpr std::int64_t kLeastContext = 4096;

/// Bytes that are free.
struct Room {
  std::vector<std::int64_t> devices;   // as in the placement
  std::optional<std::int64_t> host;    // absent: not judged
  std::int64_t margin = kUsualMargin;  // on each device
  /// The devices' memory is the host's (an APU, a Mac): what they take the host has less.
  bool shared = false;
};

/// What a user asks for. What is not fixed may be chosen.
struct Wish {
  ContextSettings context;
  Placement placement;
  bool context_fixed = false;
  bool types_fixed = false;  // of the cache
  bool layers_fixed = false;
  bool experts_fixed = false;
};

struct Choice {
  ContextSettings context;
  Placement placement;
  MemoryForecast need;
  Fit fit = Fit::not_judged;
};

struct Advice {
  Choice asked;
  std::optional<Choice> best;         // absent: nothing fits
  std::optional<Choice> small_cache;  // as asked with a quantized cache, where only that fits
  std::optional<std::int64_t> longest_context;  // tokens; of `best`
  std::int64_t layers = 0;                      // that -ngl can count, with the output layer
  bool has_experts = false;
};

[[nodiscard]] Fit fit_of(const MemoryUse& need, std::int64_t room, std::int64_t margin);

/// In the order of llama.cpp's own fitting: all layers; a shorter context where none was asked for;
/// experts on the host; fewer layers. Errors are what the engine refuses as it was asked.
[[nodiscard]] Result<Advice> advise(const std::vector<Header>& shards, const Wish& wish,
                                    const Room& room);

}  // namespace picchio::gguf
