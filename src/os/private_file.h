// A file and a folder that several processes of one user share.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"

#include <string>

namespace picchio::os {

/// Makes an empty file that is its owner's alone from the first moment on. One that is there stays,
/// and loses the rights of others; that is asked for by name, since to close a descriptor of a file
/// would drop the locks that this process holds on it. What is no regular file is an error of kind
/// unsupported.
[[nodiscard]] Result<> make_private_file(const std::string& path);

/// Waits until no other process holds the folder, which stays locked as long as the descriptor is
/// open; nothing is written. An error of kind timed_out after `patience`.
[[nodiscard]] Result<UniqueFd> lock_folder(const std::string& path, Micros patience);

}  // namespace picchio::os
