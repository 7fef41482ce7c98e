// The chain from the card to the engine, link by link: what `picchio doctor` says. Pure.
#pragma once

#include "evidence/checkup.h"
#include "evidence/examination.h"

#include <vector>

namespace picchio {

[[nodiscard]] Examination examine(const Checkup& checkup);

/// Of the links between card and engine those that are broken, engines left out: what was seen of
/// the machine that a run is measured on. Without the cause `no_gpu_in_machine`.
[[nodiscard]] std::vector<BrokenLink> broken_links(const Checkup& checkup);

}  // namespace picchio
