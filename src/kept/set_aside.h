// One file of the cache folder that every picchio on the machine reads and replaces whole.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::kept {

/// The text of the file, absent when there is none. What this program cannot have written, because
/// it is larger than `most_bytes`, is an error of kind malformed; a pipe or a folder in its place
/// one of kind unsupported.
[[nodiscard]] Result<std::optional<std::string>> read_cache_file(const std::string& path,
                                                                 std::int64_t most_bytes);

/// Makes room where `path` holds `unreadable`, something that is not ours: moved to
/// PATH.unreadable, which `note` then says. Any other error is handed back.
[[nodiscard]] Result<> set_aside(const std::string& path, const Error& unreadable,
                                 std::string* note);

}  // namespace picchio::kept
