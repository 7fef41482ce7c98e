// A model file from its path: maps it, reads the header, and the headers of the other shards.
#pragma once

#include "base/result.h"
#include "evidence/model_file.h"

#include <string>

namespace picchio {

/// Errors say what to do: no such file, a folder, empty, not GGUF, cut off, a shard missing.
[[nodiscard]] Result<ModelFile> open_model(const std::string& path);

}  // namespace picchio
