// Models that are loaded beside the one that is planned: a projector of pictures or sound, a draft.
#pragma once

#include "base/result.h"
#include "commands/header_source.h"
#include "commands/plan/room.h"
#include "evidence/plan.h"
#include "gguf/memory/fit.h"
#include "os/signals.h"

#include <cstdint>
#include <string>
#include <vector>

namespace picchio {

/// With nothing said of what is free.
[[nodiscard]] PlannedMemory planned_memory(const gguf::MemoryUse& use, std::string name);

struct ExtraModel {
  ExtraRole role = ExtraRole::draft;
  std::string name;
  ModelHeaders headers;
};

/// `mmproj` and `draft` are whatever has a header; empty: none. Errors: it cannot be read; it is
/// none of the kind.
[[nodiscard]] Result<std::vector<ExtraModel>> read_extras(const std::string& mmproj,
                                                          const std::string& draft,
                                                          os::Interrupts& interrupts);

/// Takes their memory from the room, as llama.cpp places them without flags of their own: a
/// projector whole on the first GPU, a draft with all layers on the GPUs. `context`: tokens that
/// the draft's cache holds, the main model's.
[[nodiscard]] Result<std::vector<PlannedExtra>> place_extras(const std::vector<ExtraModel>& extras,
                                                             const gguf::Wish& wish,
                                                             std::int64_t context, PlanRoom& room);

}  // namespace picchio
