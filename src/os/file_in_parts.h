// A file that is too large to be held in memory, written as os::write_file_atomic() writes one.
#pragma once

#include "base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace picchio::os {

using PartWriter = std::function<Result<>(std::string_view part)>;

/// `fill` is called once and hands the parts, in order, to the writer that it is given. When it
/// fails, or the disk is full, `path` is as it was before.
[[nodiscard]] Result<> write_file_in_parts(
    const std::string& path, const std::function<Result<>(const PartWriter& write)>& fill,
    unsigned mode = 0600);

}  // namespace picchio::os
