// From a weighed load to its shape: an ordered table of rules. Pure; account.h is the way in.
#pragma once

#include "evidence/engine_log.h"
#include "evidence/model_file.h"
#include "evidence/placement.h"
#include "verdict/schedule.h"
#include "verdict/weights.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace picchio {

/// Bytes of attention cache and recurrent state.
struct Kv {
  std::int64_t hardware = 0;
  std::int64_t other = 0;  // host, software, a remote CPU
  std::int64_t remote = 0;
};

/// A load, weighed, with every other sign that bears on its shape.
struct Account {
  const EngineLog& log;
  const Load& load;
  const ModelFile* model;
  Weights weights;
  Kv kv = {};
  RemoteTruth remote = RemoteTruth::unknown;
  int gpus = 0;
  bool full_claim = false;     // N/N
  bool partial_claim = false;  // n/N, n < N
  bool layers_all = false;     // per-layer lines, every one on a hardware GPU
  std::optional<SplitShape> schedule = std::nullopt;
};

struct Decision {
  Shape shape = Shape::unknown;
  std::string reason;
};

/// First match wins: first what proves that nothing is on a GPU, then every contrary sign, and only
/// then what can say gpu.
struct ShapeRule {
  std::string_view name;
  std::optional<Decision> (*decide)(const Account&);
};

[[nodiscard]] std::span<const ShapeRule> shape_rules();

/// Weight bytes that have to be off the host; only with a header.
[[nodiscard]] std::int64_t needed(const Account& account);

}  // namespace picchio
