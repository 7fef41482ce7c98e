// The header of a model file from its path, read no further than it goes.
#pragma once

#include "base/result.h"
#include "gguf/header.h"

#include <string>

namespace picchio {

/// Errors name the file and say what to do: no such file, a folder, empty, not GGUF, cut off.
[[nodiscard]] Result<gguf::Header> read_file_header(const std::string& path, gguf::Accept accept);

}  // namespace picchio
