// SHA-256 of files.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace picchio::os {

/// Asked after every piece (256 KiB: several thousand times a second) with the bytes done so far;
/// false ends the work with an error of kind interrupted.
using DigestProgress = std::function<bool(std::int64_t done)>;

/// 64 lower-case hex digits. Reads the file once from its beginning to its end, whatever its size
/// was before; an empty file has a digest too. `keep_going` may be empty.
[[nodiscard]] Result<std::string> sha256_of_file(const std::string& path,
                                                 const DigestProgress& keep_going);

[[nodiscard]] Result<std::string> sha256_of(std::span<const std::byte> bytes);

}  // namespace picchio::os
