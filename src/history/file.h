// The history's file: opened and checked. Private to history/.
#pragma once

#include "base/result.h"
#include "history/database.h"

#include <string>

namespace picchio::history {

[[nodiscard]] std::string file_in(const std::string& cache_folder);

/// Of a file that is there. Today's schema afterwards; errors as in History::open().
[[nodiscard]] Result<Database> open_checked(const std::string& path);

}  // namespace picchio::history
