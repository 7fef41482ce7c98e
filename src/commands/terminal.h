// stdout is the product, stderr the progress: the two ways out of this program.
#pragma once

#include "base/result.h"

#include <string_view>

namespace picchio {

/// A full disk or a closed pipe is an error: a script must not take half a JSON document for a
/// whole.
[[nodiscard]] Result<> print_stdout(std::string_view text);

/// Best effort: when nobody reads stderr, there is nobody to tell.
void print_stderr(std::string_view text);

[[nodiscard]] bool stderr_is_terminal();

/// Colour only on a terminal that can show it, and never with NO_COLOR set to anything but "".
[[nodiscard]] bool stdout_wants_colour();
[[nodiscard]] bool stderr_wants_colour();

}  // namespace picchio
