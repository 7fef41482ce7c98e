// errno in words.
#pragma once

#include "base/result.h"

#include <string>

namespace picchio::os {

[[nodiscard]] ErrorKind errno_kind(int error);

/// "no such file or directory": the C library's text, lower case, for the end of a sentence.
[[nodiscard]] std::string errno_text(int error);

}  // namespace picchio::os
