// Every GPU with a DRM driver that no other meter knows: Adreno, Mali, VideoCore, Apple under
// Linux, nouveau, NPUs. Such drivers tell what single processes use (fdinfo), and nothing of the
// device as a whole.
#pragma once

#include "meters/meter.h"

namespace picchio::meters::drm {

[[nodiscard]] Result<std::unique_ptr<Meter>> probe(const Place& place);

}  // namespace picchio::meters::drm
