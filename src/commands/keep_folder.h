// The folder of --keep-logs.
#pragma once

#include "base/result.h"

#include <string>

namespace picchio {

/// Makes it, before anything is measured; an error when it cannot be or holds something. Nothing to
/// do for "".
[[nodiscard]] Result<> prepare_keep_folder(const std::string& folder);

}  // namespace picchio
